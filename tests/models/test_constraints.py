"""Every rule the code relies on is a named constraint: each is tried with a row that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from experiments import models as m
from tests.factories import make_case, make_experiment, make_grading, make_run, make_suite, make_user

pytestmark = pytest.mark.django_db


def attempt(**fields: Any) -> m.Attempt:
    run = fields.pop("run", None) or make_run()
    case = fields.pop("case", None) or make_case(run.experiment.suite, f"k-{m.Case.objects.count()}")
    values = {"run": run, "case": case, "case_version": case.current, "number": 1, **fields}
    return m.Attempt.objects.create(**values)


def result(**fields: Any) -> m.Result:
    one = fields.pop("attempt", None) or attempt()
    values: dict[str, Any] = {"outcome": "VERDICT", "passed": True, "evaluator": "e", "settled_by": "judge"}
    grading = fields.pop("grading", None) or make_grading(one.run)
    return m.Result.objects.create(grading=grading, attempt=one, **{**values, **fields})


def case_result(**fields: Any) -> m.CaseResult:
    grading = fields.pop("grading", None) or make_grading()
    case = fields.pop("case", None) or make_case(grading.suite_version.suite, "k")
    versions = {"case_version": case.current, "graded_version": case.current}
    return m.CaseResult.objects.create(
        **{"grading": grading, "case": case, "position": 0, "requested": 1, **versions, **fields}
    )


def verdict(**fields: Any) -> m.CriterionVerdict:
    one = fields.pop("result", None) or result()
    return m.CriterionVerdict.objects.create(
        **{"result": one, "position": 0, "kind": "k", "status": "pass", **fields}
    )


def corpus_unit(**fields: Any) -> m.CorpusUnit:
    corpus, _ = m.Corpus.objects.get_or_create(name="c")
    version, _ = m.CorpusVersion.objects.get_or_create(
        corpus=corpus, number=1, defaults={"fingerprint": "f", "unit_count": 1}
    )
    return m.CorpusUnit.objects.create(**{"version": version, "unit_id": "a", "position": 0, **fields})


def rubric_version(**fields: Any) -> m.RubricVersion:
    rubric, _ = m.Rubric.objects.get_or_create(name="r")
    return m.RubricVersion.objects.create(
        **{"rubric": rubric, "number": 1, "fingerprint": "f", "template": "t", **fields}
    )


def policy_version(**fields: Any) -> m.PolicyVersion:
    policy, _ = m.Policy.objects.get_or_create(name="p")
    return m.PolicyVersion.objects.create(
        **{"policy": policy, "number": 1, "fingerprint": "f", "text": "t", **fields}
    )


def corpus_version(**fields: Any) -> m.CorpusVersion:
    corpus, _ = m.Corpus.objects.get_or_create(name="c")
    return m.CorpusVersion.objects.create(
        **{"corpus": corpus, "number": 1, "fingerprint": "f", "unit_count": 1, **fields}
    )


def twice(make: Callable[[], Any]) -> None:
    make()
    make()


def same_case_twice() -> None:
    suite = make_suite()
    make_case(suite, "k")
    make_case(suite, "k")


def version_twice(suite_or_case: models.Model) -> None:
    version = suite_or_case.current  # type: ignore[attr-defined]
    version.pk = None
    version.save(force_insert=True)


def case_version_without_fingerprint() -> None:
    version = make_case(make_suite(), "k").current
    assert version is not None
    version.pk, version.number, version.graded_fingerprint = None, 2, ""
    version.save(force_insert=True)


def two_attempts(**second: Any) -> None:
    first = attempt()
    attempt(run=first.run, case=first.case, **second)


def two_results() -> None:
    first = result()
    result(attempt=first.attempt, grading=first.grading)


def two_verdicts() -> None:
    first = verdict()
    verdict(result=first.result)


def two_case_results() -> None:
    first = case_result()
    case_result(grading=first.grading, case=first.case)


def two_case_criteria() -> None:
    first = case_result()
    for _ in range(2):
        m.CaseCriterion.objects.create(case_result=first, position=0, kind="k")


def group(**fields: Any) -> m.LaneGroup:
    return m.LaneGroup.objects.create(
        **{"run": make_run(), "lanes": 1, "heartbeat_at": timezone.now(), **fields}
    )


def item(**fields: Any) -> m.ReviewItem:
    case = fields.pop("case", None) or make_case(make_suite(), "k")
    return m.ReviewItem.objects.create(**{"case": case, "unit_id": "u", **fields})


def decision(**fields: Any) -> m.RoleDecision:
    one = fields.pop("item", None) or item()
    reviewer = fields.pop("reviewer", None) or make_user("reviewer")
    return m.RoleDecision.objects.create(
        **{"item": one, "reviewer": reviewer, "role": "acceptable", "item_version": 1, **fields}
    )


def two_occurrences() -> None:
    one, cited = item(), attempt()
    for _ in range(2):
        m.CitationOccurrence.objects.create(item=one, attempt=cited, run=cited.run)


def two_drafts() -> None:
    one, reviewer = item(), make_user("reviewer")
    for _ in range(2):
        m.ReviewDraft.objects.create(item=one, reviewer=reviewer)


def application(**fields: Any) -> m.Application:
    return m.Application.objects.create(created_by=make_user("reviewer"), **fields)


def applied_twice() -> None:
    one, to_item = application(), item()
    for _ in range(2):
        m.AppliedDecision.objects.create(application=one, item=to_item)


def regraded_twice() -> None:
    one, run = application(), make_run()
    for _ in range(2):
        m.AppliedGrading.objects.create(application=one, run=run)


def comparison(**fields: Any) -> m.Comparison:
    a = fields.pop("a", None) or make_grading()
    b = fields.pop("b", None) or make_grading()
    return m.Comparison.objects.create(a=a, b=b, **fields)


def same_comparison() -> None:
    first = comparison()
    comparison(a=first.a, b=first.b)


def same_grading_compared() -> None:
    grading = make_grading()
    comparison(a=grading, b=grading)


def compared(**fields: Any) -> m.ComparedCase:
    one = fields.pop("comparison", None) or comparison()
    row = case_result(grading=one.a, case=make_case(one.a.suite_version.suite, f"c-{m.Case.objects.count()}"))
    return m.ComparedCase.objects.create(
        **{"comparison": one, "position": 0, "key": "k", "change": "same", "a": row, **fields}
    )


def compared_again(**second: Any) -> None:
    first = compared()
    compared(comparison=first.comparison, **second)


BREAKING: dict[str, Callable[[], Any]] = {
    "user_role_known": lambda: m.User.objects.filter(pk=make_user().pk).update(role="emperor"),
    "suite_version_number_once": lambda: version_twice(make_suite()),
    "suite_version_pass_score_share": lambda: make_suite(pass_score=1.5),
    "case_key_once_a_suite": same_case_twice,
    "case_key_not_empty": lambda: m.Case.objects.create(suite=make_suite(), key=""),
    "case_version_number_once": lambda: version_twice(make_case(make_suite(), "k")),
    "case_version_has_fingerprints": case_version_without_fingerprint,
    "rubric_version_number_once": lambda: twice(rubric_version),
    "rubric_version_kind_known": lambda: rubric_version(kind="poem"),
    "rubric_version_has_template": lambda: rubric_version(template=""),
    "policy_version_number_once": lambda: twice(policy_version),
    "policy_version_has_text": lambda: policy_version(text=""),
    "corpus_version_number_once": lambda: (corpus_version(), corpus_version(fingerprint="g")),
    "corpus_version_content_once": lambda: (corpus_version(), corpus_version(number=2)),
    "corpus_unit_id_once": lambda: twice(corpus_unit),
    "corpus_unit_id_not_empty": lambda: corpus_unit(unit_id=""),
    "corpus_unit_not_its_own_parent": lambda: corpus_unit(parent_unit="a"),
    "experiment_lanes_1_to_512": lambda: make_experiment(lanes=513),
    "experiment_repeats_from_1": lambda: make_experiment(repeats=0),
    "experiment_deadline_from_1": lambda: make_experiment(attempt_seconds=0),
    "experiment_settle_mode_known": lambda: make_experiment(settle_mode="coin"),
    "run_state_known": lambda: make_run(state="lost"),
    "run_lanes_1_to_512": lambda: make_run(lanes=0),
    "run_repeats_from_1": lambda: make_run(repeats=0),
    "run_finished_at_most_requested": lambda: make_run(requested=1, finished=2),
    "run_finished_has_time": lambda: make_run(state="finished"),
    "lane_group_state_known": lambda: group(state="asleep"),
    "lane_group_lanes_at_most_512": lambda: group(lanes=513),
    "attempt_planned_once": lambda: two_attempts(counts=False),
    "attempt_one_counts": lambda: two_attempts(take=2),
    "attempt_number_from_1": lambda: attempt(number=0),
    "attempt_take_from_1": lambda: attempt(take=0),
    "attempt_state_known": lambda: attempt(state="lost"),
    "attempt_cause_known": lambda: attempt(failure_cause="BAD_LUCK"),
    "attempt_done_has_time": lambda: attempt(state="done"),
    "attempt_in_flight_has_lease": lambda: attempt(state="running"),
    "evidence_kept_or_purged": lambda: m.AttemptEvidence.objects.create(attempt=attempt(), document=None),
    "grading_number_once": lambda: make_grading(make_grading().run, is_current=False),
    "grading_one_current": lambda: make_grading(make_grading().run, number=2),
    "grading_state_known": lambda: make_grading(state="ajar"),
    "grading_settle_mode_known": lambda: make_grading(settle_mode="coin"),
    "grading_interval_ordered": lambda: make_grading(rate_low=0.9, rate_high=0.1),
    "result_one_an_attempt": two_results,
    "result_outcome_known": lambda: result(outcome="MAYBE", passed=False),
    "result_only_verdicts_pass": lambda: result(outcome="UNDECIDED", passed=True),
    "result_score_share": lambda: result(score=1.1),
    "result_grade_1_to_10": lambda: result(grade=11),
    "result_settled_by_known": lambda: result(settled_by="luck"),
    "criterion_verdict_once": two_verdicts,
    "criterion_verdict_status_known": lambda: verdict(status="meh"),
    "criterion_verdict_weight_from_0": lambda: verdict(weight=-1),
    "case_result_once_a_grading": two_case_results,
    "case_result_verdict_known": lambda: case_result(verdict="GREAT"),
    "case_result_counts_within_requested": lambda: case_result(passed=1, failed=1),
    "case_criterion_once": two_case_criteria,
    "review_item_once_a_case": lambda: item(case=item().case),
    "review_item_has_unit": lambda: item(unit_id=""),
    "review_item_state_known": lambda: item(state="lost"),
    "review_item_wants_a_reviewer": lambda: item(wanted=0),
    "review_item_held_by_a_lease": lambda: item(holder=make_user("reviewer")),
    "review_item_settled_by_a_decision": lambda: item(state="settled"),
    "occurrence_once_an_attempt": two_occurrences,
    "draft_one_a_reviewer": two_drafts,
    "role_decision_role_known": lambda: decision(role="holy"),
    "role_decision_group_only_if_required": lambda: decision(group=1),
    "role_decision_says_why": lambda: decision(role="forbidden"),
    "application_state_known": lambda: application(state="lost"),
    "applied_once_an_application": applied_twice,
    "applied_grading_once_a_run": regraded_twice,
    "comparison_once": same_comparison,
    "comparison_of_two": same_grading_compared,
    "comparison_state_known": lambda: comparison(state="lost"),
    "comparison_done_has_document": lambda: comparison(state="done"),
    "compared_case_once": lambda: compared_again(position=1),
    "compared_case_position_once": lambda: compared_again(key="other"),
    "compared_case_has_a_side": lambda: compared(a=None),
}


@pytest.mark.parametrize("name", BREAKING)
def test_the_constraint_refuses_a_row_that_breaks_it(name: str) -> None:
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        BREAKING[name]()
    if connection.vendor == "postgresql":
        assert name in str(refusal.value)


def test_every_named_constraint_has_a_row_that_tries_to_break_it() -> None:
    named = {
        constraint.name
        for model in apps.get_app_config("experiments").get_models()
        for constraint in model._meta.constraints
    }
    assert named == set(BREAKING)
