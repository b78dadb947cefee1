"""Criteria over the text of the final reply."""

import time
from typing import Any

import pytest

from experiments.evaluation.case import CriterionSpec
from experiments.evaluation.criteria import CriterionParamsError, builtin_registry
from experiments.evaluation.criteria.patterns import MAX_PATTERN
from experiments.evaluation.evidence import Evidence, Turn
from experiments.evaluation.outcome import CriterionStatus
from tests.evaluation.criteria.helpers import replied, verdict

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR


@pytest.mark.parametrize(
    ("params", "reply", "status"),
    [
        ({"substrings": ["STRASSE"]}, "de Straße hier", PASS),
        ({"substrings": ["STRASSE"], "case_sensitive": True}, "de Straße hier", FAIL),
        ({"substrings": ["a", "b"]}, "only a", FAIL),
        ({"substrings": ["thirty days"]}, "thirty  days", FAIL),
        ({"regex": [r"art\. \d+"]}, "zie ART. 17 AVG", PASS),
        ({"regex": [r"art\. \d+"], "case_sensitive": True}, "zie ART. 17 AVG", FAIL),
        ({"substrings": ["zie"], "regex": [r"^17"]}, "zie 17", FAIL),
        ({"substrings": ["zie"], "regex": [r"17$"]}, "zie 17", PASS),
        ({"substrings": ["x\x00y"]}, "a x\x00y b\ud800", PASS),
    ],
)
def test_contains_wants_every_pattern_somewhere_in_the_reply(
    params: dict[str, Any], reply: str, status: CriterionStatus
) -> None:
    assert verdict("reply.contains", replied(reply), params).status is status


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"substrings": ["guarantee", "always"]}, FAIL),
        ({"substrings": ["guarantee"]}, PASS),
        ({"regex": [r"\balways\b"]}, FAIL),
    ],
)
def test_not_contains_wants_no_pattern_anywhere(params: dict[str, Any], status: CriterionStatus) -> None:
    found = verdict("reply.not_contains", replied("We Always refund."), params)
    assert found.status is status
    assert bool(found.data["found"]) is (status is FAIL)


def test_contains_names_what_is_missing() -> None:
    found = verdict("reply.contains", replied("a"), {"substrings": ["a", "b", "c", "d", "e", "f"]})
    assert found.detail == "the reply lacks “b”, “c”, “d” and 2 more"
    assert found.data == {"missing": ["b", "c", "d", "e", "f"]}


@pytest.mark.parametrize(
    ("reply", "limit", "status"),
    [("abc", 3, PASS), ("abcd", 3, FAIL), ("🙂🙂", 2, PASS), ("e\u0301", 1, FAIL), ("\ud800", 1, PASS)],
)
def test_max_length_counts_code_points(reply: str, limit: int, status: CriterionStatus) -> None:
    found = verdict("reply.max_length", replied(reply), {"max": limit})
    assert found.status is status
    assert found.data == {"length": len(reply), "max": limit}


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("reply.contains", {"substrings": ["a"]}),
        ("reply.not_contains", {"substrings": ["a"]}),
        ("reply.max_length", {"max": 3}),
    ],
)
def test_a_missing_final_reply_is_an_error_whatever_earlier_turns_hold(
    kind: str, params: dict[str, Any]
) -> None:
    evidence = Evidence(turns=(Turn(prompt="1", reply="a"), Turn(prompt="2", reply=None)))
    found = verdict(kind, evidence, params)
    assert (found.status, found.detail) == (ERROR, "missing final reply")


def test_only_the_final_turn_is_read() -> None:
    evidence = Evidence(turns=(Turn(prompt="1", reply="refund"), Turn(prompt="2", reply="no")))
    assert verdict("reply.contains", evidence, {"substrings": ["refund"]}).status is FAIL


def test_a_pattern_that_backtracks_for_ever_is_an_error_within_seconds() -> None:
    started = time.monotonic()
    found = verdict("reply.contains", replied("a" * 5_000 + "!"), {"regex": [r"(?:(a|aa|aaa)\1?)+$"]})
    assert time.monotonic() - started < 5
    assert found.status is ERROR
    assert "took too long" in found.detail


def test_a_megabyte_of_reply_is_read() -> None:
    found = verdict("reply.contains", replied("x" * 1_000_000 + "needle"), {"regex": ["needle$"]})
    assert found.status is PASS


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "at least one pattern"),
        ({"substrings": [], "regex": []}, "at least one pattern"),
        ({"substrings": [""]}, "substrings.0"),
        ({"regex": ["("]}, "no regular expression"),
        ({"regex": [""]}, "must not be empty"),
        ({"regex": ["a" * (MAX_PATTERN + 1)]}, f"at most {MAX_PATTERN}"),
        ({"regex": ["(?R)"]}, "recursive"),
        ({"regex": [r"(?P<x>a)(?&x)"]}, "recursive"),
        ({"regex": ["(" * 450 + ")" * 450]}, "too deeply nested"),
        ({"substrings": "refund"}, "substrings"),
        ({"substrings": ["a"], "case_sensitive": "yes"}, "case_sensitive"),
    ],
)
def test_patterns_that_cannot_work_are_refused_before_any_attempt(
    params: dict[str, Any], reason: str
) -> None:
    with pytest.raises(CriterionParamsError, match=reason):
        builtin_registry().validate(CriterionSpec(kind="reply.contains", params=params))


def test_an_escaped_bracket_is_no_recursion() -> None:
    assert verdict("reply.contains", replied("see (?R)"), {"regex": [r"\(\?R\)"]}).status is PASS
