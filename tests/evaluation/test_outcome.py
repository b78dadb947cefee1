"""Results can only be what their builders make; every attempt ends with one of six marks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from experiments.evaluation import (
    AttemptMark,
    Cause,
    EvaluationOutcome,
    EvaluationResult,
    Failure,
    SettledBy,
    mark_of,
)
from tests.evaluation.builders import By

BY: By = {"evaluator": "e", "settled_by": SettledBy.judge}
NOT_REACHED = Failure(cause=Cause.NO_REPLY)


def test_each_builder_makes_its_own_outcome() -> None:
    built = [
        EvaluationResult.passed("r", **BY),
        EvaluationResult.failed("r", **BY),
        EvaluationResult.scored(0.5, 0.5, "r", **BY),
        EvaluationResult.scored(0.4, 0.5, "r", **BY),
        EvaluationResult.undecided("r", grade=5, **BY),
        EvaluationResult.inconclusive("r", **BY),
        EvaluationResult.broke("r", **BY),
    ]
    assert [(result.outcome.value, result.passed) for result in built] == [
        ("VERDICT", True),
        ("VERDICT", False),
        ("VERDICT", True),
        ("VERDICT", False),
        ("UNDECIDED", False),
        ("INCONCLUSIVE", False),
        ("FAILED", False),
    ]


def test_undecided_keeps_the_score_it_declined_at() -> None:
    assert EvaluationResult.undecided("r", grade=5, **BY).grade == 5
    assert EvaluationResult.undecided("r", score=0.5, **BY).score == 0.5


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_scored_result_passes_iff_its_score_reaches_the_threshold_within_a_billionth(
    value: float, threshold: float
) -> None:
    result = EvaluationResult.scored(value, threshold, **BY)
    assert result.passed == (value >= threshold - 1e-9)
    assert (result.score, result.threshold) == (value, threshold)


def test_a_sum_that_rounding_put_just_below_the_threshold_still_passes() -> None:
    assert EvaluationResult.scored(0.1 + 0.2 - 1e-16, 0.3, **BY).passed


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "FAILED", "passed": True},
        {"outcome": "INCONCLUSIVE", "passed": True},
        {"outcome": "UNDECIDED", "passed": True},
        {"outcome": "UNDECIDED", "passed": False, "settled_by": "metric"},
        {"outcome": "VERDICT", "passed": True, "settled_by": "metric", "score": 0.1, "threshold": 0.5},
        {"outcome": "VERDICT", "passed": False, "settled_by": "metric", "score": 0.9, "threshold": 0.5},
        {"outcome": "VERDICT", "passed": True, "score": 1.5},
        {"outcome": "VERDICT", "passed": True, "grade": 11},
        {"outcome": "VERDICT", "passed": True, "threshold": float("nan")},
        {"outcome": "NONSENSE", "passed": False},
    ],
    ids=str,
)
def test_a_combination_no_builder_makes_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EvaluationResult.model_validate({"evaluator": "e", "settled_by": "judge", **fields})


def test_a_result_reads_back_from_its_dump() -> None:
    result = EvaluationResult.scored(0.75, 0.5, "F1 0.75", evaluator="token-f1", settled_by=SettledBy.metric)
    assert EvaluationResult.model_validate(result.model_dump(mode="json")) == result


def test_a_reason_is_cut_and_cleaned() -> None:
    reason = EvaluationResult.broke("\x00\ud800" + "x" * 1_000_000, **BY).reason
    assert len(reason) == 2_000
    reason.encode("utf-8")


@pytest.mark.parametrize(
    ("result", "mark"),
    [
        (EvaluationResult.passed(**BY), AttemptMark.passed),
        (EvaluationResult.failed(**BY), AttemptMark.failed),
        (EvaluationResult.undecided(**BY), AttemptMark.undecided),
        (EvaluationResult.inconclusive("", **BY), AttemptMark.inconclusive),
        (EvaluationResult.broke("", **BY), AttemptMark.evaluator_failed),
    ],
)
def test_each_outcome_has_its_mark(result: EvaluationResult, mark: AttemptMark) -> None:
    assert mark_of(result, None) is mark


def test_an_attempt_with_a_failure_was_not_reached_whatever_the_cause() -> None:
    for cause in Cause:
        assert mark_of(None, Failure(cause=cause)) is AttemptMark.not_reached


def test_an_attempt_has_a_result_or_a_failure_and_never_both() -> None:
    with pytest.raises(ValueError, match="either"):
        mark_of(None, None)
    with pytest.raises(ValueError, match="either"):
        mark_of(EvaluationResult.passed(**BY), NOT_REACHED)


def test_the_four_outcomes_are_these() -> None:
    assert {outcome.value for outcome in EvaluationOutcome} == {
        "VERDICT",
        "UNDECIDED",
        "INCONCLUSIVE",
        "FAILED",
    }
