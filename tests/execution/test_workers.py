"""Real Celery workers drive runs: as processes over Redis, in a thread over the broker in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import current_app

from experiments import models as m
from experiments.execution.local import worker_listens
from experiments.services.runs import start_run, stop_run
from tests.execution.workers import Worker, over_redis, until, worker_in_thread, worker_processes
from tests.execution.world import Desk, experiment_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[None]:
    """A worker on both queues, as this test run has them."""
    if over_redis():
        with worker_processes(request.getfixturevalue("child_environment"), "one"):
            yield
    else:
        with worker_in_thread():
            yield


def ended(run: m.Run) -> bool:
    run.refresh_from_db()
    return run.state in ("finished", "stopped")


@pytest.mark.slow
def test_a_worker_drives_what_is_started_stops_when_asked_and_takes_the_next(
    desk: Desk, worker: None
) -> None:
    assert worker_listens() == over_redis(), "a broker in memory reaches no other process"
    run = start_run(None, experiment_for(desk.url, ["yes", "no"] * 5, repeats=4, lanes=4))
    until(lambda: ended(run))
    assert (run.state, run.finished, len(desk.asked), max(desk.asked.values())) == ("finished", 40, 40, 1)
    grading = run.gradings.get()
    assert (grading.passed_cases, grading.failed_cases) == (5, 5)
    desk.seconds = 0.05
    stopped = start_run(None, experiment_for(desk.url, ["yes"] * 20, repeats=20, lanes=2))
    until(lambda: m.Attempt.objects.filter(run=stopped, state="done").count() > 3)
    stop_run(None, stopped)
    until(lambda: ended(stopped))
    assert stopped.state == "stopped"
    assert m.Attempt.objects.filter(run=stopped, state="done").count() == stopped.finished < 400
    assert m.Attempt.objects.filter(run=stopped, state="cancelled").count() == 400 - stopped.finished


@pytest.mark.slow
def test_a_worker_that_starts_takes_up_what_was_left(desk: Desk, request: pytest.FixtureRequest) -> None:
    run = start_run(None, experiment_for(desk.url, ["yes"] * 3, repeats=2, lanes=2))
    current_app.control.purge()
    m.LaneGroup.objects.filter(run=run).update(state="ended")
    request.getfixturevalue("worker")
    until(lambda: ended(run))
    assert (run.state, run.finished) == ("finished", 6)


@pytest.mark.slow
def test_a_prefork_worker_is_refused_with_one_sentence(child_environment: dict[str, str]) -> None:
    # "-P prefork" itself is Celery's default and gives way to the pool of the settings.
    worker = Worker(child_environment, "forking", pool="processes")
    try:
        code, said = worker.ended()
    finally:
        worker.close()
    assert code != 0
    assert "evalsite.E014" in said
    assert "-P threads" in said


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.skipif(not over_redis(), reason="needs worker processes")
def test_a_worker_that_is_asked_to_end_finishes_its_calls_and_another_goes_on(
    desk: Desk, child_environment: dict[str, str]
) -> None:
    desk.seconds = 0.05
    with worker_processes(child_environment, "one", "two") as (one, two):
        run = start_run(None, experiment_for(desk.url, ["yes"] * 40, repeats=5, lanes=8))
        until(lambda: m.Attempt.objects.filter(run=run, state="done").count() > 20)
        group = run.groups.filter(state="active")[0]
        leaving = one if f"/{one.pid}/" in group.worker else two
        assert leaving.stop() < 10
        until(lambda: ended(run))
        assert (run.state, run.finished, desk.most) == ("finished", 200, 8)
        assert max(desk.asked.values()) == 1, "nothing was asked twice"
