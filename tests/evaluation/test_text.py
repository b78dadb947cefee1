"""Hostile text: canonical JSON that loses nothing, and what a database column can hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation.text import is_storable, percent, plural, printable, sha256_of, to_json
from tests.evaluation.strategies import HOSTILE


@given(st.dictionaries(HOSTILE, st.lists(HOSTILE, max_size=3), max_size=3))
def test_canonical_json_is_utf8_and_reads_back_as_it_was(value: dict[str, list[str]]) -> None:
    text = to_json(value)
    text.encode("utf-8")
    # A high surrogate right before a low one reads back as the one character the two stand for.
    joined = json.loads(json.dumps(value))
    assert json.loads(text) == joined


def test_canonical_json_escapes_nul_and_lone_surrogates_only() -> None:
    assert to_json({"b": "\x00\ud800é", "a": 1}) == '{"a":1,"b":"\\u0000\\ud800é"}'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_canonical_json_refuses_what_json_does_not_have(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"x": value})


@given(HOSTILE, st.integers(0, 70))
def test_printable_text_fits_a_column(text: str, limit: int) -> None:
    shown = printable(text, limit)
    shown.encode("utf-8")
    assert "\x00" not in shown
    assert len(shown) <= limit


def test_printable_replaces_and_marks_the_cut() -> None:
    assert printable("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"


@given(HOSTILE)
def test_text_is_storable_when_printing_it_changes_nothing(text: str) -> None:
    assert is_storable(text) == (printable(text) == text)


def test_a_hash_takes_any_text() -> None:
    assert sha256_of("\ud800") != sha256_of("\ud801")
    assert len(sha256_of({"x": "\x00"})) == 64


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (1, "100%"), (0.793, "79.3%"), (0.99999, "99.9%"), (0.00001, "0.1%")]
)
def test_only_all_is_a_hundred_percent_and_only_none_is_zero(share: float, text: str) -> None:
    assert percent(share) == text


def test_nouns_follow_their_count() -> None:
    assert [plural(n, "case") for n in (0, 1, 1200)] == ["0 cases", "1 case", "1,200 cases"]
