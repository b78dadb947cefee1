"""Rows to the core's value objects and back: the only place that knows both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pydantic_core import PydanticSerializationError

from experiments.evaluation import (
    CorpusUnit,
    CriterionSpec,
    EvalCase,
    EvaluationOutcome,
    EvaluationResult,
    Evidence,
    Failure,
    JudgeUse,
    Policy,
    Rubric,
    SettledBy,
    Verdict,
    asked_fingerprint,
    graded_fingerprint,
    is_seeded,
    walks,
)
from experiments.evaluation.comparability import RunFacts, case_facts
from experiments.evaluation.comparing import CaseAggregate
from experiments.evaluation.outcome import Cause, CriterionStatus
from experiments.evaluation.settle import Ruler, SettleMode
from experiments.evaluation.text import printable, to_json
from experiments.hooks import load_hooks
from experiments.models import (
    Attempt,
    Case,
    CaseResult,
    CaseVersion,
    CorpusVersion,
    CriterionVerdict,
    Grading,
    PolicyVersion,
    Result,
    RubricVersion,
    Run,
    SuiteVersion,
    User,
)
from experiments.models import CorpusUnit as CorpusUnitRow

# -- cases --------------------------------------------------------------------------------------------------


def case_of(version: CaseVersion) -> EvalCase:
    """The case as the core knows it."""
    return EvalCase.model_validate(version.content)


def case_version_row(case: Case, number: int, value: EvalCase, author: User | None) -> CaseVersion:
    """An unsaved version row of `case` that holds `value`."""
    return CaseVersion(
        case=case,
        number=number,
        content=value.model_dump(),
        fingerprint=asked_fingerprint(value),
        graded_fingerprint=graded_fingerprint(value),
        turn=printable(value.turn),
        tags=list(value.tags),
        walks=walks(value.setup),
        seeded=is_seeded(value.setup),
        created_by=author,
    )


# -- what a grading pins ------------------------------------------------------------------------------------


def rubric_of(version: RubricVersion) -> Rubric:
    """The rubric version as a value. Loads the rubric's name when it is not selected along."""
    return Rubric.model_validate(
        {
            "name": version.rubric.name,
            "version": version.number,
            "kind": version.kind,
            "template": version.template,
            "labels": tuple(version.labels),
            "pass_labels": tuple(version.pass_labels),
        }
    )


def policy_of(version: PolicyVersion) -> Policy:
    """The policy version as a value."""
    return Policy(name=version.policy.name, version=version.number, text=version.text)


def criteria_of(version: SuiteVersion) -> tuple[CriterionSpec, ...]:
    """The criteria a suite version shares with all its cases, in the order written."""
    return tuple(CriterionSpec.model_validate(spec) for spec in version.criteria)


def ruler_of(grading: Grading) -> Ruler:
    """Everything attempts are graded by under `grading`; the registries are this process's hooks."""
    hooks = load_hooks()
    return Ruler(
        settle_mode=SettleMode(grading.settle_mode),
        pass_score=grading.suite_version.pass_score,
        criteria=criteria_of(grading.suite_version),
        rubric=rubric_of(grading.rubric_version) if grading.rubric_version else None,
        metrics=hooks.metrics,
        registry=hooks.criteria,
    )


class StoredCorpus:
    """The core's `Corpus` over one version's units, read once. About 1 kB of memory a unit."""

    def __init__(self, units: dict[str, CorpusUnit]) -> None:
        self._units = units

    def unit(self, unit_id: str, /) -> CorpusUnit | None:
        return self._units.get(unit_id)

    def units(self) -> Iterable[CorpusUnit]:
        return self._units.values()

    def __contains__(self, unit_id: object, /) -> bool:
        return unit_id in self._units


@lru_cache(maxsize=8)
def _stored_corpus(version_id: int, _fingerprint: str) -> StoredCorpus:
    # The fingerprint is part of the key: an id may come again after a rollback, with other content.
    rows = CorpusUnitRow.objects.filter(version_id=version_id)
    return StoredCorpus(
        {
            row.unit_id: CorpusUnit(
                id=row.unit_id,
                parent=row.parent_unit or None,
                title=row.title,
                text=row.text,
                aliases=tuple(row.aliases),
            )
            for row in rows
        }
    )


def corpus_of(version: CorpusVersion | None) -> StoredCorpus | None:
    """The corpus a grading looks citations up in; kept per process, since a version never changes."""
    return _stored_corpus(version.pk, version.fingerprint) if version else None


# -- attempts -----------------------------------------------------------------------------------------------


def evidence_document(evidence: Evidence) -> str:
    """Evidence as the JSON text that is stored: without what is at its default, lossless otherwise."""
    try:
        # Ten times the speed of the way below, which every ordinary text can take.
        return evidence.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError:  # a lone surrogate
        return to_json(evidence.model_dump(exclude_defaults=True))


def evidence_of(document: dict[str, object] | None) -> Evidence | None:
    """Stored evidence as a value; None when there is none or it was purged."""
    return None if document is None else Evidence.model_validate(document)


def failure_of(attempt: Attempt) -> Failure | None:
    """Why the attempt was not reached, or None when it was."""
    if not attempt.failure_cause:
        return None
    return Failure(cause=Cause(attempt.failure_cause), detail=attempt.failure_detail)


