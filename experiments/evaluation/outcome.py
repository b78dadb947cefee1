"""What one evaluation of one attempt found, and the six marks an attempt can end with."""

import math
from enum import StrEnum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypedDict,
    Unpack,
    overload,
)

from pydantic import Field, model_validator

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.text import is_blank, printable

REASON_LIMIT = 2_000
"""Characters of a reason that are kept; the evidence and the judge's raw reply hold the rest."""

SLACK = 1e-9
"""A figure this close below a threshold still reaches it: sums of weights carry rounding."""


def reaches(value: float, threshold: float) -> bool:
    """Whether `value` is at or above `threshold`, with the slack every threshold in the product has."""
    return value >= threshold - SLACK


class EvaluationOutcome(StrEnum):
    """Whether the evaluator called it, would not commit, had nothing to read, or broke."""

    VERDICT = "VERDICT"
    UNDECIDED = "UNDECIDED"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAILED = "FAILED"


class Cause(StrEnum):
    """Why the system was not reached."""

    SETUP_FAILED = "SETUP_FAILED"
    NO_REPLY = "NO_REPLY"


class Failure(FrozenModel):
    """Stands on an attempt that has no result: the setup could not be built, or no reply came in time."""

    kind: Literal["NOT_REACHED"] = "NOT_REACHED"
    cause: Cause
    detail: str = ""


def failure_of(evidence: Evidence) -> Failure | None:
    """Why this evidence cannot be graded, or None when it can.

    No reply to the graded turn, or a blank one, is NO_REPLY; an earlier turn without a reply is
    SETUP_FAILED. A failure recorded beside a reply does not stop grading.
    """
    for number, turn in enumerate(evidence.turns[:-1], start=1):
        if is_blank(turn.reply):
            said = turn.failure or "no reply came"
            return Failure(cause=Cause.SETUP_FAILED, detail=printable(f"turn {number}: {said}", REASON_LIMIT))
    if evidence.final_turn is None:
        return Failure(cause=Cause.NO_REPLY, detail="nothing was asked")
    if is_blank(evidence.reply):
        empty = "no reply came" if evidence.reply is None else "the reply is empty"
        return Failure(
            cause=Cause.NO_REPLY, detail=printable(evidence.final_turn.failure or empty, REASON_LIMIT)
        )
    return None


class SettledBy(StrEnum):
    """Which part of the rules decides an attempt."""

    spec_node = "spec_node"
    contains_all = "contains_all"
    end_state = "end_state"
    metric = "metric"
    judge = "judge"
    criteria = "criteria"


class CriterionStatus(StrEnum):
    """The status of one criterion; the values stand so in files and on pages."""

    PASS = "pass"  # noqa: S105 - a status, no password
    FAIL = "fail"
    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"


class Verdict(FrozenModel):
    """One criterion's result. The registry fills `kind`, `weight` (>= 0) and `gate`."""

    status: CriterionStatus
    detail: str = ""
    data: dict[str, Any] = {}
    kind: str = ""
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    gate: bool = False


