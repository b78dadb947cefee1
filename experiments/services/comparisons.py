"""Comparing two runs: asked for once, computed by a quick task, stored, and read by every page after that."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now

from experiments.evaluation.comparability import RunFacts, comparability, pair
from experiments.evaluation.comparing import (
    CaseChange,
    Change,
    CriterionCounts,
    badness,
    changes,
    moved_criterion,
    summarize,
)
from experiments.evaluation.text import printable
from experiments.execution import dispatch
from experiments.execution.regrading import current_grading, grade_by_versions
from experiments.mapping import aggregate_of, run_facts
from experiments.models import (
    CaseCriterion,
    CaseResult,
    ComparedCase,
    Comparison,
    Grading,
    JobState,
    Permission,
    Run,
    User,
    record_activity,
)
from experiments.services.edits import require
from experiments.services.runs import WrongState

log = logging.getLogger("experiments.services")


def ask_comparison(user: User | None, a: Run, b: Run) -> Comparison:
    """The comparison of the runs' current gradings, `a` the baseline; queued when it is not there yet.

    Safe to ask any number of times. Raises `WrongState` when the two are one run, or one is not finished.
    """
    require(user, Permission.READ)
    if a.pk == b.pk:
        raise WrongState("a run is compared with another run, not with itself")
    sides = []
    for run in (a, b):
        grading = Grading.objects.filter(run=run, is_current=True, state=Grading.State.CLOSED).first()
        if grading is None:
            raise WrongState(
                f"run {run.number} is {run.get_state_display()}; only finished runs are compared"
            )
        sides.append(grading)
    with transaction.atomic():
        comparison, made = Comparison.objects.get_or_create(
            a=sides[0], b=sides[1], defaults={"created_by": user}
        )
        if made:
            dispatch.send_job(dispatch.COMPARE, comparison.pk)
    return comparison


def run_comparison(comparison_id: int) -> bool:
    """Compute a waiting comparison, whole or not at all. False when another did or does, or when it failed;
    the row then says why."""
    try:
        return _run(comparison_id)
    except Exception as broken:
        log.exception("comparison %s", comparison_id)
        reason = printable(f"{type(broken).__name__}: {broken}", 2000)
        failed = Comparison.objects.filter(pk=comparison_id, state=JobState.WAITING)
        failed.update(state=JobState.FAILED, error=reason, done_at=Now())
        return False


def _run(comparison_id: int) -> bool:
    with transaction.atomic():
        waiting = Comparison.objects.filter(pk=comparison_id, state=JobState.WAITING)
        comparison = waiting.select_for_update(skip_locked=True).first()
        if comparison is None:
            return False
        a, b = _read(comparison.a_id), _read(comparison.b_id)
        pairing = pair(a.facts, b.facts)
        gate = comparability(a.facts, b.facts, pairing)
        found = list(
            changes(
                pairing,
                (aggregate_of(row, key) for key, row in a.rows.items()),
                (aggregate_of(row, key) for key, row in b.rows.items()),
            )
        )
        ComparedCase.objects.bulk_create(_compared(comparison, found, a, b), batch_size=500)
        Comparison.objects.filter(pk=comparison_id).update(
            state=JobState.DONE, document=summarize(gate, found).model_dump(mode="json"), done_at=Now()
        )
    return True


@dataclass(frozen=True)
class _Side:
    """One grading as a comparison reads it; rows and criteria by case key."""

    facts: RunFacts
    rows: dict[str, CaseResult]
    criteria: dict[str, list[CriterionCounts]]


def _read(grading_id: int) -> _Side:
    grading = Grading.objects.select_related(
        "run__policy_version__policy", "suite_version", "rubric_version__rubric", "corpus_version__corpus"
    ).get(pk=grading_id)
    results = CaseResult.objects.filter(grading=grading).select_related("case", "graded_version")
    rows = {row.case.key: row for row in results.order_by("position")}
    facts = run_facts(grading.run, grading, (row.graded_version for row in rows.values()))
    return _Side(facts, rows, _criteria(grading_id))


def _criteria(grading_id: int) -> dict[str, list[CriterionCounts]]:
    """How each criterion went over the attempts of each case, by case key."""
    counts: dict[str, list[CriterionCounts]] = defaultdict(list)
    rows = CaseCriterion.objects.filter(case_result__grading=grading_id).order_by("position")
    fields = ("case_result__case__key", "kind", "position", "passes", "fails")
    for key, kind, position, passes, fails in rows.values_list(*fields):
        counts[key].append(CriterionCounts(kind, position, passes, fails))
    return counts


def _compared(comparison: Comparison, found: list[CaseChange], a: _Side, b: _Side) -> Iterator[ComparedCase]:
    def urgency(change: CaseChange) -> tuple[tuple[int, int, float], int]:
        row = a.rows.get(change.case) or b.rows[change.case]
        return badness(change), row.position

    for position, change in enumerate(sorted(found, key=urgency)):
        here, there = a.rows.get(change.case), b.rows.get(change.case)
        yield ComparedCase(
            comparison=comparison,
            position=position,
            key=change.case,
            change=change.change.value,
            a=here,
            b=there,
            a_verdict=change.a.verdict.value if change.a else "",
            b_verdict=change.b.verdict.value if change.b else "",
            flipped=_flipped(change, a, b),
        )


def _flipped(change: CaseChange, a: _Side, b: _Side) -> str:
    """The criterion that moved most the way of the change; without one, what decided the worse side."""
    if change.change not in (Change.worse, Change.better):
        return ""
    moved = moved_criterion(change.change, a.criteria[change.case], b.criteria[change.case])
    if moved is not None:
        return moved.kind
    row = (b if change.change is Change.worse else a).rows.get(change.case)
    return row.decided_by if row else ""


# -- mending ------------------------------------------------------------------------------------------------


def grade_like(user: User, run: Run, other: Run) -> Grading:
    """Grade `run` anew by the expectations of `other`'s current grading, for the cases both asked alike.

    Mends the gate's row "expectations" where only source roles differ; the judge is not asked. Raises
    `ValueError` when more than roles differs, and `CannotRegrade`.
    """
    require(user, Permission.OPERATE)
    before = current_grading(run.pk)
    mine = CaseResult.objects.filter(grading=before).select_related("graded_version")
    theirs = {
        row.case_id: row.graded_version
        for row in CaseResult.objects.filter(grading__run=other, grading__is_current=True).select_related(
            "graded_version"
        )
    }
    versions = {
        row.case_id: theirs[row.case_id]
        for row in mine
        if row.case_id in theirs
        and theirs[row.case_id].fingerprint == row.graded_version.fingerprint
        and theirs[row.case_id].graded_fingerprint != row.graded_version.graded_fingerprint
    }
    with transaction.atomic():
        after = grade_by_versions(run.pk, versions, user)
        record_activity(
            user,
            "graded anew",
            run,
            before={"grading": before.number},
            after={"grading": after.number, "like run": other.number, "cases": len(versions)},
        )
    return after
