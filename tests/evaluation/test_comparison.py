"""Spec nodes, required phrases and end states."""

from typing import Any

import pytest
from hypothesis import given

from experiments.evaluation import (
    EvaluationOutcome,
    SettledBy,
    compare_end_state,
    compare_spec_node,
    contains_all,
    node_satisfies,
)
from tests.evaluation.builders import golden, said
from tests.evaluation.strategies import HOSTILE


@pytest.mark.parametrize(("expected", "actual", "satisfied"), golden("spec_nodes"), ids=str)
def test_the_golden_spec_nodes(expected: str, actual: str, satisfied: bool) -> None:
    assert node_satisfies(expected, actual) is satisfied
    result = compare_spec_node(expected, said(node=actual))
    assert (result.outcome, result.passed) == (EvaluationOutcome.VERDICT, satisfied)


def test_the_reason_says_what_was_expected_and_what_was_found() -> None:
    result = compare_spec_node("UC-1", said(node="UC-2"))
    assert (result.reason, result.settled_by) == ("expected UC-1, found UC-2", SettledBy.spec_node)


@pytest.mark.parametrize("node", [None, "", "  "])
def test_no_node_reported_is_inconclusive(node: str | None) -> None:
    assert compare_spec_node("UC-1", said(node=node)).outcome is EvaluationOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("phrases", "reply", "passed"),
    [
        (("30 days",), "Within 30  DAYS\nof payment", True),
        (("30\n days",), "within 30 days", True),
        (("30 days", "refund"), "Your refund takes 30 days", True),
        (("30 days", "refund"), "It takes 30 days", False),
        (("STRASSE",), "straße", True),
        (("30 days",), "30-days", False),
    ],
)
def test_every_phrase_must_occur_casefolded_with_whitespace_collapsed(
    phrases: tuple[str, ...], reply: str, passed: bool
) -> None:
    result = contains_all(phrases, said(reply))
    assert (result.outcome, result.passed) == (EvaluationOutcome.VERDICT, passed)


def test_the_reason_names_the_first_phrase_missing() -> None:
    assert contains_all(("30 days", "refund", "money"), said("30 days")).reason == "missing phrase: refund"


def test_phrases_are_looked_for_in_the_reply_only() -> None:
    assert not contains_all(("refund",), said("no", prompt="my refund?", citations=[{"id": "refund"}])).passed


def test_no_reply_is_inconclusive() -> None:
    assert contains_all(("x",), said(None)).outcome is EvaluationOutcome.INCONCLUSIVE


@given(HOSTILE, HOSTILE)
def test_comparing_hostile_text_gives_a_result(one: str, other: str) -> None:
    assert contains_all((one,), said(other)).evaluator == "contains-all"
    assert compare_spec_node(one, said(node=other)).evaluator == "spec-node"
    assert contains_all((one,), said(f"before {one} after")).passed


@pytest.mark.parametrize(
    ("expected", "state", "passed"),
    [
        ({"refunded": True}, {"refunded": True, "other": 1}, True),
        ({"refunded": True}, {"refunded": 1}, False),
        ({"amount": 10}, {"amount": 10.0}, True),
        ({"amount": 10}, {}, False),
        ({"amount": None}, {}, False),
        ({"amount": None}, {"amount": None}, True),
        ({"lines": [{"id": 1, "ok": True}]}, {"lines": [{"id": 1, "ok": True}]}, True),
        ({"lines": [{"ok": True}]}, {"lines": [{"ok": 1}]}, False),
        ({"lines": [1, 2]}, {"lines": [2, 1]}, False),
        ({"order": {"a": 1}}, {"order": {"a": 1, "b": 2}}, False),
    ],
)
def test_an_end_state_is_compared_on_the_named_keys_only(
    expected: dict[str, Any], state: dict[str, Any], passed: bool
) -> None:
    result = compare_end_state(expected, said(end_state=state))
    assert (result.outcome, result.passed) == (EvaluationOutcome.VERDICT, passed)


def test_no_end_state_is_inconclusive_and_an_empty_one_is_not() -> None:
    assert compare_end_state({"x": 1}, said()).outcome is EvaluationOutcome.INCONCLUSIVE
    assert compare_end_state({"x": 1}, said(end_state={})).reason == "x: expected 1, found nothing"
