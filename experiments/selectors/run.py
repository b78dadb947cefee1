"""What the page of one run shows: its head, the report's panels, and the case table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, F, FloatField, IntegerField, QuerySet, Value, When
from django.utils import timezone

from experiments.evaluation import CaseVerdict
from experiments.models import CaseResult, Grading, Result, Run, RunState
from experiments.selectors import panels
from experiments.selectors.figures import RUNNING, CaseCounts, Rate, report_of
from experiments.selectors.paging import Page, keyset
from experiments.selectors.words import SETTLED_BY, VERDICTS, pass_words

SORTS = ("verdict", "position")
PANEL_ROWS = 3
NEAR_MISSES = 3
LARGEST_NEAR_MISS = 0.25
VERDICT_ORDER = {
    CaseVerdict.VARIED: 0,
    CaseVerdict.FAILED: 1,
    CaseVerdict.UNDECIDED: 2,
    CaseVerdict.NO_RESULT: 3,
    CaseVerdict.PASSED: 4,
}
"""What needs reading comes first."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """What of the case table to show. `sort` is "" for the default: by verdict, by position while running, so
    that no row moves under the reader."""

    verdict: str = ""
    search: str = ""
    sort: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case of a run in a list. `passes` is "4 of 5, 1 undecided"; `tokens` a mean over its attempts."""

    id: int
    key: str
    verdict: str
    strip: str
    passes: str
    settled_by: str
    reason: str
    seconds: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An attempt that nearly passed. `figure` is "grade 7, 8 passes" or "score 0.48, 0.50 passes"."""

    case_result_id: int
    key: str
    number: int
    figure: str


@dataclass(frozen=True, slots=True)
class Tab:
    verdict: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a run that moves. `left` is a guess from the pace so far, None before anything finished."""

    finished: int
    requested: int
    seconds: float
    left: float | None
    stopping: bool
    trouble: str


@dataclass(frozen=True, slots=True)
class RunHead:
    """Title, facts and what can be done with the run; the latter is for the view to allow."""

    id: int
    experiment_id: int
    experiment: str
    state: str
    started: datetime
    ended: datetime | None
    seconds: float | None
    policy: str
    rubric: str
    target: str
    judge: str
    cases: int
    repeats: int
    lanes: int
    busy: float | None
    finished: int
    requested: int
    stop_reason: str
    started_by: str

    @property
    def is_live(self) -> bool:
        return self.state in RUNNING

    @property
    def can_stop(self) -> bool:
        return self.state == RunState.RUNNING

    @property
    def can_resume(self) -> bool:
        return self.state == RunState.STOPPED

    @property
    def left(self) -> int:
        return self.requested - self.finished


@dataclass(frozen=True, slots=True)
class RunPage:
    head: RunHead
    progress: Progress | None
    counts: CaseCounts
    rate: Rate
    found: tuple[panels.Bar, ...]
    confidence: tuple[str, ...]
    limits: tuple[panels.Limit, ...]
    cost: panels.Cost
    failed: tuple[CaseLine, ...]
    varied: tuple[CaseLine, ...]
    near_misses: tuple[NearMiss, ...]
    tabs: tuple[Tab, ...]
    filter: CaseFilter
    sort: str
    cases: Page[CaseLine]


def run_page(run_id: int, wanted: CaseFilter) -> RunPage:
    """Everything on the page of a run in at most six queries. Raises `Run.DoesNotExist`."""
    grading = _current_grading(run_id)
    run = grading.run
    report = report_of(run, grading)
    counts = CaseCounts.of(grading, run)
    live = run.state in RUNNING
    sort = wanted.sort if wanted.sort in SORTS else ("position" if live else "verdict")
    lines = CaseResult.objects.filter(grading=grading).select_related("case")
    return RunPage(
        head=_head(run, grading),
        progress=_progress(run) if live else None,
        counts=counts,
        rate=Rate.of(report, grading),
        found=panels.found(counts, live=live),
        confidence=panels.confidence(report),
        limits=panels.limits(report),
        cost=panels.cost(report, run.attempt_seconds),
        failed=_first(lines, CaseVerdict.FAILED, counts.failed),
        varied=_first(lines, CaseVerdict.VARIED, counts.varied),
        near_misses=() if live else _near_misses(grading),
        tabs=_tabs(counts),
        filter=wanted,
        sort=sort,
        cases=_table(lines, wanted, sort),
    )


def _current_grading(run_id: int) -> Grading:
    grading = (
        Grading.objects.filter(run=run_id, is_current=True)
        .select_related(
            "run__experiment", "run__started_by", "run__policy_version__policy", "rubric_version__rubric"
        )
        .first()
    )
    if grading is None:
        raise Run.DoesNotExist
    return grading


def _head(run: Run, grading: Grading) -> RunHead:
    started = run.started_at or run.created_at
    seconds = (run.finished_at - started).total_seconds() if run.finished_at else None
    return RunHead(
        id=run.pk,
        experiment_id=run.experiment_id,
        experiment=run.experiment.name,
        state=run.state,
        started=started,
        ended=run.finished_at,
        seconds=seconds,
        policy=str(run.policy_version or ""),
        rubric=str(grading.rubric_version or ""),
        target=" ".join(filter(None, (run.target_name, run.target_version))),
        judge=grading.judge_model,
        cases=run.requested // run.repeats,
        repeats=run.repeats,
        lanes=run.lanes,
        busy=min(1.0, run.busy_seconds / seconds / run.lanes) if seconds else None,
        finished=run.finished,
        requested=run.requested,
        stop_reason=run.stop_reason,
        started_by=run.started_by.get_username() if run.started_by else "evalsite",
    )


