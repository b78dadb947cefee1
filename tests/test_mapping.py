"""Rows and value objects say the same."""

from __future__ import annotations

import pytest

from experiments import models as m
from experiments.evaluation import Citation, EvalCase, EvaluationResult, Evidence, SettledBy, Turn, Verdict
from experiments.evaluation.outcome import CriterionStatus, JudgeUse
from experiments.mapping import case_of, case_version_row, evidence_of, result_of, result_row, verdict_rows
from tests.factories import make_case, make_grading, make_run, make_suite

pytestmark = pytest.mark.django_db


def make_attempt() -> tuple[m.Run, m.Attempt]:
    run = make_run()
    case = make_case(run.experiment.suite, "k")
    assert case.current is not None
    return run, m.Attempt.objects.create(run=run, case=case, case_version=case.current, number=1)


HOSTILE = "a\x00b\ud800c\u202e<script>alert(1)</script>\u200f\U0001f600"


def test_evidence_comes_back_character_by_character_with_nul_and_lone_surrogates() -> None:
    _, attempt = make_attempt()
    evidence = Evidence(
        turns=(Turn(prompt=HOSTILE, reply=HOSTILE * 10_000, citations=(Citation(id=HOSTILE),)),),
        end_state={HOSTILE: [None, 1.5, HOSTILE]},
    )
    m.AttemptEvidence.objects.create(attempt=attempt, document=evidence.model_dump())
    assert evidence_of(m.AttemptEvidence.objects.get(pk=attempt.pk).document) == evidence


def test_a_result_with_its_verdicts_comes_back_equal() -> None:
    run, attempt = make_attempt()
    value = EvaluationResult.failed(
        "art:17 not cited",
        evaluator="criteria",
        evaluator_version="3",
        settled_by=SettledBy.criteria,
        grade=4,
        criteria_score=0.5,
        pass_score=1.0,
        verdicts=(
            Verdict(status=CriterionStatus.FAIL, kind="citations.required", data={"share": 0.5}, gate=True),
            Verdict(
                status=CriterionStatus.NOT_APPLICABLE, kind="citations.forbidden", weight=0.25, detail="none"
            ),
        ),
        judge_use=JudgeUse(calls=1, prompt_tokens=10, model="m", reply="8"),
    )
    row = result_row(make_grading(run).pk, attempt.pk, value)
    row.save()
    m.CriterionVerdict.objects.bulk_create(verdict_rows(row, value))
    stored = m.Result.objects.get(pk=row.pk)
    assert result_of(stored, list(stored.verdicts.all())) == value


def test_hostile_reasons_are_stored_readable() -> None:
    run, attempt = make_attempt()
    value = EvaluationResult.inconclusive(HOSTILE, evaluator=HOSTILE * 50, settled_by=SettledBy.judge)
    row = result_row(make_grading(run).pk, attempt.pk, value)
    row.save()
    stored = m.Result.objects.get(pk=row.pk)
    assert "\x00" not in stored.reason
    assert "<script>" in stored.reason
    assert len(stored.evaluator) == 100


def test_a_case_version_holds_the_whole_case_and_its_setup_facts() -> None:
    case = make_case(make_suite(), "k")
    value = EvalCase.model_validate(
        {
            "id": "k",
            "turn": HOSTILE,
            "setup": {
                "kind": "failing_tool",
                "tool": "search",
                "message": "down",
                "then": {"kind": "fixture", "name": "booked", "parameters": {"x": HOSTILE}},
            },
            "sources": {"required": [["a", "b"]], "forbidden": ["c"]},
            "tags": ["refunds"],
        }
    )
    row = case_version_row(case, 2, value, None)
    row.save()
    stored = m.CaseVersion.objects.get(pk=row.pk)
    assert case_of(stored) == value
    assert stored.seeded
    assert not stored.walks
