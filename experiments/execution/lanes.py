"""A lane group at work: `ExperimentRunner` between a database source and a database sink, in one event loop.

Threads of a group: the loop (target and judge calls), one for the database, one for evaluators. The row of
the group is looked at every second; heartbeat and leases are renewed together. A group leaves (stops
claiming, hands the lanes of finished calls to its successor, ends with the last call) after GROUP_SECONDS,
when another run waits for its thread, when its worker shuts down, and when its run is stopped. A superseded
group breaks off at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from django.conf import settings
from django.db import connections

from experiments.evaluation.text import printable
from experiments.execution import attempts, leases
from experiments.execution.attempts import Hold
from experiments.execution.database import GONE, DatabaseThread
from experiments.execution.dispatch import dispatch_run
from experiments.execution.finishing import finish_run
from experiments.execution.recorder import Recorder
from experiments.execution.setting import Cases, Setting, as_port, open_group_judge, read_setting
from experiments.models import Run
from experiments.runner.grading import EvaluationThread, Grading
from experiments.runner.loop import ExperimentRunner
from experiments.runner.ports import Exhausted, FinishedAttempt, PlannedAttempt

log = logging.getLogger("experiments.execution")

LOOK_SECONDS = 1.0
"""How often a group looks at its row: how late it may learn of a stop or of other lanes."""
LEAVING_LOOK_SECONDS = 0.2
"""The same while it hands its lanes over."""
PATIENCE = 5.0
"""Seconds a group waits for a database that is gone before it starts, and a lane before it drops its
claim."""

shutting_down = threading.Event()
"""Set when this process is to end: every group in it leaves."""


def drive(group_id: int, epoch: int, *, may_yield: bool = True) -> bool:
    """Drive a lane group to its end, in this thread. False when there was nothing to do: the message came a
    second time, or the group was superseded. `may_yield`: whether other runs want this thread."""
    db = DatabaseThread(f"group-{group_id}-database")
    evaluators = ThreadPoolExecutor(1, thread_name_prefix=f"group-{group_id}-evaluators")
    try:
        with EvaluationThread(evaluators) as thread:
            return asyncio.run(_drive(group_id, epoch, db, thread, may_yield))
    finally:
        evaluators.submit(connections.close_all)
        evaluators.shutdown(wait=True)
        db.close()


async def _drive(
    group_id: int, epoch: int, db: DatabaseThread, thread: EvaluationThread, may_yield: bool
) -> bool:
    hold = await db(leases.begin_group, group_id, epoch)
    if hold is None:
        return False
    group: LaneGroupDriver | None = None
    try:
        setting = await db.patiently(PATIENCE, read_setting, hold.run_id)
        group = LaneGroupDriver(hold, setting, db, thread, may_yield)
        await group.work()
    except Exception as error:
        log.exception("group %s of run %s broke off", group_id, hold.run_id)
        await db(_tell, hold.run_id, f"A worker could not go on: {type(error).__name__}: {error}")
    finally:
        await db.patiently(settings.LEASE_SECONDS, _end, hold, group is not None)
    return True


def _tell(run_id: int, sentence: str) -> None:
    Run.objects.filter(pk=run_id).update(last_error=printable(sentence, 500))


def _end(hold: Hold, go_on: bool) -> None:
    """The group's lanes are free: somebody else drives what is left, or the run is over. A group that could
    not even be set up leaves that to the sweep, which tries again at its own pace."""
    leases.end_group(hold)
    if go_on and _successor_can_hear():
        dispatch_run(hold.run_id)
    finish_run(hold.run_id)


def _successor_can_hear() -> bool:
    # A message in the memory of a process that ends is lost; the sweep at the next start sends its own.
    return not (shutting_down.is_set() and settings.BROKER_URL.startswith("memory"))


class LaneGroupDriver:
    """Source and sink of one group's runner. Everything but `_claim_now` and `_look_now` belongs to its
    loop."""

    def __init__(
        self, hold: Hold, setting: Setting, db: DatabaseThread, thread: EvaluationThread, may_yield: bool
    ) -> None:
        self._hold, self._setting, self._db, self._thread = hold, setting, db, thread
        self._may_yield = may_yield
        self._cases = Cases()
        self._held: set[int] = set()
        self._recorder = Recorder(db, setting.place, self._cases, self._held.discard)
        self._beginning: list[tuple[PlannedAttempt, asyncio.Future[bool]]] = []
        self._begin_task: asyncio.Task[None] | None = None
        self._calls = 0
        self._leaving = False
        self._exhausted = False
        self._nudge = asyncio.Event()
        self._since = self._beaten = time.monotonic()

    async def work(self) -> None:
        """Drive until there is nothing left to claim or the group leaves, and the last result is written."""
        sight = await self._db.patiently(PATIENCE, leases.look, self._hold)
        if sight is None or sight.lanes < 1:
            return
        judge = open_group_judge(self._setting.judge)
        services = replace(self._setting.services, judge=as_port(judge))
        runner = ExperimentRunner(
            lanes=sight.lanes,
            source=self,
            sink=self,
            open_target=self._setting.open_target,
            evaluate=Grading(self._setting.ruler, services, self._thread),
            deadline=self._setting.place.attempt_seconds,
        )
        recording = asyncio.create_task(self._recorder.run())
        driving = asyncio.create_task(runner.drive())
        watching = asyncio.create_task(self._watch(runner, driving))
        try:
            await driving
        except asyncio.CancelledError:
            # Superseded: `_watch` cancelled the lanes. Anything else that cancels must get through.
            if not watching.done():
                raise
        finally:
            self._recorder.close()
            await recording
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            if judge is not None:
                await judge.aclose()

    # -- source ---------------------------------------------------------------------------------------------

    async def claim(self, n: int) -> Sequence[PlannedAttempt]:
        """See `AttemptSource`. While the database is gone there is nothing now."""
        try:
            claimed = await self._db(self._claim_now, n)
        except GONE as error:
            log.warning("group %s cannot claim now (%s)", self._hold.group_id, type(error).__name__)
            return []
        if claimed is None:
            self._exhausted = True
            self._nudge.set()
            raise Exhausted
        self._calls += len(claimed)
        self._held.update(planned.id for planned in claimed)
        return claimed

    async def give_back(self, attempts_: Sequence[PlannedAttempt]) -> None:
        """See `AttemptSource`."""
        self._calls -= len(attempts_)
        self._held.difference_update(planned.id for planned in attempts_)
        pairs = [(planned.id, planned.tries) for planned in attempts_]
        await self._db.patiently(PATIENCE, attempts.give_back, self._hold, pairs)

    def _claim_now(self, n: int) -> list[PlannedAttempt] | None:
        """In the database thread: the claim, or None when the run has nothing more to claim."""
        claims = attempts.claim(self._hold, n)
        if not claims:
            return [] if attempts.anything_pending(self._hold.run_id) else None
        self._cases.load(claim.case_version_id for claim in claims)
        return [
            PlannedAttempt(
                id=claim.attempt_id,
                case=self._cases(claim.case_version_id),
                number=claim.number,
                tries=claim.tries,
                key=f"{self._setting.token}-{claim.attempt_id}-{claim.number}",
            )
            for claim in claims
        ]

    # -- sink -----------------------------------------------------------------------------------------------

    async def begin(self, planned: PlannedAttempt) -> bool:
        """See `AttemptSink`. Lanes that begin at the same time are stamped by one statement."""
        begun: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._beginning.append((planned, begun))
        if self._begin_task is None:
            self._begin_task = asyncio.create_task(self._begin_all())
        mine = False
        try:
            mine = await begun
        finally:
            if not mine:
                self._calls -= 1
                self._held.discard(planned.id)
        return mine

    async def _begin_all(self) -> None:
        try:
            while self._beginning:
                batch, self._beginning = self._beginning, []
                pairs = [(planned.id, planned.tries) for planned, _ in batch]
                try:
                    begun = await self._db.patiently(PATIENCE, attempts.begin, self._hold, pairs)
                except Exception as error:
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for planned, future in batch:
                    if not future.done():
                        future.set_result(planned.id in begun)
        finally:
            self._begin_task = None

    async def finish(self, finished: FinishedAttempt) -> None:
        """See `AttemptSink`."""
        self._calls -= 1
        await self._recorder.put(finished)

    # -- the group's own row --------------------------------------------------------------------------------

    async def _watch(self, runner: ExperimentRunner, driving: asyncio.Task[object]) -> None:
        """Look at the row until the group is superseded, then break the lanes off."""
        while True:
            pause = LEAVING_LOOK_SECONDS if self._leaving else LOOK_SECONDS
            try:
                async with asyncio.timeout(pause):
                    await self._nudge.wait()
            except TimeoutError:
                pass
            self._nudge.clear()
            try:
                sight = await self._db(self._look_now, min(self._calls, runner.lanes), tuple(self._held))
            except GONE as error:
                log.warning("group %s cannot see its row (%s)", self._hold.group_id, type(error).__name__)
                continue
            except Exception:
                log.exception("group %s cannot see its row", self._hold.group_id)
                continue
            if sight is None:
                log.warning("group %s of run %s was superseded", self._hold.group_id, self._hold.run_id)
                driving.cancel()
                return
            if not sight.claiming:
                self._leaving = True
                runner.stop_claiming()
            elif sight.lanes != runner.lanes:
                runner.set_lanes(sight.lanes)

    def _look_now(self, calls: int, held: Sequence[int]) -> leases.Sight | None:
        """In the database thread: beat if it is time, leave if it is time, hand free lanes on while
        leaving."""
        now = time.monotonic()
        if now - self._beaten >= settings.HEARTBEAT_SECONDS:
            if not leases.renew(self._hold, held):
                return None
            self._beaten = now
        if self._leaving or self._exhausted or self._is_over(now - self._since):
            if not leases.stop_claims(self._hold, calls):
                return None
            if not self._exhausted and _successor_can_hear():
                dispatch_run(self._hold.run_id)
        return leases.look(self._hold)

    def _is_over(self, age: float) -> bool:
        if shutting_down.is_set() or age >= settings.GROUP_SECONDS:
            return True
        return self._may_yield and age >= settings.SLICE_SECONDS and leases.should_yield(self._hold)