def result_values(value: EvaluationResult) -> dict[str, Any]:
    """The columns of a result that come from its value, by name. Text columns hold no NUL and no lone
    surrogate; evidence keeps the originals."""
    return {
        "outcome": value.outcome.value,
        "passed": value.passed,
        "score": value.score,
        "grade": value.grade,
        "threshold": value.threshold,
        "reason": printable(value.reason),
        "evaluator": printable(value.evaluator, 100),
        "evaluator_version": printable(value.evaluator_version, 40),
        "settled_by": value.settled_by.value,
        "criteria_score": value.criteria_score,
        "pass_score": value.pass_score,
        "judge_use": value.judge_use.model_dump() if value.judge_use else None,
        "expectation": value.expectation.model_dump() if value.expectation else None,
    }


def result_row(grading_id: int, attempt_id: int, value: EvaluationResult) -> Result:
    """An unsaved result row."""
    return Result(grading_id=grading_id, attempt_id=attempt_id, **result_values(value))


def verdict_values(value: EvaluationResult) -> list[dict[str, Any]]:
    """The columns of the criteria's verdicts by name, in order."""
    return [
        {
            "position": position,
            "kind": printable(verdict.kind, 100),
            "status": verdict.status.value,
            "detail": printable(verdict.detail),
            "weight": verdict.weight,
            "gate": verdict.gate,
            "data": verdict.data,
        }
        for position, verdict in enumerate(value.verdicts)
    ]


def verdict_rows(result: Result, value: EvaluationResult) -> list[CriterionVerdict]:
    """Unsaved rows of the criteria's verdicts, in order; `result` must be saved before they are."""
    return [CriterionVerdict(result=result, **values) for values in verdict_values(value)]


def result_of(row: Result, verdicts: list[CriterionVerdict]) -> EvaluationResult:
    """A stored result as a value, with its verdicts in order of position."""
    return EvaluationResult.model_validate(
        {
            "outcome": EvaluationOutcome(row.outcome),
            "passed": row.passed,
            "score": row.score,
            "grade": row.grade,
            "threshold": row.threshold,
            "reason": row.reason,
            "evaluator": row.evaluator,
            "evaluator_version": row.evaluator_version,
            "settled_by": SettledBy(row.settled_by),
            "criteria_score": row.criteria_score,
            "pass_score": row.pass_score,
            "verdicts": tuple(
                Verdict(
                    status=CriterionStatus(verdict.status),
                    detail=verdict.detail,
                    data=verdict.data,
                    kind=verdict.kind,
                    weight=verdict.weight,
                    gate=verdict.gate,
                )
                for verdict in verdicts
            ),
            "judge_use": JudgeUse.model_validate(row.judge_use) if row.judge_use else None,
            "expectation": row.expectation,
        }
    )


def stored_results(grading_id: int, attempt_ids: Sequence[int]) -> dict[int, EvaluationResult]:
    """The results of these attempts in a grading, by attempt, with their verdicts, in two queries.

    An attempt that was not reached has none.
    """
    rows = list(Result.objects.filter(grading_id=grading_id, attempt_id__in=attempt_ids))
    verdicts: dict[int, list[CriterionVerdict]] = defaultdict(list)
    for verdict in CriterionVerdict.objects.filter(result__in=rows).order_by("position"):
        verdicts[verdict.result_id].append(verdict)
    return {row.attempt_id: result_of(row, verdicts[row.pk]) for row in rows}


def search_of(case: EvalCase, reason: str = "") -> str:
    """The lower-case text that a search of the case table looks in: key, turn, tags, first reason."""
    parts = (case.id, case.turn[:2000], " ".join(case.tags), reason[:500])
    return printable("\n".join(parts).casefold())


# -- comparing ----------------------------------------------------------------------------------------------


def run_facts(run: Run, grading: Grading, versions: Iterable[CaseVersion]) -> RunFacts:
    """Everything a run and one of its gradings pinned that decides comparability. `versions` are the graded
    versions of all its cases."""
    suite, corpus = grading.suite_version, grading.corpus_version
    mode, criteria, registry = SettleMode(grading.settle_mode), criteria_of(suite), load_hooks().criteria
    return RunFacts(
        settle_mode=mode,
        cases={case.id: case_facts(case, mode, registry, criteria) for case in map(case_of, versions)},
        policy=policy_of(run.policy_version) if run.policy_version else None,
        rubric=rubric_of(grading.rubric_version) if grading.rubric_version else None,
        judge_model=grading.judge_model,
        metric_versions=grading.metric_versions,
        criteria=tuple(spec.model_copy(update={"weight": registry.weight(spec)}) for spec in criteria),
        pass_score=suite.pass_score,
        corpus=corpus.corpus.name if corpus else "",
        corpus_version=corpus.number if corpus else None,
        target=run.target_name,
        target_version=run.target_version,
        repeats=run.repeats,
        lanes=run.lanes,
    )


def aggregate_of(row: CaseResult, key: str) -> CaseAggregate:
    """The counts of one case's attempts, as a comparison reads them."""
    return CaseAggregate(
        case=key,
        passed=row.passed,
        failed=row.failed,
        undecided=row.undecided,
        inconclusive=row.inconclusive,
        evaluator_failed=row.evaluator_failed,
        not_reached=row.setup_failed + row.no_reply,
    )
