"""A decided role makes a new grading: right where roles are read, a copy everywhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments import models as m
from experiments.evaluation import AttemptCounts, Cause, Evidence, Failure
from experiments.evaluation.roles import with_role
from experiments.execution.finishing import recount
from experiments.execution.regrading import CannotRegrade, current_grading, grade_by_versions, regrade_cases
from experiments.mapping import case_of, case_version_row
from experiments.transfer.run_record import record_of
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, ready_experiment, says

pytestmark = pytest.mark.django_db

CRITERIA = [
    {"kind": "citations.required", "gate": True},
    {"kind": "citations.forbidden"},
    {"kind": "reply.contains", "params": {"substrings": ["days"]}},
    {"kind": "citations.unseen"},
]


@pytest.fixture
def target() -> Iterator[m.Target]:
    with answering_target() as made:
        yield made


def answers(key: str, number: int) -> Evidence | Failure:
    if number == 3:
        return Failure(cause=Cause.NO_REPLY, detail="silent")
    if key == "asks":
        # Attempt 1 cites the required source, attempt 2 another one that nobody has given a role.
        return says("30 days", "law/art:1" if number == 1 else "law/art:9")
    return says("14 days", "law/art:2")


def run_of(target: m.Target, mode: str = "criteria") -> m.Run:
    suite = make_suite(criteria=CRITERIA)
    make_case(suite, "asks", sources={"required": [["law/art:1"]]}, required_phrases=["days"])
    make_case(suite, "other", sources={"acceptable": ["law/art:2"]}, required_phrases=["days"])
    return finished_run(ready_experiment(target, suite, repeats=3, settle_mode=mode), answers)


def decided(run: m.Run, role: str, group: int | None = None) -> dict[int, m.CaseVersion]:
    """A new version of case `asks` in which law/art:9 has this role."""
    case = m.Case.objects.get(suite=run.experiment.suite, key="asks")
    assert case.current is not None
    value = with_role(case_of(case.current), "law/art:9", role, group)
    version = case_version_row(case, case.versions.count() + 1, value, None)
    version.save()
    return {case.pk: version}


def row(grading: m.Grading, key: str) -> m.CaseResult:
    return m.CaseResult.objects.get(grading=grading, case__key=key)


@pytest.mark.parametrize("mode", ["criteria", "both"])
def test_a_source_accepted_as_alternative_turns_varied_into_passed(target: m.Target, mode: str) -> None:
    run = run_of(target, mode)
    before = current_grading(run.pk)
    assert (row(before, "asks").verdict, row(before, "asks").strip) == ("VARIED", "PFN")
    author = make_user("reviewer")
    after = grade_by_versions(run.pk, decided(run, "required", 0), author)
    assert (after.number, after.parent, after.state, after.is_current) == (2, before, "closed", True)
    assert after.created_by == author
    assert (row(after, "asks").verdict, row(after, "asks").strip) == ("PASSED", "PPN")
    assert (after.passed_cases, after.varied_cases) == (2, 0)
    before.refresh_from_db()
    assert (before.is_current, before.varied_cases, row(before, "asks").verdict) == (False, 1, "VARIED")


def test_untouched_cases_are_copied_with_a_link_to_their_original(target: m.Target) -> None:
    run = run_of(target)
    before = current_grading(run.pk)
    after = grade_by_versions(run.pk, decided(run, "acceptable"), None)
    copies = m.Result.objects.filter(grading=after, attempt__case__key="other")
    assert {copy.copied_from and copy.copied_from.grading_id for copy in copies} == {before.pk}
    assert not m.Result.objects.filter(
        grading=after, attempt__case__key="asks", copied_from__isnull=False
    ).exists()
    for model, path in ((m.CriterionVerdict, "result__grading"), (m.CaseCriterion, "case_result__grading")):
        counts = [model.objects.filter(**{path: grading}).count() for grading in (before, after)]
        assert counts[0] == counts[1] > 0
    assert row(after, "other").search == row(before, "other").search


def test_the_figures_of_the_new_grading_are_those_of_a_full_recount(target: m.Target) -> None:
    run = run_of(target)
    after = grade_by_versions(run.pk, decided(run, "required", 0), None)
    assert AttemptCounts.model_validate(after.totals) == recount(after)
    assert after.counted == 4
    report = record_of(run).report
    assert (report.passed, report.judged, report.no_reply, report.pass_rate) == (4, 4, 2, 1.0)


def test_undoing_the_role_gives_the_figures_back(target: m.Target) -> None:
    run = run_of(target)
    first = current_grading(run.pk)
    grade_by_versions(run.pk, decided(run, "forbidden"), None)
    assert row(current_grading(run.pk), "asks").strip == "PFN"
    case = m.Case.objects.get(key="asks")
    assert case.current is not None
    back = grade_by_versions(run.pk, {case.pk: case.current}, None)
    assert (back.number, back.totals, back.varied_cases) == (3, first.totals, 1)
    assert row(back, "asks").reason == row(first, "asks").reason


def test_a_preview_says_what_the_new_grading_then_shows(target: m.Target) -> None:
    run = run_of(target)
    versions = decided(run, "required", 0)
    cases = {case_id: case_of(version) for case_id, version in versions.items()}
    preview = regrade_cases(current_grading(run.pk), cases)
    assert [(each.attempt.number, each.flips) for each in preview] == [(1, False), (2, True)]
    after = grade_by_versions(run.pk, versions, None)
    stored = m.Result.objects.filter(grading=after, attempt__case__key="asks").order_by("attempt__number")
    assert [each.after.passed for each in preview] == [result.passed for result in stored]


def test_a_run_that_still_fills_its_grading_cannot_be_graded_anew(target: m.Target) -> None:
    run = run_of(target)
    m.Grading.objects.filter(run=run).update(state="open", closed_at=None)
    with pytest.raises(CannotRegrade, match="not finished"):
        grade_by_versions(run.pk, {}, None)
    assert m.Grading.objects.filter(run=run).count() == 1


def test_purged_evidence_is_said_and_leaves_no_half_grading(target: m.Target) -> None:
    from django.utils import timezone

    run = run_of(target)
    m.AttemptEvidence.objects.update(document=None, purged_at=timezone.now())
    with pytest.raises(CannotRegrade, match="purged"):
        grade_by_versions(run.pk, decided(run, "acceptable"), None)
    assert m.Grading.objects.filter(run=run).count() == 1
