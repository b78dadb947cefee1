"""What a whole run found: the one place that owns every denominator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.flags import Facts, Flag, flags_of, is_trustworthy
from experiments.evaluation.outcome import (
    AttemptMark,
    Cause,
    EvaluationResult,
    Failure,
    SettledBy,
    mark_of,
)
from experiments.evaluation.setup import is_seeded, walks
from experiments.evaluation.text import percent, plural

_BY = {
    SettledBy.spec_node: "asserted",
    SettledBy.contains_all: "asserted",
    SettledBy.end_state: "asserted",
    SettledBy.metric: "measured",
    SettledBy.judge: "scored",
    SettledBy.criteria: "by_criteria",
}
_NO_GRADES = (0,) * 10
_NO_LATENCY = (0,) * 5


class AttemptCounts(FrozenModel):
    """Counts over any set of attempts. They add up in any order, so each part of a run can keep its own.

    asserted, measured, scored and by_criteria are judged attempts by what settled them and sum to judged;
    each has its passes. `walked` and `seeded` are judged attempts by setup. Tokens are the system's,
    `judge_*` the judge's; `unknown_usage` counts turns, and `judge_unknown_calls` calls, that reported
    none. `grades[i]` counts grade i + 1. `judge_silent` are the inconclusive attempts a judge declined or
    answered unreadably. `latency` counts attempts up to T/9, T/3, 2T/3, T and above, T being the attempt's
    deadline; `busy_ms` sums their durations.
    """

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    inconclusive: int = 0
    evaluator_failed: int = 0
    setup_failed: int = 0
    no_reply: int = 0
    asserted: int = 0
    asserted_passed: int = 0
    measured: int = 0
    measured_passed: int = 0
    scored: int = 0
    scored_passed: int = 0
    by_criteria: int = 0
    by_criteria_passed: int = 0
    walked: int = 0
    seeded: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown_usage: int = 0
    judge_calls: int = 0
    judge_prompt_tokens: int = 0
    judge_completion_tokens: int = 0
    judge_unknown_calls: int = 0
    judge_silent: int = 0
    busy_ms: int = 0
    grades: tuple[int, ...] = Field(default=_NO_GRADES, min_length=10, max_length=10)
    latency: tuple[int, ...] = Field(default=_NO_LATENCY, min_length=5, max_length=5)

    @property
    def not_reached(self) -> int:
        """Attempts without a result: setup failed or no reply."""
        return self.setup_failed + self.no_reply

    @property
    def judged(self) -> int:
        """Attempts that were read and called, or declined by a judge: the denominator of the pass rate."""
        return self.passed + self.undecided + self.failed

    @property
    def without_evidence(self) -> int:
        """Attempts that say nothing about the system."""
        return self.not_reached + self.inconclusive + self.evaluator_failed

    @property
    def total(self) -> int:
        """Attempts that ended."""
        return self.judged + self.without_evidence

    def __add__(self, other: AttemptCounts) -> AttemptCounts:
        return self._combined(other, operator.add)

    def __sub__(self, other: AttemptCounts) -> AttemptCounts:
        return self._combined(other, operator.sub)

    def _combined(self, other: AttemptCounts, change: Callable[[int, int], int]) -> AttemptCounts:
        mine, theirs = self.__dict__, other.__dict__
        changed: dict[str, Any] = {
            name: tuple(map(change, value, theirs[name]))
            if isinstance(value, tuple)
            else change(value, theirs[name])
            for name, value in mine.items()
        }
        return AttemptCounts.model_construct(**changed)

    @classmethod
    def sum(cls, parts: Iterable[AttemptCounts]) -> AttemptCounts:
        """All parts together; none is nothing counted."""
        total = cls()
        for part in parts:
            total += part
        return total


def latency_bucket(seconds: float, deadline: float) -> int:
    """0 to 4: up to T/9, T/3, 2T/3, T, or above, T being the attempt's deadline in seconds."""
    edges = (deadline / 9, deadline / 3, 2 * deadline / 3, deadline)
    return sum(seconds > edge for edge in edges)


def count_attempt(
    case: EvalCase,
    evidence: Evidence | None,
    result: EvaluationResult | None,
    failure: Failure | None,
    *,
    seconds: float | None = None,
    deadline: float | None = None,
) -> AttemptCounts:
    """The counts of one finished attempt, which took `seconds` of its `deadline` (both in seconds)."""
    mark = mark_of(result, failure)
    found: dict[str, Any] = _usage(evidence, failure)
    if failure is not None:
        found["setup_failed" if failure.cause is Cause.SETUP_FAILED else "no_reply"] = 1
    if result is not None:
        found[mark.value] = 1
        found |= _judging(result, mark)
        if mark in (AttemptMark.passed, AttemptMark.failed, AttemptMark.undecided):
            by = _BY[result.settled_by]
            found |= {by: 1, f"{by}_passed": int(result.passed)}
            found |= {"walked": int(walks(case.setup)), "seeded": int(is_seeded(case.setup))}
    if seconds is not None:
        found["busy_ms"] = round(1000 * seconds)
        if deadline:
            found["latency"] = _one_of(5, latency_bucket(seconds, deadline))
    return AttemptCounts.model_validate(found)


