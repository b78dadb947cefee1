"""The lane loop: the only one of the product, for the workers and for code-first experiments alike."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.evaluation import Cause, EvalCaseResults, ExperimentReport, Failure
from experiments.runner.attempt import DEFAULT_RETRY, run_attempt, utc_now
from experiments.runner.ports import (
    AttemptSink,
    AttemptSource,
    Clock,
    Evaluate,
    Exhausted,
    FinishedAttempt,
    OpenTarget,
    PlannedAttempt,
)
from experiments.runner.retry import RetryPolicy
from experiments.targets.base import Target, TargetError

if TYPE_CHECKING:
    from experiments.runner.experiment import ExperimentSetup
    from experiments.wire.target import TargetConfig

log = logging.getLogger("experiments.runner")

LOOK_AHEAD = 0.2
"""Seconds of work that may be claimed before a lane is free for it: longer than one claim takes."""

SHORTEST_POLL, LONGEST_POLL = 0.02, 2.0
"""Seconds between two claims while the source has nothing now."""


@dataclass(frozen=True, slots=True)
class LaneFigures:
    """How busy the lanes were. ``lane_seconds``: lanes x wall clock, also when their number changed.

    ``finished``: results handed to the sink; ``dropped``: claims that were lost before they began;
    ``lost``: results that the sink refused with an exception.
    """

    busy_seconds: float
    lane_seconds: float
    wall_seconds: float
    finished: int
    dropped: int
    lost: int

    @property
    def saturation(self) -> float | None:
        """Share of the lanes' time with an attempt in flight, 0 to 1; None before any time passed."""
        return min(self.busy_seconds / self.lane_seconds, 1.0) if self.lane_seconds > 0 else None


