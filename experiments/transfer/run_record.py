"""The record of a stored run: every figure is the stored one that its pages show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from experiments.evaluation.results import AttemptResult, EvalCaseResults
from experiments.mapping import case_of, failure_of, stored_results
from experiments.models import Attempt, AttemptState, CaseResult, Grading, Run
from experiments.selectors.figures import report_of
from experiments.wire.record import NamedVersion, Record, RecordCase, RunFacts, record_case

CHUNK = 200
"""Cases whose attempts are in memory together, before they become lines of the document."""


def record_of(run: Run) -> Record:
    """The run under its current grading. A case none of whose attempts has ended yet is not in it: it has no
    verdict. An attempt that was retried counts once, by its newest take that is done."""
    grading = Grading.objects.select_related("rubric_version__rubric").get(run=run, is_current=True)
    return Record(
        experiment=run.experiment.name,
        run=_facts(run, grading),
        report=report_of(run, grading),
        cases=tuple(_cases(run, grading)),
    )


def _facts(run: Run, grading: Grading) -> RunFacts:
    policy, rubric = run.policy_version, grading.rubric_version
    return RunFacts(
        id=run.pk,
        number=run.number,
        policy=NamedVersion(name=policy.policy.name, version=policy.number) if policy else None,
        rubric=NamedVersion(name=rubric.rubric.name, version=rubric.number) if rubric else None,
        target=NamedVersion(name=run.target_name, version=run.target_version or None),
        lanes=run.lanes,
        repeats=run.repeats,
        started=run.started_at,
        finished=run.finished_at,
    )


def _cases(run: Run, grading: Grading) -> Iterator[RecordCase]:
    rows = CaseResult.objects.filter(grading=grading).exclude(verdict="").select_related("graded_version")
    ordered = list(rows.order_by("position", "id"))
    for start in range(0, len(ordered), CHUNK):
        part = ordered[start : start + CHUNK]
        attempts = _attempts(run, grading, [row.case_id for row in part])
        for row in part:
            yield _case(row, attempts[row.case_id])


def _case(row: CaseResult, attempts: list[tuple[Attempt, AttemptResult]]) -> RecordCase:
    results = EvalCaseResults(case_of(row.graded_version), tuple(result for _, result in attempts))
    tokens = {attempt.number: attempt for attempt, _ in attempts}
    record = record_case(results)
    # Tokens stand on the attempt's own row, so that no evidence has to be read for a record.
    with_tokens = tuple(
        line.model_copy(
            update={
                "prompt_tokens": tokens[line.number].prompt_tokens,
                "completion_tokens": tokens[line.number].completion_tokens,
            }
        )
        for line in record.attempts
    )
    return record.model_copy(update={"fingerprint": row.graded_version.fingerprint, "attempts": with_tokens})


def _attempts(
    run: Run, grading: Grading, case_ids: list[int]
) -> dict[int, list[tuple[Attempt, AttemptResult]]]:
    attempts = list(
        Attempt.objects.filter(run=run, case_id__in=case_ids, state=AttemptState.DONE, counts=True)
    )
    results = stored_results(grading.pk, [attempt.pk for attempt in attempts])
    found: dict[int, list[tuple[Attempt, AttemptResult]]] = defaultdict(list)
    for attempt in attempts:
        result = AttemptResult(
            number=attempt.number,
            result=results.get(attempt.pk),
            failure=failure_of(attempt),
            seconds=attempt.seconds,
        )
        found[attempt.case_id].append((attempt, result))
    return found
