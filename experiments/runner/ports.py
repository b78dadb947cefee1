"""What the lane loop needs from its two ends: where attempts come from and where results go.

The loop itself is ``experiments.runner.loop.ExperimentRunner``. The workers give it a source and a sink
on the database, code-first experiments one in memory. All calls are awaited in the loop's thread, so an
implementation that touches a database does that work in a thread of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from experiments.evaluation import EvalCase, EvaluationResult, Evidence, Failure
from experiments.targets.base import Target


class Exhausted(Exception):
    """Raised by ``AttemptSource.claim``: this source will never hand out another attempt."""


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """One attempt that this runner holds.

    ``id``: the source's own id. ``number``: which attempt of the case, from 1. ``tries``: how often this
    attempt was claimed, this time included; a database sink uses it as fencing token. ``key``: stable
    over all tries, ends in ``-number``; with ``tries`` and the turn it makes the idempotency key of a submit.
    """

    id: int
    case: EvalCase
    number: int
    tries: int
    key: str

    def submit_key(self, turn: int) -> str:
        """The idempotency key of turn ``turn`` (from 1): the same for each retry of one submit within
        this try, another one after the attempt was claimed anew (its session is new as well)."""
        return f"{self.key}.{self.tries}.{turn}"


@dataclass(frozen=True, slots=True)
class FinishedAttempt:
    """What became of one attempt.

    Exactly one of ``failure`` (not reached) and ``result`` is set. ``evidence`` is always there beside a
    result; beside a failure it holds what was said before it failed, or is None when nothing was.
    ``seconds``: from just before the first call to the target until the result, judge included.
    ``started``: aware, by the runner's clock, just before the first call.
    """

    planned: PlannedAttempt
    evidence: Evidence | None
    failure: Failure | None
    result: EvaluationResult | None
    seconds: float
    started: datetime


class AttemptSource(Protocol):
    """Hands out attempts. Never called twice at once by one runner."""

    async def claim(self, n: int) -> Sequence[PlannedAttempt]:
        """At most ``n`` (>= 1) attempts that from now on belong to this runner.

        An empty answer means "nothing now": the runner asks again after a pause that grows from 20 ms to
        2 s, or at once after ``ExperimentRunner.wake()``. Raise ``Exhausted`` when nothing will ever come.
        Any other exception ends claiming: attempts in flight finish, then ``drive`` raises it. A source
        that can wait out an outage answers with an empty list instead.
        """
        ...

    async def give_back(self, attempts: Sequence[PlannedAttempt]) -> None:
        """Attempts that were claimed and will not be begun, because claiming stopped. Called at most
        once a drive, not when the drive is cancelled (then a lease has to expire)."""
        ...


class AttemptSink(Protocol):
    """Takes what became of attempts. Both calls come from many lanes at once and may be batched."""

    async def begin(self, planned: PlannedAttempt) -> bool:
        """Called by a lane right before the first call to the target; stamps the attempt as running.

        False: the claim was lost (stopped, superseded, taken by another); the attempt is dropped without
        a word and without a call to the target. An exception is logged and drops the attempt likewise.
        """
        ...

    async def finish(self, finished: FinishedAttempt) -> None:
        """Called once for each begun attempt, in order of completion.

        The lane is free only when this returns: return as soon as the result is in safe hands (a
        recorder's queue), waiting longer is how a sink slows the lanes down. An exception is logged and
        loses this one result; nothing else is harmed.
        """
        ...


class Evaluate(Protocol):
    """Grades one attempt. See ``experiments.runner.grading`` for the implementation."""

    async def __call__(
        self, planned: PlannedAttempt, evidence: Evidence, started: datetime
    ) -> EvaluationResult:
        """The result; must not raise (if it does, the attempt's result is "evaluator broke")."""
        ...


OpenTarget = Callable[[], Target]
"""Makes one lane's own client of the target; called in the loop once a lane, closed with it."""

Clock = Callable[[], datetime]
"""The time now, aware. Only for stamps; durations are measured with ``time.perf_counter``."""
