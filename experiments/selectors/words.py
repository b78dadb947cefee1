"""The words pages use for verdicts, marks and figures: one place, so that no two pages say it differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from experiments.evaluation import CaseVerdict, CriterionStatus, SettledBy, plural


class Word(NamedTuple):
    """How a verdict or a mark is called and the CSS class that gives it glyph and colour."""

    label: str
    css: str


VERDICTS: dict[str, Word] = {
    CaseVerdict.PASSED: Word("Passed", "is-passed"),
    CaseVerdict.FAILED: Word("Failed", "is-failed"),
    CaseVerdict.VARIED: Word("Varied", "is-varied"),
    CaseVerdict.UNDECIDED: Word("Undecided", "is-undecided"),
    CaseVerdict.NO_RESULT: Word("No result", "is-no-result"),
    "": Word("Not yet", "is-pending"),
}

MARKS: dict[str, Word] = {
    "P": Word("passed", "is-passed"),
    "F": Word("failed", "is-failed"),
    "U": Word("undecided", "is-undecided"),
    "I": Word("inconclusive", "is-inconclusive"),
    "E": Word("evaluator failed", "is-evaluator-failed"),
    "S": Word("not reached: setup failed", "is-not-reached"),
    "N": Word("not reached: no reply", "is-not-reached"),
    ".": Word("not yet", "is-pending"),
}
"""By the letter that a case result's strip holds."""

CRITERION_STATUS: dict[str, Word] = {
    CriterionStatus.PASS: Word("pass", "is-passed"),
    CriterionStatus.FAIL: Word("fail", "is-failed"),
    CriterionStatus.ERROR: Word("error", "is-evaluator-failed"),
    CriterionStatus.NOT_APPLICABLE: Word("not applicable", "is-not-reached"),
}

SETTLED_BY: dict[str, str] = {
    SettledBy.spec_node: "specification node",
    SettledBy.contains_all: "required wording",
    SettledBy.end_state: "end state",
    SettledBy.metric: "metric",
    SettledBy.judge: "judge",
    SettledBy.criteria: "criteria",
    "": "–",
}


def duration(seconds: float) -> str:
    """ "0.4 s", "52 s", "3 m 12 s", "2 h 5 m"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} m"


def strip_words(letters: str) -> str:
    """A strip for who cannot see it: the counts, and the order when it is short enough to follow."""
    if not letters:
        return "no attempts yet"
    counts = Counter(MARKS[letter].label for letter in letters)
    summary = ", ".join(f"{count} {label}" for label, count in counts.items())
    if len(counts) == 1 or len(letters) > 10:
        return f"{plural(len(letters), 'attempt')}: {summary}"
    return f"{plural(len(letters), 'attempt')}: " + ", ".join(MARKS[letter].label for letter in letters)


def pass_words(passed: int, requested: int, others: dict[str, int]) -> str:
    """ "4 of 5, 1 undecided": passes over all attempts, then every attempt that is neither pass nor fail."""
    rest = [f"{count} {label}" for label, count in others.items() if count]
    return ", ".join([f"{passed} of {requested}", *rest])


def settled_rows(counts: Mapping[SettledBy, int]) -> tuple[tuple[str, int], ...]:
    """(what settles them, how many cases) for every route a case takes, in the order routes are tried."""
    return tuple((SETTLED_BY[route], counts[route]) for route in SettledBy if counts.get(route))
