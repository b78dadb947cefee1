"""Writing finished attempts: one transaction for a batch, and nothing for an attempt that is no longer ours.

Locks are taken in one order everywhere: attempts, case results by id, the grading, the run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from experiments.evaluation import AttemptCounts, CaseVerdict, count_attempt
from experiments.evaluation.text import printable, to_json
from experiments.execution import sql
from experiments.execution.caseresults import CaseOf, recompute
from experiments.mapping import evidence_document, result_values, verdict_values
from experiments.models import CriterionVerdict, Result
from experiments.runner.ports import FinishedAttempt

VERDICT_COLUMNS = {verdict.value: f"{verdict.value.lower()}_cases" for verdict in CaseVerdict}
"""The column of `Grading` that counts the cases with each verdict."""
MOST_TOKENS = 2**31 - 1
"""What the columns hold; the evidence keeps the number itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where results go: the run, its open grading, and the deadline that latency is counted against."""

    run_id: int
    grading_id: int
    attempt_seconds: float


def record(place: Place, batch: Sequence[FinishedAttempt], case_of: CaseOf) -> int:
    """Write a batch; how many of it were still this group's to finish. The others leave no trace at all."""
    with transaction.atomic():
        written = _finish(batch)
        mine = [finished for finished in batch if finished.planned.id in written]
        if not mine:
            return 0
        _write_evidence(mine)
        _write_results(place.grading_id, mine)
        verdicts = recompute(place.run_id, place.grading_id, written.values(), case_of)
        move_figures(place.grading_id, counts_of(mine, place.attempt_seconds), verdicts)
        sql.execute(
            "UPDATE experiments_run"
            " SET finished = finished + %s, busy_seconds = busy_seconds + %s WHERE id = %s",
            [len(mine), math.fsum(finished.seconds for finished in mine), place.run_id],
        )
    return len(mine)


_FINISHED = (
    ("id", "bigint"),
    ("tries", "integer"),
    ("seconds", "double precision"),
    ("prompt_tokens", "integer"),
    ("completion_tokens", "integer"),
    ("cause", "text"),
    ("detail", "text"),
)


def _finish(batch: Sequence[FinishedAttempt]) -> dict[int, int]:
    """RUNNING -> DONE where `tries` is still the same: the case of each attempt that changed, by its id."""
    query, params = sql.source(_FINISHED, [_finished(finished) for finished in batch])
    named, ids = sql.named("experiments_attempt.id", [finished.planned.id for finished in batch])
    found = sql.fetch(
        f"""
        WITH v(id, tries, seconds, prompt_tokens, completion_tokens, cause, detail) AS ({query})
        UPDATE experiments_attempt
        SET state = 'done', lease_until = NULL, finished_at = {sql.dialect().now}, seconds = v.seconds,
            prompt_tokens = v.prompt_tokens, completion_tokens = v.completion_tokens,
            failure_cause = v.cause, failure_detail = v.detail
        FROM v
        WHERE experiments_attempt.id = v.id AND experiments_attempt.tries = v.tries
          AND {named} AND {sql.BY_KEY} = 'running'
        RETURNING experiments_attempt.id, case_id
        """,
        [*params, *ids],
    )
    return {int(attempt_id): int(case_id) for attempt_id, case_id in found}


def _finished(finished: FinishedAttempt) -> tuple[object, ...]:
    planned, evidence, failure = finished.planned, finished.evidence, finished.failure
    return (
        planned.id,
        planned.tries,
        max(finished.seconds, 0.0),
        _tokens(evidence.prompt_tokens if evidence else None),
        _tokens(evidence.completion_tokens if evidence else None),
        failure.cause.value if failure else "",
        printable(failure.detail) if failure else "",
    )


def _tokens(count: int | None) -> int | None:
    return None if count is None else min(count, MOST_TOKENS)


def _write_evidence(batch: Sequence[FinishedAttempt]) -> None:
    # The document is text already, which `sql.insert` would turn into a JSON string.
    query, params = sql.source(
        (("attempt_id", "bigint"), ("document", "text")),
        [
            (finished.planned.id, evidence_document(finished.evidence))
            for finished in batch
            if finished.evidence is not None
        ],
    )
    if params:
        sql.execute(
            f"WITH v(attempt_id, document) AS ({query}) INSERT INTO experiments_attemptevidence"
            " (attempt_id, document) SELECT attempt_id, document FROM v",
            params,
        )


def _write_results(grading_id: int, batch: Sequence[FinishedAttempt]) -> None:
    graded = [(finished.planned.id, finished.result) for finished in batch if finished.result is not None]
    keys = sql.insert(
        Result,
        [
            {"grading_id": grading_id, "attempt_id": attempt_id, **result_values(result)}
            for attempt_id, result in graded
        ],
    )
    sql.insert(
        CriterionVerdict,
        [
            {"result_id": key, **values}
            for key, (_, result) in zip(keys, graded, strict=True)
            for values in verdict_values(result)
        ],
    )


def counts_of(batch: Sequence[FinishedAttempt], attempt_seconds: float) -> AttemptCounts:
    """The batch's share of the grading's totals."""
    return AttemptCounts.sum(
        count_attempt(
            finished.planned.case,
            finished.evidence,
            finished.result,
            finished.failure,
            seconds=finished.seconds,
            deadline=attempt_seconds,
        )
        for finished in batch
    )


def move_figures(grading_id: int, counts: AttemptCounts, verdicts: Sequence[tuple[str, str]]) -> None:
    """Add `counts` to a grading's totals and move its case verdict counts from each pair's first to its
    second, inside the caller's transaction."""
    ((totals,),) = sql.fetch(
        "SELECT g.totals FROM experiments_grading g WHERE g.id = %s"
        f" {sql.dialect().no_key_update.format('g')}",
        [grading_id],
    )
    moved = AttemptCounts.model_validate_json(totals) + counts
    delta = Counter(after for _, after in verdicts)
    delta.subtract(before for before, _ in verdicts)
    sets, params = [], []
    for verdict, column in VERDICT_COLUMNS.items():
        if delta[verdict]:
            sets.append(f"{column} = {column} + %s, ")
            params.append(delta[verdict])
    sql.execute(
        f"UPDATE experiments_grading SET {''.join(sets)}counted = %s, totals = %s WHERE id = %s",
        [*params, moved.judged, to_json(moved.model_dump()), grading_id],
    )