def _one_of(size: int, index: int) -> tuple[int, ...]:
    return tuple(int(i == index) for i in range(size))


def _usage(evidence: Evidence | None, failure: Failure | None) -> dict[str, Any]:
    """Tokens of every turn that reported them. One that was asked and left no evidence is one unknown."""
    if evidence is None:
        return {"unknown_usage": int(failure is None or failure.cause is not Cause.SETUP_FAILED)}
    turns = evidence.turns
    return {
        "prompt_tokens": sum(turn.prompt_tokens or 0 for turn in turns),
        "completion_tokens": sum(turn.completion_tokens or 0 for turn in turns),
        "unknown_usage": sum(turn.prompt_tokens is None or turn.completion_tokens is None for turn in turns),
        "cached": int(evidence.cached),
    }


def _judging(result: EvaluationResult, mark: AttemptMark) -> dict[str, Any]:
    silent = mark is AttemptMark.inconclusive and result.settled_by is SettledBy.judge
    found: dict[str, Any] = {"judge_silent": int(silent)}
    if result.grade is not None:
        found["grades"] = _one_of(10, result.grade - 1)
    if use := result.judge_use:
        found |= {
            "judge_calls": use.calls,
            "judge_prompt_tokens": use.prompt_tokens,
            "judge_completion_tokens": use.completion_tokens,
            "judge_unknown_calls": use.unknown_calls,
        }
    return found


class ExperimentReport(FrozenModel):
    """What the whole run found, over attempts. Its dump is the `report` object of the run's record.

    `judged` = passed + undecided + failed; `without_evidence` = not_reached + inconclusive +
    evaluator_failed; `total` is both. `pass_rate` = passed / judged, None when nothing was judged. Each
    failing clause of `is_trustworthy` is among the flags.
    """

    passed: int
    failed: int
    undecided: int
    inconclusive: int
    evaluator_failed: int
    not_reached: int
    setup_failed: int
    no_reply: int
    judged: int
    total: int
    without_evidence: int
    asserted: int
    measured: int
    scored: int
    by_criteria: int
    walked: int
    seeded: int
    pass_rate: float | None
    is_trustworthy: bool
    flags: tuple[Flag, ...]
    counts: AttemptCounts = Field(exclude=True, repr=False)

    @classmethod
    def build(
        cls,
        counts: AttemptCounts,
        *,
        repeats: int | None = None,
        clean_sweeps: int | None = None,
        lanes: int | None = None,
        wall_seconds: float | None = None,
        human_reviews: int = 0,
    ) -> ExperimentReport:
        """The report over `counts`. What is not given gives no flag.

        `clean_sweeps`: cases that passed every one of their `repeats` attempts. `wall_seconds`: from the
        first attempt's start to the last one's end. `human_reviews`: reviewed attempts the judge graded too.
        """
        facts = Facts(
            total=counts.total,
            judged=counts.judged,
            without_evidence=counts.without_evidence,
            undecided=counts.undecided,
            scored=counts.scored,
            walked=counts.walked,
            seeded=counts.seeded,
            cached=counts.cached,
            unknown_usage=counts.unknown_usage,
            judge_unknown_calls=counts.judge_unknown_calls,
            busy_seconds=counts.busy_ms / 1000,
            repeats=repeats,
            clean_sweeps=clean_sweeps,
            lanes=lanes,
            wall_seconds=wall_seconds,
            human_reviews=human_reviews,
        )
        names = set(cls.model_fields) - {"pass_rate", "is_trustworthy", "flags", "counts"}
        return cls(
            **{name: getattr(counts, name) for name in names},
            pass_rate=counts.passed / counts.judged if counts.judged else None,
            is_trustworthy=is_trustworthy(facts),
            flags=flags_of(facts),
            counts=counts,
        )

    @property
    def rate_text(self) -> str:
        """The pass rate as "79.3%", or "no rate" when nothing was judged: that is never 0%."""
        return "no rate" if self.pass_rate is None else percent(self.pass_rate)

    @property
    def coverage(self) -> str:
        """What stands beside every percentage.

        "41 of 57 passed; 57 of 60 counted; 2 evaluator failures, 1 not reached"
        """
        passed = f"{self.passed:,} of {self.judged:,} passed" if self.judged else "no rate"
        left_out = [
            text
            for count, text in (
                (self.inconclusive, f"{self.inconclusive:,} inconclusive"),
                (self.evaluator_failed, plural(self.evaluator_failed, "evaluator failure")),
                (self.not_reached, f"{self.not_reached:,} not reached"),
            )
            if count
        ]
        parts = [passed, f"{self.judged:,} of {self.total:,} counted", ", ".join(left_out)]
        return "; ".join(part for part in parts if part)
