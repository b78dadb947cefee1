"""A required phrase the expected outcome forbids."""

import time

import pytest
from hypothesis import given

from experiments.evaluation.contradiction import case_contradictions, forbids
from tests.evaluation.strategies import HOSTILE


@pytest.mark.parametrize(
    ("expected", "phrase"),
    [
        ("the reply must not mention the refund window", "refund window"),
        ("the reply does not promise a refund", "refund"),
        ("The reply does NOT promise\n a Refund", "promise a  refund"),
        ("it doesn't name a date", "a date"),
        ("the reply never gives legal advice", "legal advice"),
        ("says the item is not refundable", "refundable"),
        ("it states the window; it must not say 14 days", "14 days"),
        ("must not mention fees and taxes", "taxes"),
        ("cannot offer a discount", "discount"),
        ("must not say “14 days”", "14 days"),
    ],
)
def test_a_phrase_under_a_negation_is_forbidden(expected: str, phrase: str) -> None:
    assert forbids(expected, phrase)


@pytest.mark.parametrize(
    ("expected", "phrase"),
    [
        ("the reply states a 30-day refund window", "30-day"),
        ("the reply does not hesitate and states a 30-day window", "30-day"),
        ("it must not say 14 days but 30 days", "30 days"),
        ("it must not say 14 days; it says 30 days", "30 days"),
        ("it does not say 14 days, it says 30 days.", "30 days"),
        ("it must not omit the 30 days", "30 days"),
        ("it does not only say 30 days", "30 days"),
        ("says the item is not refundable", "not refundable"),
        ("it must not say 14 days. It says 14 days is wrong", "14 days"),
        ("must not pay wages", "age"),
        ("a reply that says nothing of it", "refund"),
        ("must not", ""),
        ("", "refund"),
    ],
)
def test_a_phrase_that_may_be_said_is_not_refused(expected: str, phrase: str) -> None:
    assert not forbids(expected, phrase)


def test_every_contradiction_of_a_case_is_told_at_once_with_its_place() -> None:
    found = case_contradictions("It must not say  NO", "it must not say no", ("no", "yes", "say no"))
    assert [field for field, _ in found] == ["turn", "required_phrases[0]", "required_phrases[2]"]


def test_a_blank_turn_and_a_blank_outcome_are_no_contradiction() -> None:
    assert case_contradictions(" ", "", ()) == ()


@given(HOSTILE, HOSTILE)
def test_hostile_text_is_judged_without_breaking(expected: str, phrase: str) -> None:
    assert forbids(expected, phrase) in (True, False)
    assert not forbids(phrase, phrase)


def test_a_megabyte_is_judged_within_seconds() -> None:
    began = time.process_time()
    assert not forbids("does not and it " * 60_000 + ". refund", "refund")
    assert forbids("does not refund " * 60_000, "refund")
    assert time.process_time() - began < 2
