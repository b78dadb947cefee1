"""Lane groups at work on a real HTTP service and a real database file (or PostgreSQL)."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from experiments import models as m
from experiments.execution import lanes, leases, recorder, recovery
from experiments.execution.recording import record
from experiments.execution.setting import read_setting
from experiments.mapping import evidence_of
from experiments.services.runs import resume_run, start_run, stop_run
from tests.execution.world import Desk, Other, drive_all, experiment_for, open_desk

pytestmark = pytest.mark.django_db(transaction=True)


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    """Wait for the condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def drive_first(run: m.Run) -> Other:
    """The run's waiting group, driven in a thread."""
    group = run.groups.filter(state="waiting").order_by("id")[0]
    return Other(lambda: lanes.drive(group.pk, group.epoch))


def cases_of(run: m.Run) -> list[tuple[str, str]]:
    rows = m.CaseResult.objects.filter(grading__run=run).order_by("position")
    return [(row.verdict, row.strip) for row in rows]


def test_a_run_is_driven_to_its_end_and_every_attempt_ends_as_what_it_was(desk: Desk) -> None:
    turns = ["yes please", "no idea", "silent one", "broken one"]
    run = start_run(None, experiment_for(desk.url, turns, repeats=3, lanes=4))
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished, run.requested) == ("finished", 12, 12)
    assert run.started_at is not None
    assert cases_of(run) == [
        ("PASSED", "PPP"),
        ("FAILED", "FFF"),
        ("NO_RESULT", "NNN"),
        ("NO_RESULT", "NNN"),
    ]
    grading = run.gradings.get()
    assert (grading.state, grading.passed_cases, grading.failed_cases, grading.no_result_cases) == (
        ("closed", 1, 1, 2)
    )
    assert (grading.counted, grading.totals["passed"], grading.totals["no_reply"]) == (6, 3, 6)
    passing = m.Attempt.objects.filter(run=run, case__key="case-0").order_by("number")[0]
    evidence = evidence_of(passing.evidence.document)
    assert evidence is not None
    assert evidence.reply == "within thirty days"
    assert 0 < desk.most <= 4
    assert m.LaneGroup.objects.filter(run=run).exclude(state="ended").count() == 0


def test_lanes_are_never_exceeded_as_the_target_sees_it() -> None:
    with open_desk(seconds=0.02) as desk:
        run = start_run(None, experiment_for(desk.url, ["yes"] * 10, repeats=8, lanes=5))
        drive_all(run)
        run.refresh_from_db()
        assert (run.finished, desk.most) == (80, 5)


def test_a_message_delivered_ten_times_drives_the_group_once(desk: Desk) -> None:
    run = start_run(None, experiment_for(desk.url, ["yes"] * 5, repeats=4, lanes=4))
    group = run.groups.get()
    others = [Other(lambda: lanes.drive(group.pk, group.epoch)) for _ in range(10)]
    assert sorted(other.result() for other in others) == [False] * 9 + [True]
    run.refresh_from_db()
    assert (run.state, run.finished) == ("finished", 20)
    assert max(desk.asked.values()) == 1
    assert len(desk.asked) == 20


def test_a_start_with_the_same_token_is_one_run(desk: Desk) -> None:
    experiment, token = experiment_for(desk.url, ["yes"], repeats=2, lanes=2), uuid.uuid4()
    others = [Other(lambda: start_run(None, experiment, token).pk) for _ in range(4)]
    (run_id,) = {other.result() for other in others}
    assert m.Run.objects.count() == 1
    drive_all(m.Run.objects.get(pk=run_id))
    assert m.Attempt.objects.filter(state="done").count() == len(desk.asked) == 2


def test_stop_lets_calls_in_flight_finish_and_resume_asks_the_rest(desk: Desk) -> None:
    desk.hold = threading.Event()
    run = start_run(None, experiment_for(desk.url, ["yes"] * 6, repeats=2, lanes=3))
    driving = drive_first(run)
    until(lambda: desk.now == 3)
    stop_run(None, run)
    assert run.state == "stopping"
    desk.hold.set()
    driving.result()
    run.refresh_from_db()
    assert (run.state, run.finished) == ("stopped", 3)
    states = m.Attempt.objects.filter(run=run).values_list("state", flat=True)
    assert sorted(states) == ["cancelled"] * 9 + ["done"] * 3
    assert len(desk.asked) == 3
    assert run.gradings.get().totals["failed"] == 0, "a stop is never a fail"
    resume_run(None, run)
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished, len(desk.asked)) == ("finished", 12, 12)
    assert max(desk.asked.values()) == 1
    assert cases_of(run) == [("PASSED", "PP")] * 6
    verbs = list(m.Activity.objects.filter(object_type="run").order_by("id").values_list("verb", flat=True))
    assert verbs == ["started", "stopped", "stopped", "resumed", "finished"]


def test_a_stop_with_nothing_in_flight_ends_the_run_at_once(desk: Desk) -> None:
    run = start_run(None, experiment_for(desk.url, ["yes"], repeats=2, lanes=2))
    assert stop_run(None, run).state == "stopped"
    assert not desk.asked


def test_a_superseded_group_breaks_off_and_its_successor_finishes_the_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "LOOK_SECONDS", 0.05)
    desk.hold = threading.Event()
    run = start_run(None, experiment_for(desk.url, ["yes"] * 4, repeats=2, lanes=2))
    group = run.groups.get()
    driving = drive_first(run)
    until(lambda: desk.now == 2)
    assert leases.supersede([group.pk]) == 1
    assert driving.result() is True
    desk.hold.set()
    assert m.Attempt.objects.filter(run=run, state="done").count() == 0
    recovery.sweep()
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished) == ("finished", 8)
    assert cases_of(run) == [("PASSED", "PP")] * 4


