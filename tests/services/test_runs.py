"""Starting, stopping and resuming, as rows and activity lines say it. The lanes: tests/execution."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied

from experiments import models as m
from experiments.evaluation import SettledBy, SettleMode
from experiments.services.plans import plan_run
from experiments.services.runs import RunRefused, WrongState, resume_run, start_run, stop_run
from tests.factories import make_case, make_experiment, make_suite, make_target, make_user
from tests.local_http import Answer, Seen, served

pytestmark = pytest.mark.django_db

TEMPLATE = "{replay_history}{simulation_history}{system_output}{expected_outcome} SCORE: REASON:"


@pytest.fixture
def target() -> Iterator[m.Target]:
    """A target that says what it can do, and nothing else."""

    async def respond(_: Seen) -> Answer:
        return Answer(
            {"version": "4.2.0", "fixtures": {"booked": "a booking"}, "breakable_tools": ["search"]}
        )

    with served(respond) as server:
        yield make_target(url=server.url)


def experiment_of(target: m.Target, **fields: Any) -> m.Experiment:
    suite = fields.pop("suite", None) or make_suite()
    rubric = m.Rubric.objects.create(name="judge")
    rubric.current = m.RubricVersion.objects.create(
        rubric=rubric, number=1, fingerprint="f", template=TEMPLATE
    )
    rubric.save()
    policy = m.Policy.objects.create(name="desk")
    policy.current = m.PolicyVersion.objects.create(policy=policy, number=1, fingerprint="f", text="Be kind.")
    policy.save()
    return make_experiment(target=target, suite=suite, rubric=rubric, policy=policy, **fields)


def ready_experiment(target: m.Target, **fields: Any) -> m.Experiment:
    experiment = experiment_of(target, **fields)
    make_case(experiment.suite, "a", required_phrases=["thirty days"], tags=["refunds"])
    make_case(experiment.suite, "b", spec_node="UC-1", setup={"kind": "fixture", "name": "booked"})
    return experiment


def test_a_plan_says_how_many_attempts_there_are_and_what_settles_them(target: m.Target) -> None:
    plan = plan_run(ready_experiment(target, repeats=5))
    assert plan.refusals == ()
    assert (plan.cases, plan.repeats, plan.attempts) == (2, 5, 10)
    assert plan.settle_mode is SettleMode.expectation
    assert plan.settled_by == {SettledBy.contains_all: 1, SettledBy.spec_node: 1}
    assert plan.capabilities is not None
    assert plan.capabilities.version == "4.2.0"


def test_criteria_of_the_suite_make_criteria_the_mode_unless_the_experiment_says_otherwise(
    target: m.Target,
) -> None:
    suite = make_suite(criteria=[{"kind": "run.no_failure"}])
    experiment = ready_experiment(target, suite=suite)
    assert plan_run(experiment).settle_mode is SettleMode.criteria
    experiment.settle_mode = "both"
    assert plan_run(experiment).settle_mode is SettleMode.both


def test_tags_narrow_the_cases_and_archived_cases_are_left_out(target: m.Target) -> None:
    experiment = ready_experiment(target, tags=["refunds", "other"])
    assert [case.id for _, case in plan_run(experiment).versions] == ["a"]
    m.Case.objects.filter(key="a").update(archived_at="2026-01-01T00:00Z")
    assert [refusal.code for refusal in plan_run(experiment).refusals] == ["no_cases"]


def test_every_reason_not_to_start_is_given_at_once_and_nothing_is_written() -> None:
    experiment = make_experiment()  # no rubric, no policy, a target on a closed port
    make_case(
        experiment.suite, "same", turn="twenty days", expected="twenty days", required_phrases=["twenty"]
    )
    with pytest.raises(RunRefused) as refused:
        start_run(make_user("operator"), experiment)
    codes = {refusal.code for refusal in refused.value.refusals}
    assert codes == {"no_policy", "no_rubric", "target_unreachable", "turn_is_expected"}
    assert m.Run.objects.count() == 0
    assert m.Activity.objects.count() == 0


def test_a_fixture_the_target_cannot_build_refuses_the_run_with_its_name(target: m.Target) -> None:
    experiment = experiment_of(target)
    make_case(experiment.suite, "a", spec_node="x", setup={"kind": "fixture", "name": "unheard-of"})
    (refusal,) = plan_run(experiment).refusals
    assert refusal.code == "unknown_fixture"
    assert "unheard-of" in refusal.sentence
    assert "booked" in refusal.sentence


def test_a_target_that_answers_with_a_web_page_is_a_refusal_not_a_crash() -> None:
    async def respond(_: Seen) -> Answer:
        return Answer("<html>sign in</html>", kind="text/html")

    with served(respond) as server:
        experiment = ready_experiment(make_target(url=server.url))
        (refusal,) = plan_run(experiment).refusals
    assert refusal.code == "target_unreachable"


def test_a_start_plans_every_attempt_and_pins_every_version(target: m.Target) -> None:
    operator = make_user("operator")
    experiment = ready_experiment(target, repeats=3, lanes=7)
    run = start_run(operator, experiment)
    assert (run.state, run.requested, run.finished) == ("running", 6, 0)
    assert (run.lanes, run.repeats, run.target_version) == (7, 3, "4.2.0")
    assert run.policy_version == experiment.policy.current if experiment.policy else False
    grading = m.Grading.objects.get(run=run)
    assert (grading.is_current, grading.state, grading.number) == (True, "open", 1)
    assert grading.rubric_version == (experiment.rubric and experiment.rubric.current)
    attempts = list(run.attempts.order_by("id").values_list("case__key", "number", "state"))
    assert attempts == [(key, number, "pending") for number in (1, 2, 3) for key in ("a", "b")]
    assert list(grading.case_results.values_list("case__key", "requested", "tags")) == [
        ("a", 3, "refunds"),
        ("b", 3, ""),
    ]
    line = m.Activity.objects.get(verb="started")
    assert (line.actor, line.object_id, line.after["attempts"]) == (operator, run.pk, 6)


def test_the_same_token_starts_one_run(target: m.Target) -> None:
    experiment, operator, token = ready_experiment(target), make_user("operator"), uuid.uuid4()
    assert start_run(operator, experiment, token) == start_run(operator, experiment, token)
    assert m.Run.objects.count() == 1


@pytest.mark.parametrize("role", ["", "viewer", "reviewer", "author"])
def test_only_operators_and_admins_start_stop_and_resume(role: str, target: m.Target) -> None:
    experiment, user = ready_experiment(target), make_user(role)
    with pytest.raises(PermissionDenied):
        start_run(user, experiment)
    run = start_run(make_user("admin"), experiment)
    for change in (stop_run, resume_run):
        with pytest.raises(PermissionDenied):
            change(user, run)
    assert m.Run.objects.get().state == "running"


def test_stopping_cancels_what_was_planned_and_fails_nothing(
    target: m.Target, django_capture_on_commit_callbacks: Any
) -> None:
    operator, run = make_user("operator"), start_run(make_user("operator"), ready_experiment(target))
    with django_capture_on_commit_callbacks(execute=True):
        stop_run(operator, run)
    run.refresh_from_db()
    assert run.state == "stopped"
    assert set(run.attempts.values_list("state", flat=True)) == {"cancelled"}
    grading = m.Grading.objects.get(run=run)
    assert (grading.state, grading.failed_cases, grading.counted) == ("open", 0, 0)
    assert m.Activity.objects.filter(verb="stopped", actor=operator).count() == 1
    stop_run(operator, run)
    assert m.Activity.objects.filter(verb="stopped", actor=operator).count() == 1


def test_resuming_plans_the_cancelled_attempts_again(
    target: m.Target, django_capture_on_commit_callbacks: Any
) -> None:
    operator, run = make_user("operator"), start_run(make_user("operator"), ready_experiment(target))
    with django_capture_on_commit_callbacks(execute=True):
        stop_run(operator, run)
    resumed = resume_run(operator, run)
    assert (resumed.state, resumed.finished_at, resumed.stop_reason) == ("running", None, "")
    assert set(run.attempts.values_list("state", flat=True)) == {"pending"}
    assert m.Activity.objects.get(verb="resumed").after == {"planned": 4, "kept": 0}


def test_a_finished_run_cannot_be_resumed(target: m.Target) -> None:
    run = start_run(None, ready_experiment(target))
    m.Run.objects.filter(pk=run.pk).update(state="finished", finished_at="2026-01-01T00:00Z")
    with pytest.raises(WrongState, match="is finished; only a stopped run"):
        resume_run(None, run)


def test_editing_the_experiment_or_its_target_changes_no_started_run(target: m.Target) -> None:
    experiment = ready_experiment(target)
    run = start_run(None, experiment)
    experiment.lanes = 99
    experiment.save()
    target.config = {**target.config, "url": "http://127.0.0.1:10"}
    target.save()
    run.refresh_from_db()
    assert run.lanes == 4
    assert run.target_config["url"] != target.config["url"]


def test_a_stored_rubric_that_cannot_be_used_is_a_refusal_not_a_crash(target: m.Target) -> None:
    experiment = ready_experiment(target)
    assert experiment.rubric is not None
    experiment.rubric.current = m.RubricVersion.objects.create(
        rubric=experiment.rubric, number=2, fingerprint="g", template="Judge it."
    )
    experiment.rubric.save()
    codes = [refusal.code for refusal in plan_run(experiment).refusals]
    assert "rubric_broken" in codes
