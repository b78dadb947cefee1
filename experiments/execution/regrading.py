"""A new grading of stored evidence after source roles were decided.

What a role can change is graded anew, all else is copied with a link to where it came from. The system is not
asked again, and neither is the judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from experiments.evaluation import AttemptCounts, EvalCase, EvaluationResult, count_attempt
from experiments.evaluation.roles import regrade_roles
from experiments.execution import sql
from experiments.execution.caseresults import recompute
from experiments.execution.dispatch import COLLECT, send_job
from experiments.execution.finishing import case_loader, store_interval
from experiments.execution.recording import VERDICT_COLUMNS, move_figures
from experiments.execution.setting import services_for
from experiments.mapping import (
    evidence_of,
    result_values,
    ruler_of,
    stored_results,
    verdict_values,
)
from experiments.models import (
    Attempt,
    AttemptEvidence,
    AttemptState,
    CaseResult,
    CaseVersion,
    CriterionVerdict,
    Grading,
    Result,
    Run,
    User,
)


class CannotRegrade(Exception):
    """The run has no closed grading to start from, its evidence was purged, or what its grading kept is not
    enough; the message says which."""


@dataclass(frozen=True)
class Regraded:
    """One attempt under the roles as decided: what it was, and what it is."""

    attempt: Attempt
    case: EvalCase
    before: EvaluationResult
    after: EvaluationResult
    counts_before: AttemptCounts
    counts_after: AttemptCounts

    @property
    def flips(self) -> bool:
        """Whether the attempt's outcome or pass changes."""
        return (self.before.outcome, self.before.passed) != (self.after.outcome, self.after.passed)


def current_grading(run_id: int) -> Grading:
    """The run's current grading, closed; with its rubric, suite and corpus versions loaded."""
    grading = (
        Grading.objects.select_related("run", "suite_version", "rubric_version__rubric", "corpus_version")
        .filter(run_id=run_id, is_current=True)
        .first()
    )
    if grading is None or grading.state != Grading.State.CLOSED:
        raise CannotRegrade(f"run {run_id} is not finished: its grading still fills")
    return grading


def regrade_cases(grading: Grading, cases: Mapping[int, EvalCase]) -> list[Regraded]:
    """Every graded attempt of these cases (by id of `Case`) under `cases` as given; nothing is written.

    The same function previews a decision and applies it, so that a preview is never another figure.
    """
    ruler = ruler_of(grading)
    ctx = services_for(grading.corpus_version)
    attempts = list(
        Attempt.objects.filter(
            run_id=grading.run_id, case_id__in=cases, state=AttemptState.DONE, counts=True, failure_cause=""
        ).order_by("case_id", "number")
    )
    ids = [attempt.pk for attempt in attempts]
    documents = dict(AttemptEvidence.objects.filter(pk__in=ids).values_list("pk", "document"))
    old = stored_results(grading.pk, ids)
    old_cases = _graded_cases(grading.pk, list(cases))

    async def all_of_them() -> list[Regraded]:
        found = []
        for attempt in attempts:
            evidence, before = evidence_of(documents.get(attempt.pk)), old[attempt.pk]
            if evidence is None:
                raise CannotRegrade(f"the evidence of run {grading.run_id} was purged")
            case = cases[attempt.case_id]
            try:
                after = await regrade_roles(case, evidence, before, ruler, ctx)
            except ValueError as cannot:
                raise CannotRegrade(f"run {grading.run_id}: {cannot}") from None
            seconds, deadline = attempt.seconds, grading.run.attempt_seconds
            found.append(
                Regraded(
                    attempt,
                    case,
                    before,
                    after,
                    count_attempt(
                        old_cases[attempt.case_id], evidence, before, None, seconds=seconds, deadline=deadline
                    ),
                    count_attempt(case, evidence, after, None, seconds=seconds, deadline=deadline),
                )
            )
        return found

    return asyncio.run(all_of_them())


def _graded_cases(grading_id: int, case_ids: Sequence[int]) -> dict[int, EvalCase]:
    load = case_loader()
    versions = CaseResult.objects.filter(grading_id=grading_id, case_id__in=case_ids)
    return {
        case_id: load(version) for case_id, version in versions.values_list("case_id", "graded_version_id")
    }


def grade_by_versions(run_id: int, versions: Mapping[int, CaseVersion], author: User | None) -> Grading:
    """The run's new current grading, which grades each case of `versions` (by case id) by that version.

    One transaction: the grading is complete or not there. The former grading stays as it was, only no longer
    the current one. Raises `CannotRegrade`.
    """
    load = case_loader()
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True).get(pk=run_id)
        parent = current_grading(run_id)
        touched = set(
            CaseResult.objects.filter(grading=parent, case_id__in=versions).values_list("case_id", flat=True)
        )
        cases = {case_id: load(versions[case_id].pk) for case_id in touched}
        regraded = regrade_cases(parent, cases)
        grading = _child_of(parent, author)
        _copy(parent.pk, grading.pk, sorted(touched))
        _write(grading.pk, regraded)
        before = _plan_touched(parent.pk, grading.pk, versions, touched)
        recompute(run_id, grading.pk, sorted(touched), load)
        moved = [(before[case_id], after) for case_id, after in _after(grading.pk, touched)]
        counts = AttemptCounts.sum(each.counts_after - each.counts_before for each in regraded)
        move_figures(grading.pk, counts, moved)
        store_interval(grading.pk)
        Grading.objects.filter(pk=grading.pk).update(state=Grading.State.CLOSED, closed_at=Now())
        Grading.objects.filter(pk=parent.pk).update(is_current=False)
        Grading.objects.filter(pk=grading.pk).update(is_current=True)
        send_job(COLLECT, grading.pk)
    grading.refresh_from_db()
    return grading


