"""The plain-text notation of the forms: what is shown reads back as the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.admin import notation
from experiments.admin.differences import MOST_LINES, TOO_LONG, change_lines, difference

# What a text field holds: no NUL, no lone surrogates, no carriage return.
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)
items = texts.map(str.strip).filter(bool)
ids = items.filter(lambda text: "|" not in text and " " not in text and len(text.split()) == 1)
plain: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(items, max_size=4))
def test_lines_read_back(values: list[str]) -> None:
    assert notation.read_lines(notation.show_lines(values)) == values


@pytest.mark.parametrize("values", [["one\ntwo"], ["one\n\ntwo", "three"], ["a", "---"[:2]], []])
def test_items_of_several_lines_read_back(values: list[str]) -> None:
    assert notation.read_lines(notation.show_lines(values)) == values


@given(st.lists(st.lists(ids, min_size=1, max_size=3), max_size=3))
def test_groups_read_back(groups: list[list[str]]) -> None:
    assert notation.read_groups(notation.show_groups(groups)) == groups


def test_an_id_with_a_space_reads_back() -> None:
    assert notation.read_groups(notation.show_groups([["a b"], ["c", "d e"]])) == [["a b"], ["c", "d e"]]


@given(st.lists(st.fixed_dictionaries({"text": items, "vital": st.booleans()}), max_size=3))
def test_nuggets_read_back(nuggets: list[dict[str, Any]]) -> None:
    if not any(one["text"].casefold().startswith((notation.OPTIONAL, notation.VITAL)) for one in nuggets):
        assert notation.read_nuggets(notation.show_nuggets(nuggets)) == nuggets


def test_a_nugget_that_begins_like_a_mark_reads_back() -> None:
    nuggets = [{"text": "optional: coffee", "vital": True}, {"text": "vital: tea", "vital": False}]
    assert notation.read_nuggets(notation.show_nuggets(nuggets)) == nuggets


def test_failing_tools_read_back() -> None:
    tools = [("ledger", "503: down"), ("mcp:mail", "refused")]
    assert notation.read_tools(notation.show_tools(tools)) == tools


@given(st.dictionaries(texts, plain, min_size=1, max_size=3))
def test_mappings_read_back(value: dict[str, Any]) -> None:
    assert notation.read_document(notation.show_document(value), of=dict) == value


@given(st.lists(st.dictionaries(texts, plain, min_size=1, max_size=3), min_size=1, max_size=3))
def test_lists_of_mappings_read_back(value: list[Any]) -> None:
    assert notation.read_document(notation.show_document(value), of=list) == value


def test_what_yaml_reads_otherwise_stays_text() -> None:
    value = {
        "a": "no",
        "b": "6:162",
        "c": "1e3",
        "d": "2024-01-01",
        "e": "",
        "f": "~",
        "g": "- x",
        "h": "# y",
    }
    assert notation.read_document(notation.show_document(value), of=dict) == value


def test_a_text_too_long_to_compare_is_said_and_not_compared() -> None:
    assert difference("x\n" * (MOST_LINES + 1), "y")[0].text == TOO_LONG


def test_a_change_reads_as_lines_removed_and_added() -> None:
    lines = change_lines({"lanes": 4}, {"lanes": 9})
    assert [(line.sign, line.text) for line in lines] == [("−", "lanes: 4"), ("+", "lanes: 9")]
