"""Two stored runs compared: once, honestly, and by their gradings as they stand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.exceptions import PermissionDenied

from experiments import models as m
from experiments.evaluation import Evidence
from experiments.evaluation.comparing import RunComparison
from experiments.services.adjudication import Answer, decide
from experiments.services.applying import apply_decisions, run_application
from experiments.services.collecting import collect_citations
from experiments.services.comparisons import ask_comparison, grade_like, run_comparison
from experiments.services.runs import WrongState, start_run
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, make_policy, ready_experiment, says

pytestmark = pytest.mark.django_db

CRITERIA = [
    {"kind": "citations.required", "gate": True},
    {"kind": "reply.contains", "params": {"substrings": ["days"]}},
    {"kind": "citations.unseen"},
]


@pytest.fixture
def target() -> Iterator[m.Target]:
    with answering_target() as made:
        yield made


@pytest.fixture
def experiment(target: m.Target) -> m.Experiment:
    suite = make_suite(criteria=CRITERIA)
    for number in range(12):
        make_case(suite, f"case-{number:02}", sources={"required": [["law/art:1"]]})
    return ready_experiment(target, suite, repeats=2)


def good(_: str, __: int) -> Evidence:
    return says("30 days", "law/art:1")


def worse(key: str, number: int) -> Evidence:
    """The first eight cases lose their source in the second attempt, the ninth says something else."""
    if key < "case-08" and number == 2:
        return says("30 days", "law/art:9")
    return says("soon" if key == "case-08" else "30 days", "law/art:1")


def compared(a: m.Run, b: m.Run) -> tuple[m.Comparison, RunComparison]:
    comparison = ask_comparison(make_user("viewer"), a, b)
    assert run_comparison(comparison.pk)
    comparison.refresh_from_db()
    assert comparison.state == "done"
    return comparison, RunComparison.model_validate(comparison.document)


def test_a_regression_is_called_one_with_its_counts_matrix_and_flipped_criteria(
    experiment: m.Experiment,
) -> None:
    comparison, found = compared(finished_run(experiment, good), finished_run(experiment, worse))
    assert found.gate.comparable
    assert (found.shared, found.counted, found.worse, found.better, found.same) == (12, 12, 9, 0, 3)
    assert found.conclusion == "regression"
    assert found.matrix[0] == (3, 8, 0, 1, 0)
    assert (found.a.passed, found.a.judged, found.b.passed, found.b.judged) == (24, 24, 14, 24)
    rows = list(comparison.cases.values_list("key", "change", "a_verdict", "b_verdict", "flipped"))
    assert rows[0] == ("case-08", "worse", "PASSED", "FAILED", "reply.contains")
    assert rows[1] == ("case-00", "worse", "PASSED", "VARIED", "citations.required")
    assert rows[-1] == ("case-11", "same", "PASSED", "PASSED", "")
    assert len(rows) == 12


def test_a_run_against_itself_is_refused_and_two_equal_runs_tell_nothing_apart(
    experiment: m.Experiment,
) -> None:
    a, b = finished_run(experiment, good), finished_run(experiment, good)
    with pytest.raises(WrongState, match="not with itself"):
        ask_comparison(None, a, a)
    _, found = compared(a, b)
    assert (found.conclusion, found.worse, found.better, found.difference) == ("cannot_tell", 0, 0, 0.0)


def test_it_is_computed_once_however_often_it_is_asked_for(experiment: m.Experiment) -> None:
    a, b = finished_run(experiment, good), finished_run(experiment, worse)
    comparison, _ = compared(a, b)
    assert ask_comparison(None, a, b) == comparison
    assert not run_comparison(comparison.pk)
    assert m.ComparedCase.objects.count() == 12
    assert ask_comparison(None, b, a) != comparison


def test_runs_under_two_policies_are_refused_whatever_their_figures(experiment: m.Experiment) -> None:
    a = finished_run(experiment, good)
    make_policy("desk", "Be brief.")
    experiment.refresh_from_db()
    assert experiment.policy is not None
    experiment.policy.refresh_from_db()
    _, found = compared(a, finished_run(experiment, worse))
    assert [row.name for row in found.gate.refused] == ["policy"]
    assert found.conclusion == "not_comparable"
    assert "no regression" in found.sentence


def test_a_running_run_is_not_compared(experiment: m.Experiment) -> None:
    with pytest.raises(WrongState, match="only finished runs"):
        ask_comparison(None, finished_run(experiment, good), start_run(None, experiment))
    assert m.Comparison.objects.count() == 0


def test_a_stranger_compares_nothing(experiment: m.Experiment) -> None:
    a, b = finished_run(experiment, good), finished_run(experiment, good)
    with pytest.raises(PermissionDenied):
        ask_comparison(make_user(""), a, b)


def decide_art_9(run: m.Run) -> None:
    collect_citations(m.Grading.objects.get(run=run, is_current=True).pk)
    reviewer = make_user("reviewer")
    item = m.ReviewItem.objects.get(case__key="case-00")
    answer = Answer(role="required", everywhere=True)
    decide(reviewer, item, answer, lease=None, version=item.version)
    application = apply_decisions(reviewer, run_ids=[run.pk])
    assert application is not None
    assert run_application(application.pk)


def test_a_role_decided_for_one_run_only_refuses_until_the_other_is_graded_alike(
    experiment: m.Experiment,
) -> None:
    a, b = finished_run(experiment, good), finished_run(experiment, worse)
    decide_art_9(b)
    _, found = compared(a, b)
    (row,) = found.gate.refused
    assert (row.name, row.cases, row.mend) == ("expectations", 8, "re-grade")
    operator = make_user("operator")
    with pytest.raises(PermissionDenied):
        grade_like(make_user("reviewer"), a, b)
    grading = grade_like(operator, a, b)
    assert (grading.number, grading.created_by) == (2, operator)
    _, mended = compared(a, b)
    assert mended.gate.comparable
    assert m.Activity.objects.filter(verb="graded anew", actor=operator).count() == 1


def test_a_comparison_that_breaks_says_so_and_leaves_nothing_half_written(
    experiment: m.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = ask_comparison(None, finished_run(experiment, good), finished_run(experiment, worse))

    def broken(*_: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr("experiments.services.comparisons.summarize", broken)
    assert not run_comparison(comparison.pk)
    comparison.refresh_from_db()
    assert (comparison.state, comparison.error) == ("failed", "RuntimeError: no luck")
    assert m.ComparedCase.objects.count() == 0
