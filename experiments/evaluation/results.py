"""One case with every attempt of it, as a run or a code-first experiment hands it out."""

from dataclasses import dataclass
from functools import cached_property

from experiments.evaluation.case import EvalCase
from experiments.evaluation.collapse import CaseVerdict, collapse
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import AttemptMark, EvaluationResult, Failure, mark_of


@dataclass(frozen=True)
class AttemptResult:
    """One finished attempt, with a result or a failure. `seconds` from the first call to the result."""

    number: int
    evidence: Evidence | None = None
    result: EvaluationResult | None = None
    failure: Failure | None = None
    seconds: float | None = None

    @property
    def mark(self) -> AttemptMark:
        """How it ended."""
        return mark_of(self.result, self.failure)


@dataclass(frozen=True)
class EvalCaseResults:
    """One case with every attempt of it; `attempts` may come in any order and are kept by number."""

    case: EvalCase
    attempts: tuple[AttemptResult, ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.attempts, key=lambda attempt: attempt.number))
        object.__setattr__(self, "attempts", ordered)

    @cached_property
    def marks(self) -> tuple[AttemptMark, ...]:
        """How the attempts ended, in order of number."""
        return tuple(attempt.mark for attempt in self.attempts)

    @property
    def verdict(self) -> CaseVerdict:
        """What the attempts say together; `ValueError` without any."""
        return collapse(self.marks)

    @property
    def passes(self) -> int:
        """Attempts that passed."""
        return self.marks.count(AttemptMark.passed)

    @property
    def settled(self) -> int:
        """Attempts with a VERDICT."""
        return self.passes + self.marks.count(AttemptMark.failed)

    @property
    def tally(self) -> str:
        """Passes over all attempts, and what is not settled beside it: "4 of 5, 1 undecided"."""
        unsettled = [
            (self.marks.count(mark), words)
            for mark, words in (
                (AttemptMark.undecided, "undecided"),
                (AttemptMark.inconclusive, "inconclusive"),
                (AttemptMark.evaluator_failed, "evaluator failed"),
                (AttemptMark.not_reached, "not reached"),
            )
        ]
        beside = [f"{count} {words}" for count, words in unsettled if count]
        return ", ".join([f"{self.passes} of {len(self.marks)}", *beside])