class ExperimentRunner:
    """Walks attempts through parallel lanes: claim, begin, ask, grade, finish.

    At most ``lanes`` attempts are in flight (between ``sink.begin`` and the end of ``sink.finish``). Each
    lane has its own target client, opened at its first attempt and closed with it. One attempt's trouble
    stays in that attempt. All methods belong to the loop that ``drive`` runs in; from another thread use
    ``loop.call_soon_threadsafe``.
    """

    def __init__(
        self,
        *,
        lanes: int,
        source: AttemptSource,
        sink: AttemptSink,
        open_target: OpenTarget,
        evaluate: Evaluate,
        deadline: float,
        clock: Clock = utc_now,
        retry: RetryPolicy = DEFAULT_RETRY,
    ) -> None:
        """``deadline``: seconds for one attempt, over all turns and the judge."""
        if lanes < 1 or not deadline > 0:
            raise ValueError("a runner needs at least one lane and a deadline above 0 s")
        self._lanes = lanes
        self._source, self._sink = source, sink
        self._open_target, self._evaluate = open_target, evaluate
        self._deadline, self._clock, self._retry = deadline, clock, retry
        self._buffer: deque[PlannedAttempt] = deque()
        self._idle: deque[asyncio.Future[PlannedAttempt | None]] = deque()
        self._alive = 0
        self._in_flight = 0
        self._stopping = False
        self._over = False
        self._changed = asyncio.Event()
        self._awake = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._pace = 0.0
        self._finished = self._dropped = self._lost = 0
        self._busy = self._lane_time = 0.0
        self._begun = self._lanes_since = 0.0

    @staticmethod
    async def run(
        setup: "ExperimentSetup", target: "TargetConfig | OpenTarget", **options: Any
    ) -> tuple[list[EvalCaseResults], ExperimentReport]:
        """A whole experiment without a database: one ``EvalCaseResults`` a case, in the setup's order, and
        the report. ``options``: see ``experiments.runner.experiment.run_experiment`` (judge, services ...).

        ExperimentRefusedError with every reason when pre-flight refuses it.
        """
        # Here and not above: that module is built on this one.
        from experiments.runner.experiment import run_experiment

        return await run_experiment(setup, target, **options)

    @property
    def lanes(self) -> int:
        """The number of lanes wanted now."""
        return self._lanes

    @property
    def in_flight(self) -> int:
        """Attempts in flight now. Above ``lanes`` only right after the lanes were lowered."""
        return self._in_flight

    def set_lanes(self, lanes: int) -> None:
        """Another number of lanes (>= 0) from now on. Lowered: attempts in flight finish, none begins until
        fewer than ``lanes`` are in flight. 0 pauses."""
        if lanes < 0:
            raise ValueError("lanes cannot be negative")
        now = time.perf_counter()
        self._lane_time += self._lanes * (now - self._lanes_since)
        self._lanes_since, self._lanes = now, lanes
        while self._idle and self._alive > lanes:
            self._retire(self._idle.popleft())
        self._open_lanes()
        self._changed.set()

    def stop_claiming(self) -> None:
        """Claim nothing more; attempts in flight finish, claimed ones that have not begun are given back."""
        self._stopping = True
        self._changed.set()
        self._awake.set()

    def wake(self) -> None:
        """Ask a source that had "nothing now" again at once."""
        self._awake.set()

    def figures(self) -> LaneFigures:
        """The figures up to now."""
        now = time.perf_counter()
        return LaneFigures(
            busy_seconds=self._busy + self._in_flight * now,
            lane_seconds=self._lane_time + self._lanes * (now - self._lanes_since),
            wall_seconds=now - self._begun,
            finished=self._finished,
            dropped=self._dropped,
            lost=self._lost,
        )

    async def drive(self) -> LaneFigures:
        """Runs until the source is exhausted or claiming was stopped, and the last attempt has finished.

        Raises what the source raised, after the attempts in flight have finished. When cancelled, attempts
        in flight are broken off without a result, clients are closed and nothing is given back. Once only.
        """
        if self._group is not None:
            raise RuntimeError("a runner drives once; make another one")
        self._begun = self._lanes_since = time.perf_counter()
        broken: Exception | None = None
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._open_lanes()
            try:
                await self._feed()
            except Exception as error:
                broken = error
            self._over = True
            if self._stopping or broken is not None:
                await self._give_back()
            while self._idle:
                self._retire(self._idle.popleft())
        figures = self.figures()
        await self._give_back()
        if broken is not None:
            raise broken
        return figures

    async def _feed(self) -> None:
        """Claim as lanes ask for it, until the source is exhausted or claiming is stopped."""
        pause = SHORTEST_POLL
        while not self._stopping:
            wanted = self._wanted()
            if wanted < 1:
                self._changed.clear()
                await self._changed.wait()
                continue
            self._awake.clear()
            try:
                claimed = await self._source.claim(wanted)
            except Exhausted:
                return
            if claimed:
                pause = SHORTEST_POLL
                self._hand_out(claimed)
                continue
            try:
                async with asyncio.timeout(pause):
                    await self._awake.wait()
                pause = SHORTEST_POLL
            except TimeoutError:
                pause = min(pause * 2, LONGEST_POLL)

    def _wanted(self) -> int:
        """How many attempts to claim now: for each free lane, and a little ahead of the busy ones."""
        free = max(self._lanes - self._in_flight - len(self._buffer), 0)
        ahead = 0
        if self._pace > 0:
            ahead = min(math.ceil(self._lanes * LOOK_AHEAD / self._pace), self._lanes)
        if free == 0 and len(self._buffer) > ahead // 2:
            return 0
        return max(self._lanes - self._in_flight, 0) + ahead - len(self._buffer)

    def _hand_out(self, claimed: Sequence[PlannedAttempt]) -> None:
        self._buffer.extend(claimed)
        if self._stopping:
            return
        while self._idle and self._buffer and self._alive <= self._lanes:
            lane = self._idle.popleft()
            if not lane.done():
                lane.set_result(self._take())

    async def _give_back(self) -> None:
        left = tuple(self._buffer)
        self._buffer.clear()
        if not left:
            return
        try:
            await self._source.give_back(left)
        except Exception:
            log.exception("%d claimed attempts could not be given back; their leases expire", len(left))

    def _open_lanes(self) -> None:
        while self._group is not None and self._alive < self._lanes:
            if self._over and not self._buffer:
                return
            self._alive += 1
            self._group.create_task(self._lane())

    def _retire(self, lane: asyncio.Future[PlannedAttempt | None]) -> None:
        # Counted out at once and not when its task ends: set_lanes may open another lane in between.
        self._alive -= 1
        if not lane.done():
            lane.set_result(None)

    async def _next(self) -> PlannedAttempt | None:
        """The lane's next attempt; None when the lane is to end."""
        if self._alive > self._lanes or (self._over and not self._buffer):
            self._alive -= 1
            return None
        if self._buffer:
            return self._take()
        free: asyncio.Future[PlannedAttempt | None] = asyncio.get_running_loop().create_future()
        self._idle.append(free)
        self._changed.set()
        return await free

    def _take(self) -> PlannedAttempt:
        # Counted in flight at once and not when the lane's task resumes: else a claim is made for it twice.
        self._in_flight += 1
        self._busy -= time.perf_counter()
        self._changed.set()
        return self._buffer.popleft()

    async def _lane(self) -> None:
        lane = _Lane()
        try:
            while (planned := await self._next()) is not None:
                try:
                    await self._serve(planned, lane)
                finally:
                    self._busy += time.perf_counter()
                    self._in_flight -= 1
        finally:
            await lane.close()

    async def _serve(self, planned: PlannedAttempt, lane: "_Lane") -> None:
        """One attempt from begin to finish."""
        try:
            if not await self._sink.begin(planned):
                self._dropped += 1
                return
        except Exception:
            self._dropped += 1
            log.exception("attempt %s could not be begun", planned.id)
            return
        begun = time.perf_counter()
        if lane.target is None:
            try:
                lane.target = self._open_target()
            except Exception as error:
                await self._finish(self._unopened(planned, error))
                return
        finished = await run_attempt(
            planned,
            lane.target,
            self._evaluate,
            deadline=self._deadline,
            clock=self._clock,
            retry=self._retry,
        )
        await self._finish(finished)
        took = time.perf_counter() - begun
        self._pace = took if self._pace == 0 else 0.8 * self._pace + 0.2 * took

    async def _finish(self, finished: FinishedAttempt) -> None:
        try:
            await self._sink.finish(finished)
            self._finished += 1
        except Exception:
            self._lost += 1
            log.exception("the result of attempt %s could not be handed over", finished.planned.id)

    def _unopened(self, planned: PlannedAttempt, error: Exception) -> FinishedAttempt:
        """A target that cannot even be opened is a setup that failed, with the reason on each attempt."""
        if isinstance(error, TargetError):
            detail = error.detail
        else:
            log.warning("the target could not be opened", exc_info=error)
            detail = f"the target could not be opened ({type(error).__name__}); see the worker's log"
        failure = Failure(cause=Cause.SETUP_FAILED, detail=detail)
        return FinishedAttempt(planned, None, failure, None, 0.0, self._clock())


class _Lane:
    """A lane's own client of the target; None until its first attempt."""

    target: Target | None = None

    async def close(self) -> None:
        if self.target is None:
            return
        try:
            await self.target.aclose()
        except Exception:
            log.warning("a lane's client could not be closed", exc_info=True)
