"""Decisions on their way into gradings: what waits, the runs to choose from, what an application did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Sum

from experiments.models import (
    Application,
    AppliedDecision,
    AppliedGrading,
    CaseResult,
    Grading,
    JobState,
    ReviewItem,
    RoleDecision,
    Run,
    RunState,
)
from experiments.models.reviews import TO_APPLY

OLDER_RUNS = 10
RECENT = 3
SHOWN_CASES = 200


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that can be graded anew; `chosen` by default when it is the latest of its experiment."""

    id: int
    experiment: str
    finished: datetime | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class ApplicationLine:
    """An application in a line; `changed` verdicts over its runs, None while it is on its way."""

    id: int
    state: str
    by: str
    at: datetime
    decisions: int
    changed: int | None


@dataclass(frozen=True, slots=True)
class ApplyPanel:
    """What stands above the queue: decisions that wait, runs to choose from, and the last applications."""

    count: int
    runs: tuple[RunChoice, ...]
    waiting: ApplicationLine | None
    recent: tuple[ApplicationLine, ...]

    @property
    def latest(self) -> tuple[RunChoice, ...]:
        return tuple(run for run in self.runs if run.chosen)

    @property
    def older(self) -> tuple[RunChoice, ...]:
        return tuple(run for run in self.runs if not run.chosen)


def cases_to_apply() -> set[int]:
    """The cases whose standing decisions are not in their newest version."""
    return set(ReviewItem.objects.filter(TO_APPLY).values_list("case_id", flat=True))


def apply_panel(count: int, case_ids: Collection[int], latest: Sequence[Run]) -> ApplyPanel:
    """In two queries. `latest` are the runs graded anew by default, with their experiments loaded."""
    recent = tuple(_lines())
    runs = [_choice(run, chosen=True) for run in reversed(latest)]
    if case_ids:
        older = Run.objects.filter(
            state=RunState.FINISHED,
            pk__in=CaseResult.objects.filter(
                case__in=case_ids, grading__is_current=True, grading__state=Grading.State.CLOSED
            ).values("grading__run"),
        ).exclude(pk__in=[run.pk for run in latest])
        older = older.select_related("experiment").order_by("-pk")[:OLDER_RUNS]
        runs += [_choice(run, chosen=False) for run in older]
    waiting = next((line for line in recent if line.state == JobState.WAITING), None)
    return ApplyPanel(count, tuple(runs), waiting, recent)


def _choice(run: Run, *, chosen: bool) -> RunChoice:
    return RunChoice(run.pk, run.experiment.name, run.finished_at, chosen)


def _lines() -> list[ApplicationLine]:
    rows = (
        Application.objects.select_related("created_by")
        .annotate(n=Count("decisions", distinct=True))
        .order_by("-id")[:RECENT]
    )
    changed = dict(
        AppliedGrading.objects.filter(application__in=[row.pk for row in rows])
        .values("application")
        .annotate(n=Sum("changed"))
        .values_list("application", "n")
    )
    return [
        ApplicationLine(
            id=row.pk,
            state=row.state,
            by=row.created_by.get_username(),
            at=row.done_at or row.created_at,
            decisions=row.n,
            changed=None if row.state == JobState.WAITING else changed.get(row.pk) or 0,
        )
        for row in rows
    ]


# -- one application -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AppliedRole:
    """What the case reflected before and reflects now, as words; "" for no decision."""

    item_id: int
    unit_id: str
    case_key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """`link` is the case's result in the run as it stands now."""

    key: str
    link: int | None
    before: str
    before_strip: str
    after: str
    after_strip: str


@dataclass(frozen=True, slots=True)
class AppliedRun:
    """`before` and `after` number the gradings; None when the run could not be graded anew."""

    run_id: int
    experiment: str
    before: int | None
    after: int | None
    changed: int
    cases: tuple[ChangedCase, ...]


@dataclass(frozen=True, slots=True)
class ApplicationPage:
    id: int
    state: str
    error: str
    by: str
    asked: datetime
    done: datetime | None
    roles: tuple[AppliedRole, ...]
    runs: tuple[AppliedRun, ...]

    @property
    def is_waiting(self) -> bool:
        return self.state == JobState.WAITING

    @property
    def changed(self) -> int:
        return sum(run.changed for run in self.runs)


def application_page(application_id: int) -> ApplicationPage:
    """In five queries. Raises `Application.DoesNotExist`."""
    row = Application.objects.select_related("created_by").get(pk=application_id)
    decided = list(row.decisions.select_related("item__case", "before", "after").order_by("pk"))
    gradings = list(row.gradings.select_related("run__experiment", "before", "after").order_by("run"))
    cases = {decision.item.case_id for decision in decided}
    return ApplicationPage(
        id=row.pk,
        state=row.state,
        error=row.error,
        by=row.created_by.get_username(),
        asked=row.created_at,
        done=row.done_at,
        roles=tuple(_role(decision) for decision in decided),
        runs=tuple(_runs(gradings, cases)),
    )


def _role(decision: AppliedDecision) -> AppliedRole:
    def words(one: RoleDecision | None) -> str:
        return one.get_role_display() if one else ""

    item = decision.item
    return AppliedRole(item.pk, item.unit_id, item.case.key, words(decision.before), words(decision.after))


def _runs(gradings: Sequence[AppliedGrading], cases: Collection[int]) -> list[AppliedRun]:
    """Only a touched case can have changed, so no other is looked at."""
    ids = {key for each in gradings for key in (each.before_id, each.after_id) if key}
    rows = CaseResult.objects.filter(grading__in=ids, case__in=cases).select_related("case")
    results = {(row.grading_id, row.case_id): row for row in rows}
    current = CaseResult.objects.filter(
        grading__run__in=[each.run_id for each in gradings], grading__is_current=True, case__in=cases
    )
    links = {(run, case): key for run, case, key in current.values_list("grading__run_id", "case_id", "pk")}
    found = []
    for each in gradings:
        pairs = [
            (results.get((each.before_id or 0, case)), results.get((each.after_id or 0, case)))
            for case in cases
        ]
        changed = [
            _changed(before, after, links.get((each.run_id, before.case_id)))
            for before, after in pairs
            if before and after and (before.verdict, before.strip) != (after.verdict, after.strip)
        ]
        found.append(
            AppliedRun(
                run_id=each.run_id,
                experiment=each.run.experiment.name,
                before=each.before.number if each.before else None,
                after=each.after.number if each.after else None,
                changed=each.changed or 0,
                cases=tuple(sorted(changed, key=lambda case: case.key)[:SHOWN_CASES]),
            )
        )
    return found


def _changed(before: CaseResult, after: CaseResult, link: int | None) -> ChangedCase:
    return ChangedCase(before.case.key, link, before.verdict, before.strip, after.verdict, after.strip)


def case_links(pairs: Collection[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """The result of each (run, case key) as it stands now, in one query."""
    rows = CaseResult.objects.filter(
        grading__is_current=True,
        grading__run__in={run for run, _ in pairs},
        case__key__in={key for _, key in pairs},
    )
    return {(run, key): result for run, key, result in rows.values_list("grading__run_id", "case__key", "pk")}