class JudgeUse(FrozenModel):
    """What judging one attempt used. Token sums are a floor when `unknown_calls` > 0.

    `prompt_hash` and `reply` are the last grade request's; `reply` is the judge's raw text, kept also when it
    could not be read.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown_calls: int = 0
    model: str = ""
    prompt_hash: str = ""
    reply: str = ""


class CommonFields(TypedDict, total=False):
    """What every builder of `EvaluationResult` takes beside its own arguments."""

    evaluator: str
    evaluator_version: str
    settled_by: SettledBy
    grade: int | None
    criteria_score: float | None
    pass_score: float | None
    verdicts: tuple[Verdict, ...]
    judge_use: JudgeUse | None


class ResultFields(CommonFields, total=False):
    """The same, for the builders that have no score of their own."""

    score: float | None
    threshold: float | None


if TYPE_CHECKING:

    class _PassedBuilder(Protocol):
        def __call__(self, reason: str = "", **fields: Unpack[ResultFields]) -> "EvaluationResult": ...

    class _Passed:
        """`EvaluationResult.passed(...)` builds, `result.passed` tells."""

        @overload
        def __get__(self, instance: None, owner: type["EvaluationResult"]) -> _PassedBuilder: ...
        @overload
        def __get__(self, instance: "EvaluationResult", owner: type["EvaluationResult"]) -> bool: ...
        def __get__(self, instance: object, owner: type["EvaluationResult"]) -> object: ...


class EvaluationResult(FrozenModel):
    """One evaluation of one attempt.

    Built only by `passed`, `failed`, `scored`, `undecided`, `inconclusive` and `broke`; any combination these
    cannot make is refused. `score` (0 to 1) with `threshold`, or `grade` (1 to 10), is the expectation's own;
    `criteria_score` and `pass_score` stand beside it when criteria took part. `settled_by` names the part
    whose outcome this is, or was to be. In mode `both`, `expectation` keeps that part's own
    result, so that criteria can be settled anew without asking the judge again.
    """

    outcome: EvaluationOutcome
    if TYPE_CHECKING:
        passed: ClassVar[_Passed] = _Passed()
    else:
        passed: bool
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    grade: Annotated[int, Field(ge=1, le=10)] | None = None
    threshold: float | None = None
    reason: str = ""
    evaluator: str
    evaluator_version: str = "1"
    settled_by: SettledBy
    criteria_score: Annotated[float, Field(ge=0, le=1)] | None = None
    pass_score: float | None = None
    verdicts: tuple[Verdict, ...] = ()
    judge_use: JudgeUse | None = None
    expectation: "EvaluationResult | None" = None

    @classmethod
    def failed(cls, reason: str = "", **fields: Unpack[ResultFields]) -> Self:
        """The evaluator called it: not what was expected."""
        return cls._build(EvaluationOutcome.VERDICT, False, reason, fields)

    @classmethod
    def scored(cls, value: float, threshold: float, reason: str = "", **fields: Unpack[CommonFields]) -> Self:
        """The evaluator called it by a score: passed iff `value` (0 to 1) reaches `threshold`."""
        scored: ResultFields = {**fields, "score": value, "threshold": threshold}
        return cls._build(EvaluationOutcome.VERDICT, reaches(value, threshold), reason, scored)

    @classmethod
    def undecided(cls, reason: str = "", **fields: Unpack[ResultFields]) -> Self:
        """A judge read the answer and would not commit; the score or grade it declined at is kept."""
        return cls._build(EvaluationOutcome.UNDECIDED, False, reason, fields)

    @classmethod
    def inconclusive(cls, reason: str, **fields: Unpack[ResultFields]) -> Self:
        """There was nothing to read; `reason` says what was missing."""
        return cls._build(EvaluationOutcome.INCONCLUSIVE, False, reason, fields)

    @classmethod
    def broke(cls, reason: str, **fields: Unpack[ResultFields]) -> Self:
        """The evaluator itself broke; `reason` says how."""
        return cls._build(EvaluationOutcome.FAILED, False, reason, fields)

    @classmethod
    def _build(cls, outcome: EvaluationOutcome, passed: bool, reason: str, fields: ResultFields) -> Self:
        return cls.model_validate(
            {"outcome": outcome, "passed": passed, "reason": printable(reason, REASON_LIMIT), **fields}
        )

    @model_validator(mode="after")
    def _only_what_the_builders_make(self) -> Self:
        problem = _impossible(self)
        if problem:
            raise ValueError(problem)
        return self


def _passed(
    cls: type[EvaluationResult], reason: str = "", **fields: Unpack[ResultFields]
) -> EvaluationResult:
    """The evaluator called it: what was expected."""
    return cls._build(EvaluationOutcome.VERDICT, True, reason, fields)


# A field and a builder share the name `passed`: an instance finds the field in its own dict first, the class
# finds this. It cannot stand in the class body, where it would be taken for the field's default.
setattr(EvaluationResult, "passed", classmethod(_passed))  # noqa: B010 - mypy knows `passed` as a descriptor


def _impossible(result: EvaluationResult) -> str | None:
    """Why no builder could have made this result, or None."""
    verdict = result.outcome is EvaluationOutcome.VERDICT
    if result.passed and not verdict:
        return "only a VERDICT can pass"
    if result.outcome is EvaluationOutcome.UNDECIDED and result.settled_by is not SettledBy.judge:
        return "only a judge can be undecided"
    if result.threshold is not None and not math.isfinite(result.threshold):
        return "a threshold is a finite number"
    by_score = result.settled_by in (SettledBy.metric, SettledBy.end_state)
    if not (verdict and by_score) or result.score is None or result.threshold is None:
        return None
    if result.passed != reaches(result.score, result.threshold):
        return "a scored result passes iff its score reaches its threshold"
    return None


class AttemptMark(StrEnum):
    """The six ways an attempt can end; every planned attempt ends as exactly one."""

    passed = "passed"
    failed = "failed"
    undecided = "undecided"
    inconclusive = "inconclusive"
    evaluator_failed = "evaluator_failed"
    not_reached = "not_reached"


_MARKS = {
    EvaluationOutcome.UNDECIDED: AttemptMark.undecided,
    EvaluationOutcome.INCONCLUSIVE: AttemptMark.inconclusive,
    EvaluationOutcome.FAILED: AttemptMark.evaluator_failed,
}


def mark_of(result: EvaluationResult | None, failure: Failure | None) -> AttemptMark:
    """The mark of a finished attempt, which has a result or a failure and never both (`ValueError`)."""
    if (result is None) == (failure is None):
        raise ValueError("a finished attempt has either a result or a failure")
    if result is None:
        return AttemptMark.not_reached
    if result.outcome is EvaluationOutcome.VERDICT:
        return AttemptMark.passed if result.passed else AttemptMark.failed
    return _MARKS[result.outcome]
