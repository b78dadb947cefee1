"""The record ``evalsite/record@1``: one run, or one offline grading, as JSON. Source: docs/formats.md.

Every figure is computed by the core; nothing here counts. Lone surrogates and NUL in texts are kept, as
``\\uXXXX`` escapes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import asked_fingerprint
from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.outcome import CriterionStatus, EvaluationOutcome, Failure
from experiments.evaluation.report import ExperimentReport
from experiments.evaluation.results import AttemptResult, EvalCaseResults
from experiments.evaluation.text import to_json

FORMAT: Literal["evalsite/record@1"] = "evalsite/record@1"


Moment = Annotated[datetime, PlainSerializer(lambda moment: moment.astimezone(UTC).isoformat())]
"""A time, written in UTC as ISO 8601."""


class NamedVersion(FrozenModel):
    """A thing a run pinned; ``version`` is a number for ours, the system's own word for a target."""

    name: str
    version: int | str | None = None


class RunFacts(FrozenModel):
    """What a run was. All None but ``target`` for an offline grading, which is no run; times are UTC."""

    id: int | None = None
    number: int | None = None
    policy: NamedVersion | None = None
    rubric: NamedVersion | None = None
    target: NamedVersion
    lanes: int | None = None
    repeats: int
    started: Moment | None = None
    finished: Moment | None = None


class RecordVerdict(FrozenModel):
    """One criterion's verdict on one attempt."""

    kind: str
    status: CriterionStatus
    detail: str
    weight: float
    gate: bool
    data: dict[str, Any]


class RecordAttempt(FrozenModel):
    """One attempt. ``outcome`` is None exactly when ``failure`` is set; ``seconds`` of the whole attempt."""

    number: int
    outcome: EvaluationOutcome | None
    passed: bool
    score: float | None
    grade: int | None
    threshold: float | None
    criteria_score: float | None
    pass_score: float | None
    reason: str
    evaluator: str | None
    failure: Failure | None
    seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    verdicts: tuple[RecordVerdict, ...]


class RecordCase(FrozenModel):
    """One case: ``passes`` and ``settled`` count its attempts; ``fingerprint`` is of what was asked."""

    id: str
    fingerprint: str
    verdict: CaseVerdict
    passes: int
    settled: int
    attempts: tuple[RecordAttempt, ...]


class Record(FrozenModel):
    """The whole document."""

    format: Literal["evalsite/record@1"] = FORMAT
    experiment: str
    run: RunFacts
    report: ExperimentReport
    cases: tuple[RecordCase, ...]

    def json_text(self) -> str:
        """The document as canonical JSON on one line, with a line end."""
        # pydantic's own JSON mode breaks on a lone surrogate in a key of a verdict's data.
        return to_json(self.model_dump(mode="python")) + "\n"


def build_record(
    experiment: str, run: RunFacts, report: ExperimentReport, cases: Iterable[EvalCaseResults]
) -> Record:
    """The record of finished attempts; ``report`` is over the same attempts as ``cases``."""
    return Record(
        experiment=experiment, run=run, report=report, cases=tuple(record_case(case) for case in cases)
    )


def record_case(results: EvalCaseResults) -> RecordCase:
    """One case of a record; its attempts stand in order of number."""
    return RecordCase(
        id=results.case.id,
        fingerprint=asked_fingerprint(results.case),
        verdict=results.verdict,
        passes=results.passes,
        settled=results.settled,
        attempts=tuple(record_attempt(attempt) for attempt in results.attempts),
    )


def record_attempt(attempt: AttemptResult) -> RecordAttempt:
    """One attempt of a record, with its result or its failure."""
    result, evidence = attempt.result, attempt.evidence
    recorded = evidence.seconds if evidence else None
    return RecordAttempt(
        number=attempt.number,
        outcome=result.outcome if result else None,
        passed=result.passed if result else False,
        score=result.score if result else None,
        grade=result.grade if result else None,
        threshold=result.threshold if result else None,
        criteria_score=result.criteria_score if result else None,
        pass_score=result.pass_score if result else None,
        reason=result.reason if result else "",
        evaluator=result.evaluator if result else None,
        failure=attempt.failure,
        seconds=recorded if attempt.seconds is None else attempt.seconds,
        prompt_tokens=evidence.prompt_tokens if evidence else None,
        completion_tokens=evidence.completion_tokens if evidence else None,
        verdicts=tuple(
            RecordVerdict(
                kind=verdict.kind,
                status=verdict.status,
                detail=verdict.detail,
                weight=verdict.weight,
                gate=verdict.gate,
                data=verdict.data,
            )
            for verdict in (result.verdicts if result else ())
        ),
    )
