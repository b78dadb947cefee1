"""What the compare page shows: two runs, the gate between them, and what a stored comparison found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from experiments.evaluation import percent
from experiments.evaluation.comparing import VERDICTS, Change, Conclusion, RunComparison
from experiments.models import ComparedCase, Comparison, JobState, Run, RunState
from experiments.selectors.figures import RunLine, lines_of
from experiments.selectors.paging import Page, keyset
from experiments.selectors.run import passes_of, strip_of

CHOICES = 50
"""Finished runs that can be picked."""

TABS: dict[str, str] = {
    Change.worse.value: "Worse",
    Change.better.value: "Better",
    Change.same.value: "Same",
    Change.not_counted.value: "Not counted",
    Change.new.value: "New",
    Change.gone.value: "Gone",
    Change.unpaired.value: "Asked differently",
}


class Filter(NamedTuple):
    """What narrows the table: one kind of change, or one cell of the matrix (both verdicts)."""

    change: str = ""
    a_verdict: str = ""
    b_verdict: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Filter:
        """From a query string; what is not known narrows nothing."""
        change = given.get("change", "")
        a, _, b = given.get("cell", "").partition(".")
        known = {verdict.value for verdict in VERDICTS}
        return cls(change if change in TABS else "", *((a, b) if {a, b} <= known and a and b else ("", "")))


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Tab:
    change: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of the transition matrix and the filter it is."""

    count: int
    cell: str
    is_same: bool
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class MatrixRow:
    verdict: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SideOfCase:
    """One run's side of a case in the table."""

    id: int
    verdict: str
    strip: str
    passes: str


@dataclass(frozen=True, slots=True)
class CaseLine:
    """`run_id` and `id` lead to the case in B, or in A when B does not have it."""

    run_id: int
    id: int
    key: str
    change: str
    label: str
    a: SideOfCase | None
    b: SideOfCase | None
    flipped: str


@dataclass(frozen=True, slots=True)
class Found:
    """A finished comparison in words and rows.

    `claims` is False when the runs are not comparable: then only whoever looks anyway sees figures, under a
    line that says what they cannot show.
    """

    result: RunComparison
    claims: bool
    headline: str
    difference: str
    signs: str
    tone: str
    tabs: tuple[Tab, ...]
    verdicts: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    cases: Page[CaseLine]


@dataclass(frozen=True, slots=True)
class ComparePage:
    """`found` is None while the comparison waits, when it failed (`error`), or no two runs are chosen."""

    a: RunLine | None
    b: RunLine | None
    choices: tuple[RunLine, ...]
    waiting: bool
    error: str
    found: Found | None
    filter: Filter
    all: str


def run_choices() -> tuple[RunLine, ...]:
    """Finished runs to pick from, newest first."""
    runs = Run.objects.filter(state=RunState.FINISHED).select_related("experiment", "started_by")
    return lines_of(runs.order_by("-pk")[:CHOICES])


def last_two() -> tuple[Run, Run] | None:
    """The two newest finished runs of the newest run's experiment, older first."""
    finished = Run.objects.filter(state=RunState.FINISHED).order_by("-pk")
    experiment_id = finished.values_list("experiment", flat=True).first()
    found = list(finished.filter(experiment=experiment_id)[:2])
    return (found[1], found[0]) if len(found) == 2 else None


def compare_page(
    a: Run | None,
    b: Run | None,
    comparison: Comparison | None,
    *,
    narrowed: Filter = EVERYTHING,
    before: str = "",
    after: str = "",
    error: str = "",
) -> ComparePage:
    """The page over a stored comparison, in a fixed number of queries whatever the number of cases."""
    lines = {line.id: line for line in lines_of(run for run in (a, b) if run is not None)}
    ready = comparison is not None and comparison.state == JobState.DONE
    return ComparePage(
        a=lines.get(a.pk) if a else None,
        b=lines.get(b.pk) if b else None,
        choices=run_choices(),
        waiting=comparison is not None and comparison.state == JobState.WAITING,
        error=error or (comparison.error if comparison and comparison.state == JobState.FAILED else ""),
        found=_found(comparison, narrowed, before, after) if comparison and ready else None,
        filter=narrowed,
        all=f"?a={a.pk}&b={b.pk}" if a and b else "",
    )