def _progress(run: Run) -> Progress:
    spent: timedelta = timezone.now() - (run.started_at or run.created_at)
    seconds = max(0.0, spent.total_seconds())
    pace = run.finished / seconds if seconds else 0
    return Progress(
        finished=run.finished,
        requested=run.requested,
        seconds=seconds,
        left=(run.requested - run.finished) / pace if pace else None,
        stopping=run.state == RunState.STOPPING,
        trouble=run.last_error,
    )


def _tabs(counts: CaseCounts) -> tuple[Tab, ...]:
    tabs = [Tab("", "All", counts.cases)]
    order = sorted(counts.by_verdict, key=lambda part: VERDICT_ORDER[part.verdict])
    return (*tabs, *(Tab(part.verdict.value, VERDICTS[part.verdict].label, part.count) for part in order))


def _first(lines: QuerySet[CaseResult], verdict: CaseVerdict, count: int) -> tuple[CaseLine, ...]:
    if not count:
        return ()
    return tuple(
        case_line(row) for row in lines.filter(verdict=verdict).order_by("position", "id")[:PANEL_ROWS]
    )


def _table(lines: QuerySet[CaseResult], wanted: CaseFilter, sort: str) -> Page[CaseLine]:
    if wanted.verdict in VERDICT_ORDER:
        lines = lines.filter(verdict=wanted.verdict)
    for word in wanted.search.casefold().split()[:8]:
        lines = lines.filter(search__contains=word)
    order = ["position", "id"]
    if sort == "verdict" and not wanted.verdict:
        whens = [When(verdict=verdict.value, then=Value(rank)) for verdict, rank in VERDICT_ORDER.items()]
        lines = lines.annotate(rank=Case(*whens, default=Value(5), output_field=IntegerField()))
        order = ["rank", *order]
    page = keyset(lines, order, before=wanted.before, after=wanted.after)
    return Page(tuple(case_line(row) for row in page.rows), page.before, page.after)


def case_line(row: CaseResult) -> CaseLine:
    """A stored case result as a list shows it; `row.case` must be loaded."""
    ended = _ended(row)
    return CaseLine(
        id=row.pk,
        key=row.case.key,
        verdict=row.verdict,
        strip=strip_of(row),
        passes=passes_of(row),
        settled_by=settled_words(row),
        reason=row.reason,
        seconds=row.mean_seconds,
        tokens=row.tokens / ended if row.tokens is not None and ended else None,
    )


def strip_of(row: CaseResult) -> str:
    """One letter an attempt; before the first one is in, a dot for each."""
    return row.strip or "." * row.requested


def _ended(row: CaseResult) -> int:
    """Attempts that ended, in whatever way."""
    silent = row.inconclusive + row.evaluator_failed + row.setup_failed + row.no_reply
    return row.passed + row.failed + row.undecided + silent


def passes_of(row: CaseResult) -> str:
    """ "4 of 5, 1 undecided"."""
    others = {
        "undecided": row.undecided,
        "inconclusive": row.inconclusive,
        "evaluator failed": row.evaluator_failed,
        "not reached": row.setup_failed + row.no_reply,
        "not yet": row.requested - _ended(row),
    }
    return pass_words(row.passed, row.requested, others)


def settled_words(row: CaseResult) -> str:
    """What settled the case: the metric or criterion by name, otherwise the route in words."""
    if row.settled_by in ("metric", "criteria") and row.decided_by:
        return row.decided_by
    return SETTLED_BY.get(row.settled_by, row.settled_by)


def _near_misses(grading: Grading) -> tuple[NearMiss, ...]:
    """The attempts not passed by the smallest margin of what settled them, one a case, at most a quarter."""
    judged = Result.objects.filter(grading=grading, passed=False, outcome__in=["VERDICT", "UNDECIDED"])
    margin = Case(
        When(settled_by="criteria", then=F("pass_score") - F("criteria_score")),
        When(settled_by="judge", then=(Value(8.0) - F("grade")) / Value(10.0)),
        default=F("threshold") - F("score"),
        output_field=FloatField(),
    )
    rows = (
        judged.annotate(margin=margin)
        .filter(margin__gt=0, margin__lte=LARGEST_NEAR_MISS)
        .order_by("margin", "id")
        .values("attempt__case_id", "attempt__case__key", "attempt__number", *_FIGURES)
    )
    chosen: dict[int, dict[str, Any]] = {}
    for row in rows[: 10 * NEAR_MISSES]:
        chosen.setdefault(row["attempt__case_id"], dict(row))
        if len(chosen) == NEAR_MISSES:
            break
    ids = dict(CaseResult.objects.filter(grading=grading, case__in=chosen).values_list("case_id", "id"))
    return tuple(
        NearMiss(ids[case], row["attempt__case__key"], row["attempt__number"], _figure(row))
        for case, row in chosen.items()
        if case in ids
    )


_FIGURES = ("settled_by", "score", "threshold", "grade", "criteria_score", "pass_score")


def _figure(row: dict[str, Any]) -> str:
    if row["settled_by"] == "judge":
        return f"grade {row['grade']}, 8 passes"
    if row["settled_by"] == "criteria":
        return f"criteria {row['criteria_score']:.2f}, {row['pass_score']:.2f} passes"
    return f"score {row['score']:.2f}, {row['threshold']:.2f} passes"
