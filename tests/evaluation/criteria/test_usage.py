"""Criteria over all turns of an attempt."""

import pytest

from experiments.evaluation.evidence import Evidence, Turn
from experiments.evaluation.outcome import CriterionStatus
from tests.evaluation.criteria.helpers import verdict


def turn(prompt_tokens: int | None, completion_tokens: int | None, failure: str | None = None) -> Turn:
    return Turn(
        prompt="?",
        reply="!",
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        failure=failure,
    )


@pytest.mark.parametrize(("limit", "status"), [(10, CriterionStatus.PASS), (9, CriterionStatus.FAIL)])
def test_max_tokens_sums_prompt_and_completion_of_all_turns(limit: int, status: CriterionStatus) -> None:
    evidence = Evidence(turns=(turn(1, 2), turn(3, 4)))
    found = verdict("usage.max_tokens", evidence, {"max": limit})
    assert found.status is status
    assert found.data == {"tokens": 10, "max": limit}


@pytest.mark.parametrize("missing", [turn(None, 2), turn(1, None), turn(None, None)])
def test_usage_missing_on_any_turn_is_an_error_and_never_zero(missing: Turn) -> None:
    found = verdict("usage.max_tokens", Evidence(turns=(missing, turn(1, 1))), {"max": 100})
    assert found.status is CriterionStatus.ERROR
    assert "turn 1" in found.detail


def test_no_failure_fails_on_a_failure_of_any_turn_and_quotes_the_first() -> None:
    evidence = Evidence(turns=(turn(1, 1), turn(1, 1, "tool stock timed out"), turn(1, 1, "again")))
    found = verdict("run.no_failure", evidence)
    assert found.status is CriterionStatus.FAIL
    assert found.detail == "turn 2 failed: tool stock timed out"
    assert [one["turn"] for one in found.data["failures"]] == [2, 3]


def test_no_failure_passes_when_no_turn_recorded_one() -> None:
    assert verdict("run.no_failure", Evidence(turns=(turn(1, 1),))).status is CriterionStatus.PASS


@pytest.mark.parametrize(
    ("seconds", "most", "status"),
    [
        ([0.1] * 10, 1.0, CriterionStatus.PASS),
        ([1, 2], 3, CriterionStatus.PASS),
        ([1, 2.001], 3, CriterionStatus.FAIL),
        ([0.0], 0, CriterionStatus.PASS),
        ([1, None], 3, CriterionStatus.ERROR),
        ([], 3, CriterionStatus.ERROR),
    ],
)
def test_seconds_of_all_turns_sum_to_at_most_max(
    seconds: list[float | None], most: float, status: CriterionStatus
) -> None:
    evidence = Evidence(turns=tuple(Turn(prompt="?", reply="r", seconds=one) for one in seconds))
    found = verdict("usage.max_seconds", evidence, {"max": most})
    assert found.status is status
    if status is CriterionStatus.FAIL:
        assert found.detail == "3.001 seconds, at most 3 allowed"


@pytest.mark.parametrize("most", [-1, "3", True, None])
def test_seconds_that_are_no_number_are_refused(most: object) -> None:
    evidence = Evidence(turns=(Turn(prompt="?", reply="r", seconds=1.0),))
    assert verdict("usage.max_seconds", evidence, {"max": most}).status is CriterionStatus.ERROR