def _found(comparison: Comparison, narrowed: Filter, before: str, after: str) -> Found:
    result = RunComparison.model_validate(comparison.document)
    return Found(
        result=result,
        claims=result.gate.comparable,
        headline=_headline(result),
        difference=_difference(result),
        signs=f"{result.worse:,} worse, {result.better:,} better; sign test p = {result.p:.2g}",
        tone=_TONES[result.conclusion],
        tabs=_tabs(result, narrowed),
        verdicts=tuple(verdict.value for verdict in VERDICTS),
        matrix=_matrix(result, narrowed),
        cases=_cases(comparison, narrowed, before, after),
    )


_TONES = {
    Conclusion.regression: "is-failed",
    Conclusion.improvement: "is-passed",
    Conclusion.cannot_tell: "is-no-result",
    Conclusion.too_few: "is-undecided",
    Conclusion.not_comparable: "is-undecided",
}


def _headline(result: RunComparison) -> str:
    sides = (("A", result.a), ("B", result.b))
    shares = [f"{name} {'no rate' if side.share is None else percent(side.share)}" for name, side in sides]
    counts = [f"{name} {side.passed:,} of {side.judged:,}" for name, side in sides]
    return (
        f"{result.shared:,} shared cases, {result.counted:,} counted on both sides. "
        f"Mean share of passes a case: {', '.join(shares)}; attempts passed: {', '.join(counts)}"
    )


def _difference(result: RunComparison) -> str:
    if result.difference is None:
        return "no difference can be measured"
    words = f"difference {100 * result.difference:+.1f} points"
    if result.low is None or result.high is None:
        return words
    return f"{words} (95%: {100 * result.low:+.1f} to {100 * result.high:+.1f}, over cases)"


def _tabs(result: RunComparison, narrowed: Filter) -> tuple[Tab, ...]:
    counts = {change: int(getattr(result, change)) for change in TABS}
    shown = {Change.worse.value, Change.better.value, narrowed.change}
    return tuple(
        Tab(change, label, counts[change], change == narrowed.change)
        for change, label in TABS.items()
        if counts[change] or change in shown
    )


def _matrix(result: RunComparison, narrowed: Filter) -> tuple[MatrixRow, ...]:
    chosen = (narrowed.a_verdict, narrowed.b_verdict)
    return tuple(
        MatrixRow(
            row.value,
            tuple(
                Cell(count, f"{row.value}.{column.value}", row == column, (row.value, column.value) == chosen)
                for column, count in zip(VERDICTS, counts, strict=True)
            ),
        )
        for row, counts in zip(VERDICTS, result.matrix, strict=True)
    )


def _cases(comparison: Comparison, narrowed: Filter, before: str, after: str) -> Page[CaseLine]:
    rows = ComparedCase.objects.filter(comparison=comparison).select_related("a__grading", "b__grading")
    if narrowed.change:
        rows = rows.filter(change=narrowed.change)
    if narrowed.a_verdict:
        shared = (Change.new.value, Change.gone.value, Change.unpaired.value)
        rows = rows.filter(a_verdict=narrowed.a_verdict, b_verdict=narrowed.b_verdict).exclude(
            change__in=shared
        )
    found = keyset(rows, ["position"], before=before, after=after)
    return Page(tuple(_line(row) for row in found.rows), found.before, found.after)


def _line(row: ComparedCase) -> CaseLine:
    shown = row.b or row.a
    assert shown is not None, "a constraint keeps at least one side"
    return CaseLine(
        run_id=shown.grading.run_id,
        id=shown.pk,
        key=row.key,
        change=row.change,
        label=TABS[row.change].lower(),
        a=SideOfCase(row.a.pk, row.a_verdict, strip_of(row.a), passes_of(row.a)) if row.a else None,
        b=SideOfCase(row.b.pk, row.b_verdict, strip_of(row.b), passes_of(row.b)) if row.b else None,
        flipped=row.flipped,
    )
