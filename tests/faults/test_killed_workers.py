"""kill -9 and a database that hangs up, in the middle of a run, lose and double nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from experiments import models as m
from experiments.execution import leases, recovery
from experiments.services.runs import start_run
from tests.execution.workers import over_redis, until, worker_processes
from tests.execution.world import Desk, Other, drive_all, experiment_for, open_desk
from tests.sites import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]

TURNS = ["yes one", "no two", "silent three", "yes four", "no five"] * 8
LANES = 6


def verdicts(run: m.Run) -> list[tuple[str, str, str]]:
    rows = m.CaseResult.objects.filter(grading__run=run).order_by("position")
    return [(row.verdict, row.strip, row.reason) for row in rows]


def figures(run: m.Run) -> dict[str, Any]:
    grading = run.gradings.get()
    totals = {name: count for name, count in grading.totals.items() if name not in ("busy_ms", "latency")}
    names = ("passed_cases", "failed_cases", "varied_cases", "undecided_cases", "no_result_cases", "counted")
    return {**{name: getattr(grading, name) for name in names}, **totals}


def done(run: m.Run) -> int:
    return m.Attempt.objects.filter(run=run, state="done").count()


def swept_to_its_end(run: m.Run) -> bool:
    recovery.sweep()
    run.refresh_from_db()
    return run.state == "finished"


def assert_nothing_lost_or_doubled(run: m.Run, undisturbed: m.Run) -> None:
    run.refresh_from_db()
    assert (run.state, run.finished) == ("finished", 200)
    assert Counter(run.attempts.values_list("state", flat=True)) == {"done": 200}
    results = m.Result.objects.filter(attempt__run=run)
    reached = run.attempts.filter(failure_cause="").count()
    assert results.count() == results.values("attempt").distinct().count() == reached
    assert verdicts(run) == verdicts(undisturbed)
    assert figures(run) == figures(undisturbed)
    assert m.Activity.objects.filter(object_type="run", object_id=run.pk, verb="finished").count() == 1


def in_the_middle(run: m.Run) -> bool:
    count = done(run)
    assert count < 180, "too late for a kill"
    return count >= 40


def undisturbed_run() -> m.Run:
    with open_desk() as desk:
        run = start_run(None, experiment_for(desk.url, TURNS, repeats=5, lanes=LANES))
        drive_all(run)
        run.refresh_from_db()
        return run


def settle(desk: Desk) -> None:
    """What the dead process had asked is answered to nobody: lanes are counted anew after that."""
    assert desk.most <= LANES
    time.sleep(2 * desk.seconds)
    desk.most = 0


@pytest.mark.services
@pytest.mark.skipif(not over_redis(), reason="needs worker processes")
@pytest.mark.parametrize("seen_dead", [True, False], ids=["by its process", "by its heartbeat"])
def test_a_killed_worker_loses_and_doubles_nothing(
    seen_dead: bool, child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Whether the sweep sees the dead process itself or only that its heartbeat stopped (another host)."""
    undisturbed = undisturbed_run()
    times = {"LEASE_SECONDS": 4, "HEARTBEAT_SECONDS": 1, "SWEEP_SECONDS": 1}
    for name, value in times.items():
        setattr(settings, name, value)
    environment = {**child_environment, **{f"EVALSITE_{name}": str(value) for name, value in times.items()}}
    if not seen_dead:
        monkeypatch.setattr(recovery, "is_gone", lambda _: False)
    with open_desk(seconds=0.05) as desk, worker_processes(environment, "one", "two") as (one, two):
        run = start_run(None, experiment_for(desk.url, TURNS, repeats=5, lanes=LANES))
        until(lambda: in_the_middle(run))
        group = run.groups.filter(state="active")[0]
        victim = one if f"/{one.pid}/" in group.worker else two
        victim.kill()
        assert run.attempts.filter(state="running", group=group).exists(), "it held attempts"
        settle(desk)
        until(lambda: swept_to_its_end(run), 180, pause=0.2)
        assert desk.most <= LANES
    assert_nothing_lost_or_doubled(run, undisturbed)
    assert run.groups.filter(pk=group.pk, state="ended", epoch=2).exists()


@pytest.mark.skipif(over_redis(), reason="the embedded mode is for SQLite and the broker in memory")
def test_a_killed_process_of_the_embedded_mode_loses_and_doubles_nothing(
    child_environment: dict[str, str],
) -> None:
    undisturbed = undisturbed_run()
    with open_desk(seconds=0.05) as desk:
        experiment = experiment_for(desk.url, TURNS, repeats=5, lanes=LANES)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_experiment", experiment.name],
            cwd=ROOT,
            env=child_environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: m.Run.objects.filter(experiment=experiment).exists(), 60)
            run = m.Run.objects.get(experiment=experiment)
            until(lambda: in_the_middle(run), 120)
        finally:
            process.kill()
            process.wait(10)
        held = run.attempts.filter(state__in=leases.IN_FLIGHT).count()
        assert held > 0, "it held attempts"
        settle(desk)
        assert recovery.sweep().superseded == 1
        drive_all(run)
        assert desk.most <= LANES
        assert len(desk.asked) > 200, "what was in flight was asked again, under another key"
        assert len(desk.asked) <= 200 + held
        assert max(desk.asked.values()) == 1
    assert_nothing_lost_or_doubled(run, undisturbed)


@pytest.mark.services
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a file cannot hang up")
def test_a_database_that_hangs_up_again_and_again_loses_and_doubles_nothing(settings: Any) -> None:
    undisturbed = undisturbed_run()
    settings.LEASE_SECONDS, settings.HEARTBEAT_SECONDS = 4, 1
    with open_desk(seconds=0.02) as desk:
        run = start_run(None, experiment_for(desk.url, TURNS, repeats=5, lanes=LANES))
        driving = Other(lambda: drive_all(run))
        until(lambda: in_the_middle(run), 120)
        hang_ups = 0
        while driving.is_alive() and hang_ups < 8:
            time.sleep(0.1)
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                hang_ups += 1
        driving.join(180)
        while not swept_to_its_end(run):
            drive_all(run)
        assert desk.most <= LANES
    assert hang_ups > 1
    assert_nothing_lost_or_doubled(run, undisturbed)
