"""Evidence: the final turn, totals that are unknown rather than zero, and what cannot be graded."""

from typing import Any

import pytest
from pydantic import ValidationError

from experiments.evaluation import Cause, Citation, Evidence, Turn, failure_of
from tests.evaluation.builders import said

FIRST = Turn(
    prompt="hello",
    reply="hi",
    citations=(Citation(id="a"),),
    prompt_tokens=3,
    completion_tokens=1,
    seconds=0.5,
)
LAST = Turn(
    prompt="?", reply="!", citations=(Citation(id="b"),), prompt_tokens=4, completion_tokens=2, seconds=0.25
)


def test_reply_and_citations_are_the_final_turns() -> None:
    evidence = Evidence(turns=(FIRST, LAST))
    assert (evidence.reply, evidence.citations, evidence.final_turn) == ("!", (Citation(id="b"),), LAST)


def test_usage_and_seconds_are_summed_over_all_turns() -> None:
    evidence = Evidence(turns=(FIRST, LAST))
    assert (evidence.prompt_tokens, evidence.completion_tokens, evidence.seconds) == (7, 3, 0.75)


def test_a_sum_with_a_missing_part_is_missing_and_never_zero() -> None:
    evidence = Evidence(turns=(FIRST, Turn(prompt="?", reply="!")))
    assert (evidence.prompt_tokens, evidence.completion_tokens, evidence.seconds) == (None, None, None)


def test_without_turns_everything_is_missing() -> None:
    empty = Evidence()
    assert (empty.reply, empty.final_turn, empty.citations) == (None, None, ())
    assert (empty.prompt_tokens, empty.seconds) == (None, None)


@pytest.mark.parametrize("field", [{"prompt_tokens": -1}, {"seconds": -0.1}, {"seconds": float("nan")}])
def test_usage_below_zero_or_not_a_number_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        said(**field)


@pytest.mark.parametrize("reply", [None, "", " \n\t\u00a0"])
def test_a_blank_reply_to_the_graded_turn_is_no_reply(reply: str | None) -> None:
    failure = failure_of(said(reply))
    assert failure is not None
    assert (failure.kind, failure.cause) == ("NOT_REACHED", Cause.NO_REPLY)


def test_a_blank_reply_to_an_earlier_turn_is_a_failed_setup_and_names_the_turn() -> None:
    failure = failure_of(Evidence(turns=(FIRST, Turn(prompt="and?", failure="timed out"), LAST)))
    assert failure is not None
    assert (failure.cause, failure.detail) == (Cause.SETUP_FAILED, "turn 2: timed out")


def test_a_failure_recorded_beside_a_reply_does_not_stop_grading() -> None:
    assert failure_of(said("Within 30 days.", failure="a tool timed out")) is None


def test_nothing_asked_is_no_reply() -> None:
    failure = failure_of(Evidence())
    assert failure is not None
    assert failure.cause is Cause.NO_REPLY
