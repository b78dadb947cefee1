"""The end of a run: every stored figure is checked against the attempts, and nothing ends twice."""

from __future__ import annotations

import logging

import pytest

from experiments import models as m
from experiments.evaluation import AttemptCounts, CriterionStatus
from experiments.execution.finishing import finish_run, recount
from experiments.execution.recording import record
from experiments.execution.setting import Cases
from tests.execution.world import Planned, asked, begun_group, by_criteria, finished, not_reached, plan

PASS, FAIL = CriterionStatus.PASS, CriterionStatus.FAIL


def all_done(cases: int = 3, repeats: int = 3) -> Planned:
    """A run whose attempts are all in: every third one failed, the last was not reached."""
    planned = plan(cases=cases, repeats=repeats, lanes=32)
    claims = asked(begun_group(planned), cases * repeats)
    results = [
        finished(claim, result=by_criteria(PASS, PASS if number % 3 else FAIL))
        for number, claim in enumerate(claims)
    ]
    record(planned.place, [*results[:-1], not_reached(claims[-1])], Cases())
    return planned


@pytest.mark.django_db
def test_a_run_with_nothing_left_to_do_is_finished_and_its_grading_closed() -> None:
    planned = all_done()
    assert finish_run(planned.run.pk)
    planned.run.refresh_from_db()
    planned.grading.refresh_from_db()
    assert (planned.run.state, planned.run.finished, planned.grading.state) == ("finished", 9, "closed")
    assert planned.run.finished_at is not None
    assert planned.grading.closed_at is not None
    assert planned.grading.rate_low is not None
    assert planned.grading.rate_high is not None
    assert 0 <= planned.grading.rate_low < planned.grading.rate_high <= 1
    line = m.Activity.objects.get(object_type="run", object_id=planned.run.pk)
    assert (line.verb, line.actor, line.after) == ("finished", None, {"finished": 9, "requested": 9})
    assert not finish_run(planned.run.pk), "once"


@pytest.mark.parametrize("state", ["pending", "claimed", "running"])
@pytest.mark.django_db
def test_a_run_with_an_attempt_left_is_not_finished(state: str) -> None:
    planned = plan(cases=1, repeats=2)
    hold = begun_group(planned)
    one, two = asked(hold, 2)
    record(planned.place, [finished(one)], Cases())
    m.Attempt.objects.filter(pk=two.attempt_id).update(state=state)
    assert not finish_run(planned.run.pk)


@pytest.mark.django_db
def test_a_stopped_run_keeps_its_grading_open_for_resume_and_has_its_interval() -> None:
    planned = plan(cases=2, repeats=2)
    record(planned.place, [finished(claim) for claim in asked(begun_group(planned), 2)], Cases())
    m.Run.objects.update(state="stopping")
    m.Attempt.objects.filter(state="pending").update(state="cancelled")
    assert finish_run(planned.run.pk)
    planned.run.refresh_from_db()
    planned.grading.refresh_from_db()
    assert (planned.run.state, planned.grading.state) == ("stopped", "open")
    assert planned.grading.rate_high is not None


@pytest.mark.django_db
def test_a_stop_that_came_too_late_finishes_the_run() -> None:
    planned = all_done()
    m.Run.objects.update(state="stopping")
    assert finish_run(planned.run.pk)
    planned.run.refresh_from_db()
    assert planned.run.state == "finished"


@pytest.mark.django_db
def test_what_was_given_back_at_the_moment_of_the_stop_is_cancelled() -> None:
    planned = plan(cases=1, repeats=2)
    m.Run.objects.update(state="stopping")
    assert finish_run(planned.run.pk)
    assert planned.states() == {"cancelled": 2}


@pytest.mark.django_db
def test_a_run_in_which_nothing_was_judged_has_no_interval() -> None:
    planned = plan(cases=1, repeats=1)
    record(planned.place, [not_reached(claim) for claim in asked(begun_group(planned), 1)], Cases())
    assert finish_run(planned.run.pk)
    planned.grading.refresh_from_db()
    assert (planned.grading.rate_low, planned.grading.rate_high) == (None, None)


@pytest.mark.django_db
def test_wrong_figures_are_found_put_right_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    run_id = all_done().run.pk
    right = m.Grading.objects.get()
    strips = list(m.CaseResult.objects.order_by("id").values_list("strip", "verdict"))
    m.CaseResult.objects.update(verdict="PASSED", failed=0, strip="PPP")
    wrong = AttemptCounts.model_validate(right.totals) + AttemptCounts(passed=3, prompt_tokens=99)
    m.Grading.objects.update(failed_cases=0, passed_cases=9, counted=99, totals=wrong.model_dump())
    with caplog.at_level(logging.ERROR):
        assert finish_run(run_id)
    mended = m.Grading.objects.get()
    assert list(m.CaseResult.objects.order_by("id").values_list("strip", "verdict")) == strips
    for name in ("passed_cases", "failed_cases", "varied_cases", "counted", "totals"):
        assert getattr(mended, name) == getattr(right, name)
    assert "did not match" in caplog.text


@pytest.mark.django_db
def test_totals_counted_again_from_stored_evidence_are_those_the_recorder_kept() -> None:
    all_done()
    grading = m.Grading.objects.get()
    assert recount(grading) == AttemptCounts.model_validate(grading.totals)