def _child_of(parent: Grading, author: User | None) -> Grading:
    last = Grading.objects.filter(run_id=parent.run_id).aggregate(last=Max("number"))["last"]
    figures = {column: getattr(parent, column) for column in VERDICT_COLUMNS.values()}
    return Grading.objects.create(
        run_id=parent.run_id,
        number=last + 1,
        parent=parent,
        is_current=False,
        suite_version=parent.suite_version,
        rubric_version=parent.rubric_version,
        corpus_version=parent.corpus_version,
        judge_config=parent.judge_config,
        judge_model=parent.judge_model,
        settle_mode=parent.settle_mode,
        metric_versions=parent.metric_versions,
        counted=parent.counted,
        totals=parent.totals,
        created_by=author,
        **figures,
    )


# -- copying ------------------------------------------------------------------------------------------------

_RESULT_COLUMNS = (
    "attempt_id, outcome, passed, score, grade, threshold, reason, evaluator, evaluator_version, settled_by,"
    " criteria_score, pass_score, judge_use, expectation"
)
_VERDICT_COLUMNS = "position, kind, status, detail, weight, gate, data"
_CASE_COLUMNS = (
    "case_id, case_version_id, graded_version_id, position, verdict, requested, passed, failed, undecided,"
    " inconclusive, evaluator_failed, setup_failed, no_reply, strip, settled_by, decided_by, reason,"
    " mean_seconds, tokens, tags, search"
)
_CRITERION_COLUMNS = "position, kind, passes, fails, errors, not_applicable"


def _of(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{column.strip()}" for column in columns.split(","))


def _copy(parent_id: int, grading_id: int, touched: Sequence[int]) -> None:
    """Everything but the touched cases, by INSERT ... SELECT; each copied result names its original."""
    kept = f"NOT IN ({sql.marks(touched)})" if touched else "IS NOT NULL"
    sql.execute(
        f"""INSERT INTO experiments_result (grading_id, copied_from_id, {_RESULT_COLUMNS})
        SELECT %s, r.id, {_of("r", _RESULT_COLUMNS)} FROM experiments_result r
        JOIN experiments_attempt a ON a.id = r.attempt_id WHERE r.grading_id = %s AND a.case_id {kept}""",
        [grading_id, parent_id, *touched],
    )
    sql.execute(
        f"""INSERT INTO experiments_criterionverdict (result_id, {_VERDICT_COLUMNS})
        SELECT n.id, {_of("v", _VERDICT_COLUMNS)} FROM experiments_result n
        JOIN experiments_criterionverdict v ON v.result_id = n.copied_from_id WHERE n.grading_id = %s""",
        [grading_id],
    )
    sql.execute(
        f"""INSERT INTO experiments_caseresult (grading_id, {_CASE_COLUMNS})
        SELECT %s, {_of("c", _CASE_COLUMNS)} FROM experiments_caseresult c
        WHERE c.grading_id = %s AND c.case_id {kept} ORDER BY c.position""",
        [grading_id, parent_id, *touched],
    )
    sql.execute(
        f"""INSERT INTO experiments_casecriterion (case_result_id, {_CRITERION_COLUMNS})
        SELECT n.id, {_of("k", _CRITERION_COLUMNS)} FROM experiments_caseresult n
        JOIN experiments_caseresult o ON o.grading_id = %s AND o.case_id = n.case_id
        JOIN experiments_casecriterion k ON k.case_result_id = o.id WHERE n.grading_id = %s""",
        [parent_id, grading_id],
    )


def _write(grading_id: int, regraded: Sequence[Regraded]) -> None:
    """The results of the touched cases' attempts; those not reached have none, as before."""
    keys = sql.insert(
        Result,
        [
            {"grading_id": grading_id, "attempt_id": each.attempt.pk, **result_values(each.after)}
            for each in regraded
        ],
    )
    sql.insert(
        CriterionVerdict,
        [
            {"result_id": key, **values}
            for key, each in zip(keys, regraded, strict=True)
            for values in verdict_values(each.after)
        ],
    )


def _plan_touched(
    parent_id: int, grading_id: int, versions: Mapping[int, CaseVersion], touched: set[int]
) -> dict[int, str]:
    """Empty rows for the touched cases, to be computed from their attempts; the verdicts they had, by
    case."""
    before = {}
    rows = []
    for row in CaseResult.objects.filter(grading_id=parent_id, case_id__in=touched):
        before[row.case_id] = row.verdict
        rows.append(
            CaseResult(
                grading_id=grading_id,
                case_id=row.case_id,
                case_version_id=row.case_version_id,
                graded_version=versions[row.case_id],
                position=row.position,
                requested=row.requested,
                tags=row.tags,
            )
        )
    CaseResult.objects.bulk_create(rows)
    return before


def _after(grading_id: int, touched: set[int]) -> list[tuple[int, str]]:
    rows = CaseResult.objects.filter(grading_id=grading_id, case_id__in=touched)
    return list(rows.values_list("case_id", "verdict"))
