"""The end of a run: nothing is planned or in flight any more, every stored figure is checked, exactly
once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from django.db import transaction
from django.db.models.functions import Now

from experiments.evaluation import (
    AttemptCounts,
    EvalCase,
    count_attempt,
    rate_interval,
)
from experiments.execution import sql
from experiments.execution.attempts import anything_open
from experiments.execution.caseresults import recompute
from experiments.execution.dispatch import COLLECT, send_job
from experiments.execution.recording import VERDICT_COLUMNS, move_figures
from experiments.mapping import case_of, evidence_of, failure_of, stored_results
from experiments.models import (
    Attempt,
    AttemptEvidence,
    AttemptState,
    CaseResult,
    CaseVersion,
    Grading,
    Run,
    RunState,
    record_activity,
)

log = logging.getLogger("experiments.execution")

CHUNK = 200
"""Cases verified in one statement: their attempts are in memory together."""


def finish_run(run_id: int) -> bool:
    """End the run if nothing of it is left to do: FINISHED, or STOPPED when attempts were cancelled.

    Verifies the case results and figures of its open grading against the attempts, stores the interval of the
    rate, closes the grading of a FINISHED run (a STOPPED one goes on filling it after Resume) and writes the
    activity line. True for the one caller that ended it; safe at any time and any number of times.
    """
    if anything_open(run_id) and not _stopping(run_id):
        return False
    with transaction.atomic():
        run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
        if run.state == RunState.STOPPING:
            # What a group gave back at the very moment of the stop.
            Attempt.objects.filter(run=run, state=AttemptState.PENDING).update(state=AttemptState.CANCELLED)
        if run.state not in (RunState.RUNNING, RunState.STOPPING) or anything_open(run_id):
            return False
        cancelled = Attempt.objects.filter(run=run, state=AttemptState.CANCELLED).exists()
        state = RunState.STOPPED if cancelled else RunState.FINISHED
        for grading in Grading.objects.filter(run=run, state=Grading.State.OPEN):
            verify(grading)
            store_interval(grading.pk)
            if state == RunState.FINISHED:
                Grading.objects.filter(pk=grading.pk).update(state=Grading.State.CLOSED, closed_at=Now())
                send_job(COLLECT, grading.pk)
        Run.objects.filter(pk=run_id).update(state=state, finished_at=Now(), last_error="")
        record_activity(None, state.value, run, after={"finished": run.finished, "requested": run.requested})
    return True


def _stopping(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id, state=RunState.STOPPING).exists()


def case_loader() -> Callable[[int], EvalCase]:
    """The cases of case versions by id, each read once by this loader."""

    @lru_cache(maxsize=4096)
    def load(version_id: int) -> EvalCase:
        return case_of(CaseVersion.objects.only("content").get(pk=version_id))

    return load


def store_interval(grading_id: int) -> None:
    """Store the 95% interval of a grading's pass rate, a bootstrap over its cases."""
    cases = CaseResult.objects.filter(grading_id=grading_id).values_list("passed", "failed", "undecided")
    interval = rate_interval((passed, passed + failed + undecided) for passed, failed, undecided in cases)
    Grading.objects.filter(pk=grading_id).update(
        rate_low=interval.low if interval else None, rate_high=interval.high if interval else None
    )


# -- verifying ----------------------------------------------------------------------------------------------


def verify(grading: Grading) -> bool:
    """Recompute every case result and compare the grading's figures with the attempts, inside the caller's
    transaction. False when something was wrong; it is right now, and the log says what it was."""
    case_ids = list(
        CaseResult.objects.filter(grading=grading).order_by("id").values_list("case_id", flat=True)
    )
    load, verdicts = case_loader(), []
    for start in range(0, len(case_ids), CHUNK):
        verdicts += recompute(grading.run_id, grading.pk, case_ids[start : start + CHUNK], load)
    wrong = [pair for pair in verdicts if pair[0] != pair[1]]
    if wrong:
        log.error("run %s: %d case results did not match their attempts", grading.run_id, len(wrong))
    return _verify_figures(grading, Counter(after for _, after in verdicts)) and not wrong


def _verify_figures(grading: Grading, verdicts: Counter[str]) -> bool:
    grading.refresh_from_db()
    counted = {column: verdicts[verdict] for verdict, column in VERDICT_COLUMNS.items()}
    kept = AttemptCounts.model_validate(grading.totals)
    right_cases = all(getattr(grading, column) == count for column, count in counted.items())
    done = Attempt.objects.filter(run_id=grading.run_id, state=AttemptState.DONE, counts=True).count()
    right_counts = _marks(grading) == _marks_of(kept) and kept.total == done
    if not right_cases:
        Grading.objects.filter(pk=grading.pk).update(**counted)
    if not right_counts:
        move_figures(grading.pk, recount(grading) - kept, [])
    if right_cases and right_counts:
        return True
    log.error("run %s: the figures of grading %s did not match its attempts", grading.run_id, grading.pk)
    return False


def _marks_of(counts: AttemptCounts) -> dict[str, int]:
    names = ("passed", "failed", "undecided", "inconclusive", "evaluator_failed", "setup_failed", "no_reply")
    return {name: getattr(counts, name) for name in names}


def _marks(grading: Grading) -> dict[str, int]:
    """The same counts from the case results, which were just recomputed."""
    names = list(_marks_of(AttemptCounts()))
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
    (row,) = sql.fetch(f"SELECT {sums} FROM experiments_caseresult WHERE grading_id = %s", [grading.pk])
    return {name: int(value) for name, value in zip(names, row, strict=True)}


def recount(grading: Grading) -> AttemptCounts:
    """The grading's totals from its attempts' stored evidence and results. Slow: every document is read."""
    load, total = case_loader(), AttemptCounts()
    graded = dict(CaseResult.objects.filter(grading=grading).values_list("case_id", "graded_version_id"))
    seconds = Run.objects.values_list("attempt_seconds", flat=True).get(pk=grading.run_id)
    attempts = Attempt.objects.filter(run_id=grading.run_id, state=AttemptState.DONE, counts=True).order_by(
        "id"
    )
    for start in range(0, attempts.count(), CHUNK):
        part = list(attempts[start : start + CHUNK])
        ids = [attempt.pk for attempt in part]
        documents = dict(AttemptEvidence.objects.filter(pk__in=ids).values_list("pk", "document"))
        results = stored_results(grading.pk, ids)
        for attempt in part:
            total += count_attempt(
                load(graded[attempt.case_id]),
                evidence_of(documents.get(attempt.pk)),
                results.get(attempt.pk),
                failure_of(attempt),
                seconds=attempt.seconds,
                deadline=seconds,
            )
    return total
