"""What an author is told about which evaluator settles a case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    CriterionSpec,
    EvalCase,
    SettledBy,
    SettleMode,
    SettlingGroup,
    describe_settling,
    route,
)
from tests.evaluation.builders import case
from tests.evaluation.strategies import HOSTILE

STATE = {"id": "end-state", "params": {"expected": {"a": 1}}}
EXPECTATION, CRITERIA, BOTH = SettleMode.expectation, SettleMode.criteria, SettleMode.both
SUITE = (CriterionSpec(kind="reply.contains"), CriterionSpec(kind="run.no_failure"))


@pytest.mark.parametrize(
    ("of", "group", "sentence"),
    [
        (case(spec_node="UC-1"), "comparison", "Settled by comparing the spec node with UC-1."),
        (
            case(required_phrases=("a", " ")),
            "comparison",
            "Settled by looking for 1 required phrase in the reply.",
        ),
        (case(metric=STATE), "comparison", "Settled by comparing the end state."),
        (case(metric={"id": "token-f1"}, reference="x"), "metric", "Settled by the metric token-f1 v1."),
        (case(), "judge", "Settled by the judge, who grades the reply against the expected outcome."),
    ],
)
def test_the_evaluator_is_named_in_a_sentence(of: EvalCase, group: str, sentence: str) -> None:
    found = describe_settling(of, EXPECTATION)
    assert (found.by, found.groups, found.sentence) == ((route(of),), (SettlingGroup(group),), sentence)
    assert found.warnings == ()


def test_expectations_that_are_not_used_are_named() -> None:
    several = case(spec_node="UC-1", required_phrases=("a",), metric={"id": "token-f1"})
    found = describe_settling(several, EXPECTATION)
    assert found.unused == ("required phrases", "metric token-f1")
    assert found.sentence.endswith("Not used: required phrases, metric token-f1.")


def test_by_criteria_no_expectation_is_used() -> None:
    found = describe_settling(
        case(spec_node="UC-1", criteria=[{"kind": "reply.max_length"}]), CRITERIA, SUITE
    )
    assert (found.by, found.groups) == ((SettledBy.criteria,), (SettlingGroup.criteria,))
    assert found.sentence == (
        "Settled by 3 criteria (reply.contains, run.no_failure, reply.max_length). Not used: spec node."
    )


def test_in_mode_both_two_parts_settle() -> None:
    found = describe_settling(case(spec_node="UC-1", required_phrases=("a",)), BOTH, SUITE)
    assert found.by == (SettledBy.spec_node, SettledBy.criteria)
    assert found.groups == (SettlingGroup.comparison, SettlingGroup.criteria)
    assert "passes only when both pass" in found.sentence
    assert found.unused == ("required phrases",)


@pytest.mark.parametrize(
    ("of", "mode", "suite", "warning"),
    [
        (case(), CRITERIA, (), "no criteria"),
        (case(spec_node="N"), BOTH, (), "no criteria"),
        (case(spec_node="N"), EXPECTATION, SUITE, "not read"),
        (case(metric={"id": "exact-match"}), EXPECTATION, (), "reference"),
        (case(expected=" "), EXPECTATION, (), "expected outcome"),
    ],
)
def test_an_author_is_warned_of_what_will_say_nothing(
    of: EvalCase, mode: SettleMode, suite: tuple[CriterionSpec, ...], warning: str
) -> None:
    (found,) = describe_settling(of, mode, suite).warnings
    assert warning in found


@given(HOSTILE, st.sampled_from(SettleMode))
def test_hostile_cases_are_described_in_words_that_can_be_shown(text: str, mode: SettleMode) -> None:
    of = case(spec_node=text, required_phrases=(text,), metric={"id": "\x00"}, criteria=[{"kind": "\u202e"}])
    found = describe_settling(of, mode)
    "".join((found.sentence, *found.unused, *found.warnings)).encode()
