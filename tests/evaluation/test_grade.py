"""Reading grades, and their bands. A grade is never invented."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import Grade, band, parse_bare, parse_grade, parse_labelled
from tests.evaluation.builders import LABELLED, golden, rubric
from tests.evaluation.strategies import HOSTILE

GOLDEN = golden("grades")


@pytest.mark.parametrize(("text", "grade"), GOLDEN["bare"])
def test_the_golden_bare_grades(text: str, grade: int | None) -> None:
    assert parse_bare(text) == grade


@pytest.mark.parametrize(("text", "read"), GOLDEN["labelled"])
def test_the_golden_labelled_grades(text: str, read: list[Any] | None) -> None:
    assert parse_labelled(text) == (None if read is None else Grade(value=read[0], reason=read[1]))


@pytest.mark.parametrize(("grade", "name"), GOLDEN["bands"])
def test_the_golden_bands(grade: int, name: str) -> None:
    assert band(grade).value == name


@pytest.mark.parametrize("grade", [0, 11, -3])
def test_a_grade_outside_1_to_10_has_no_band(grade: int) -> None:
    with pytest.raises(ValueError, match="1 to 10"):
        band(grade)


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("\u22123", None),
        ("7,", 7),
        ("7, because", 7),
        ("v8", None),
        ("8.0", None),
        ("10", 10),
        ("10.", 10),
        ("8 of 10", None),
        ("8/10 and 9/10", None),
        ("8 OUT OF 10", 8),
        ("(8)", 8),
        ("8%", 8),
    ],
)
def test_bare_grades_at_the_edges_of_the_rule(text: str, grade: int | None) -> None:
    assert parse_bare(text) == grade


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("SCORE: 8\nSCORE: 8\nREASON: sure", Grade(value=8, reason="sure")),
        ("SCORE: **8**\nREASON: bold", Grade(value=8, reason="bold")),
        ("**SCORE**: 8", Grade(value=8)),
        ("SCORE: 8 out of 10", Grade(value=8)),
        ("SCORE:\n8\nREASON: below", Grade(value=8, reason="below")),
        ("- SCORE: 8\n- REASON: a list", Grade(value=8, reason="a list")),
        ("SCORE: eight\nREASON: x", None),
        ("SCORE:\nREASON: 8", None),
        ("SCORE: 8 or 9", None),
        ("SCORE: -8", None),
        ("SCORE: 0", None),
        ("The SCORE: 8 is mine", None),
        ("REASON: I would say SCORE: 9\nSCORE: 3", Grade(value=3, reason="I would say SCORE: 9")),
        ("", None),
    ],
)
def test_labelled_grades_at_the_edges_of_the_rule(text: str, read: Grade | None) -> None:
    assert parse_labelled(text) == read


def test_the_rubric_decides_how_an_answer_is_read() -> None:
    assert parse_grade(rubric(), "8") == Grade(value=8)
    assert parse_grade(rubric(LABELLED), "8") is None
    assert parse_grade(rubric(LABELLED), "SCORE: 8\nREASON: fine") == Grade(value=8, reason="fine")


@pytest.mark.parametrize("filler", [" ", "*", "\n", "/", "10 ", "SCORE: ", "out of "])
def test_a_megabyte_of_answer_is_read_within_a_second(filler: str) -> None:
    began = time.process_time()
    text = "SCORE: 8" + filler * (1_000_000 // len(filler)) + "x"
    parse_bare(text)
    parse_labelled(text)
    assert time.process_time() - began < 1


@given(st.one_of(HOSTILE, st.text("0123456789 ./,-SCORE:\n*", max_size=30)))
def test_a_grade_that_is_read_stands_in_the_text(text: str) -> None:
    labelled = parse_labelled(text)
    for grade in filter(None, [parse_bare(text), labelled.value if labelled else None]):
        assert 1 <= grade <= 10
        assert re.search(rf"(?<!\d){grade}(?!\d)", text)
