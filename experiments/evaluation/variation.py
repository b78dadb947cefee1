"""Why the attempts of one case differ, from stored evidence alone."""

from enum import StrEnum

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.outcome import CriterionStatus


class Source(StrEnum):
    """Where a difference between passing and failing attempts comes from, in order of precedence."""

    judge = "judge"
    infrastructure = "infrastructure"
    system = "system"
    not_diagnosed = "not diagnosed"


class Stage(StrEnum):
    """The stages of a turn, in the order in which a difference shows."""

    tool_call = "tool call"
    retrieved_context = "retrieved context"
    reply_text = "reply text"
    verdict = "verdict"


class ReplyGroup(FrozenModel):
    """Attempts whose graded replies are the same, whitespace aside.

    `attempts` are their numbers, the first is the one to show ("same as 1"); `passed` and `failed` those of
    them that settled. `preview` is the reply's beginning; the evidence holds the whole.
    """

    attempts: tuple[int, ...]
    passed: tuple[int, ...]
    failed: tuple[int, ...]
    preview: str
    length: int

    @property
    def count(self) -> int:
        """How many attempts gave this reply."""
        return len(self.attempts)


class GridRow(FrozenModel):
    """One criterion over all attempts, in order of attempt number; None where it was not graded.

    `position` is its place in the list of criteria. It `flips` when it passed in one attempt and failed in
    another.
    """

    kind: str
    position: int
    statuses: tuple[CriterionStatus | None, ...]
    weight: float
    gate: bool
    flips: bool


class Flip(FrozenModel):
    """A criterion or an evaluator that gave both results, with the attempt numbers of each."""

    name: str
    is_criterion: bool
    passed: tuple[int, ...]
    failed: tuple[int, ...]


class Split(FrozenModel):
    """Where a passing and a failing attempt first differ: at which turn (from 1) and at which stage of it."""

    passing: int
    failing: int
    turn: int
    stage: Stage
    sentence: str


class Diagnosis(FrozenModel):
    """The source of the difference, and the evidence for it in one sentence."""

    source: Source
    sentence: str


class Variation(FrozenModel):
    """What one case's attempts have in common and where they part.

    `attempts` are the attempt numbers in order, as the columns of `grid`, whose flipping rows come first.
    `replies` are the distinct ones in order of first attempt. `pair` is the passing and the failing attempt
    with the nearest replies; `split` and `diagnosis` are about it. These three are None unless an attempt
    passed and another failed.
    """

    attempts: tuple[int, ...]
    replies: tuple[ReplyGroup, ...]
    grid: tuple[GridRow, ...]
    flips: tuple[Flip, ...]
    pair: tuple[int, int] | None
    split: Split | None
    diagnosis: Diagnosis | None
