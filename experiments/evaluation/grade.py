"""Reading a judge's grade, and what a grade means. A grade is never invented: unreadable is None."""

import re
from enum import StrEnum
from itertools import zip_longest
from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.rubric import Rubric, reads_by_label

LOWEST, HIGHEST = 1, 10


class Band(StrEnum):
    """What a grade says: 8 to 10 passed, 4 to 7 undecided, 1 to 3 failed."""

    passed = "passed"
    undecided = "undecided"
    failed = "failed"


class Grade(FrozenModel):
    """A grade a judge gave, and its reason ("" when it gave none)."""

    value: Annotated[int, Field(ge=LOWEST, le=HIGHEST)]
    reason: str = ""


def band(grade: int) -> Band:
    """The band of a grade from 1 to 10; anything else is a `ValueError`."""
    if not LOWEST <= grade <= HIGHEST:
        raise ValueError(f"a grade is {LOWEST} to {HIGHEST}, not {grade}")
    if grade >= 8:
        return Band.passed
    return Band.undecided if grade >= 4 else Band.failed


_OUT_OF_TEN = re.compile(r"/\s*10(?!\d)|\b(?:out\s+of|van)\s+10\b", re.IGNORECASE)
_CANDIDATE = re.compile("(?<![^\\W_])(?<![.,\\-\u2212])(10|[1-9])\\b(?![.,]\\d)")


def parse_bare(text: str) -> int | None:
    """The one grade a text states, or None when it states none or several.

    "/10", "out of 10" and "van 10" are dropped first. A candidate is an integer 1 to 10 not preceded by a
    letter, digit, '.', ',', '-' or U+2212, ending at a word boundary and not followed by '.digit' or
    ',digit'.
    """
    found = {int(digits) for digits in _CANDIDATE.findall(_OUT_OF_TEN.sub(" ", text))}
    return found.pop() if len(found) == 1 else None


_LABELLED = re.compile(
    r"^[ \t>*_`#\-]*(?P<label>SCORE|REASON|EXPLANATION)[ \t*_`]*:[ \t]*(?P<rest>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SCORE = re.compile(r"(10|[1-9])[\s*_`]*(?:(?:/|out\s+of|van)\s*10)?", re.IGNORECASE)


def parse_labelled(text: str) -> Grade | None:
    """The grade on the `SCORE:` line and the text under `REASON:` or `EXPLANATION:`, in either order.

    None without a SCORE line, when its value is no integer 1 to 10, or when two SCORE lines differ. Markdown
    asterisks are tolerated, the reason may span lines, a missing reason is "".
    """
    scores: set[int | None] = set()
    reason = ""
    lines = list(_LABELLED.finditer(text))
    for line, following in zip_longest(lines, lines[1:]):
        value = text[line.start("rest") : following.start() if following else len(text)]
        if line["label"].upper() == "SCORE":
            scores.add(_score(value))
        elif not reason:
            reason = value.strip().lstrip("*").strip()
    score = scores.pop() if len(scores) == 1 else None
    return None if score is None else Grade(value=score, reason=reason)


def _score(value: str) -> int | None:
    """The grade after a SCORE label: the first line that holds anything, and nothing else on it."""
    lines = (line.strip("*_`. \t") for line in value.splitlines())
    found = _SCORE.fullmatch(next(filter(None, lines), ""))
    return int(found[1]) if found else None


def parse_grade(rubric: Rubric, text: str) -> Grade | None:
    """The grade in a judge's answer, read as the rubric asked for it; None when it cannot be read."""
    if reads_by_label(rubric):
        return parse_labelled(text)
    value = parse_bare(text)
    return None if value is None else Grade(value=value)