def test_a_group_whose_time_is_over_hands_its_lanes_to_a_successor_while_calls_go_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(lanes, "LOOK_SECONDS", 0.05)
    settings.GROUP_SECONDS = 0.3
    desk.seconds = 0.02
    run = start_run(None, experiment_for(desk.url, ["yes"] * 20, repeats=5, lanes=4))
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished) == ("finished", 100)
    assert run.groups.count() > 1
    assert desk.most <= 4
    assert max(desk.asked.values()) == 1


def test_free_lanes_work_for_the_successor_before_the_last_call_ends(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Four lanes, one call that hangs: the nineteen others are answered meanwhile."""
    monkeypatch.setattr(lanes, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(lanes, "LEAVING_LOOK_SECONDS", 0.02)
    settings.GROUP_SECONDS = 0.2
    desk.hold, desk.held, desk.seconds = threading.Event(), "no hang", 0.1
    run = start_run(None, experiment_for(desk.url, ["no hang", *["yes"] * 19], repeats=1, lanes=4))
    first = run.groups.get()
    driving = drive_first(run)
    until(lambda: run.groups.filter(state="waiting", lanes=3).exists())
    assert m.LaneGroup.objects.get(pk=first.pk).lanes == 1
    settings.GROUP_SECONDS = 600
    successor = drive_first(run)
    until(lambda: m.Attempt.objects.filter(run=run, state="done").count() == 19)
    assert driving.is_alive()
    assert desk.most == 4
    desk.hold.set()
    driving.result()
    successor.result()
    run.refresh_from_db()
    assert (run.state, run.finished, desk.most) == ("finished", 20, 4)


def test_a_group_makes_room_when_another_run_waits_for_a_thread(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(lanes, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(leases, "QUEUED_SECONDS", 0.1)
    settings.SLICE_SECONDS = 0.2
    desk.seconds = 0.02
    run = start_run(None, experiment_for(desk.url, ["yes"] * 20, repeats=20, lanes=2))
    driving = drive_first(run)
    other = start_run(None, experiment_for(desk.url, ["no"], repeats=1, lanes=2))
    driving.result()
    run.refresh_from_db()
    assert run.state == "running", "it made room before its end"
    assert run.finished < 400
    assert run.groups.filter(state="waiting").count() == 1
    drive_all(other)
    other.refresh_from_db()
    assert other.state == "finished"
    stop_run(None, run)


def test_a_worker_that_shuts_down_lets_go_after_its_calls(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "LOOK_SECONDS", 0.05)
    desk.seconds = 0.02
    run = start_run(None, experiment_for(desk.url, ["yes"] * 20, repeats=5, lanes=2))
    driving = drive_first(run)
    until(lambda: len(desk.asked) > 4)
    lanes.shutting_down.set()
    driving.result(5)
    run.refresh_from_db()
    states = set(m.Attempt.objects.filter(run=run).values_list("state", flat=True))
    assert (run.state, states) == ("running", {"done", "pending"})
    assert run.finished == len(desk.asked)
    lanes.shutting_down.clear()
    recovery.sweep()
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished, max(desk.asked.values())) == ("finished", 100, 1)


def test_a_database_that_is_gone_for_a_moment_costs_no_result(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[int] = []

    def flaky(*args: Any) -> int:
        if len(failed) < 3:
            failed.append(1)
            raise OperationalError("server closed the connection unexpectedly")
        return record(*args)

    monkeypatch.setattr(recorder, "record", flaky)
    run = start_run(None, experiment_for(desk.url, ["yes"] * 4, repeats=2, lanes=4))
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished, len(failed)) == ("finished", 8, 3)
    assert max(desk.asked.values()) == 1


def test_a_result_the_database_refuses_costs_only_itself(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(place: Any, batch: Any, case_of: Any) -> int:
        if any(one.evidence is not None and one.planned.case.id == "case-1" for one in batch):
            raise ValueError("out of range")
        return record(place, batch, case_of)

    monkeypatch.setattr(recorder, "record", refusing)
    run = start_run(None, experiment_for(desk.url, ["yes"] * 3, repeats=2, lanes=4))
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.finished) == ("finished", 6)
    assert cases_of(run) == [("PASSED", "PP"), ("NO_RESULT", "EE"), ("PASSED", "PP")]


def test_a_run_that_no_worker_can_set_up_says_why_and_waits(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_run(None, experiment_for(desk.url, ["yes"], repeats=1, lanes=1))

    def broken(run_id: int) -> None:
        raise ValueError("no such adapter")

    monkeypatch.setattr(lanes, "read_setting", broken)
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.last_error) == ("running", "A worker could not go on: ValueError: no such adapter")
    monkeypatch.setattr(lanes, "read_setting", read_setting)
    recovery.sweep()
    drive_all(run)
    run.refresh_from_db()
    assert (run.state, run.last_error) == ("finished", "")


def test_a_group_of_a_process_leaves_no_database_connection_behind(desk: Desk) -> None:
    from django.db import connection

    run = start_run(None, experiment_for(desk.url, ["yes"], repeats=2, lanes=2))
    threads = threading.active_count()
    drive_all(run)
    assert threading.active_count() == threads
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            assert cursor.fetchone() == (1,)
