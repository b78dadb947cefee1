"""The sweep: whatever was left behind goes on, once, however often and wherever the sweep runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from experiments import models as m
from experiments.execution import attempts, leases
from experiments.execution.dispatch import dispatch_run
from experiments.execution.finishing import finish_run
from experiments.execution.leases import is_gone, process_space, worker_name
from experiments.execution.recording import record
from experiments.execution.recovery import Swept, sweep
from experiments.execution.setting import Cases
from tests.execution.world import Other, asked, begun_group, finished, plan

LONG_AGO = timedelta(seconds=settings.LEASE_SECONDS + 5)


def silence(group_id: int) -> None:
    """The group's last sign of life was more than a lease ago, and so were its attempts' leases."""
    past = timezone.now() - LONG_AGO
    m.LaneGroup.objects.filter(pk=group_id).update(heartbeat_at=past)
    m.Attempt.objects.filter(group_id=group_id, state__in=["claimed", "running"]).update(lease_until=past)


@pytest.mark.django_db
def test_a_sweep_with_nothing_to_do_does_nothing() -> None:
    planned = plan()
    hold = begun_group(planned)
    asked(hold, 2)
    assert sweep() == Swept()
    assert planned.states() == {"running": 2, "pending": 2}


@pytest.mark.django_db
def test_a_silent_group_is_ended_and_what_it_held_is_planned_again() -> None:
    planned = plan(lanes=4)
    hold = begun_group(planned)
    asked(hold, 2)
    attempts.claim(hold, 1)
    silence(hold.group_id)
    swept = sweep()
    assert (swept.superseded, swept.dispatched) == (1, 1)
    assert planned.states() == {"pending": 4}
    old, new = planned.run.groups.order_by("id")
    assert (old.state, old.epoch, new.state, new.lanes) == ("ended", 2, "waiting", 4)
    assert attempts.claim(hold, 4) == []
    assert leases.look(hold) is None
    assert not leases.renew(hold, [])
    assert sweep() == Swept()


@pytest.mark.django_db
def test_a_result_of_a_superseded_group_that_comes_after_all_is_not_counted_twice() -> None:
    planned = plan(cases=1, repeats=1)
    old = begun_group(planned)
    (late,) = asked(old, 1)
    silence(old.group_id)
    sweep()
    (again,) = asked(begun_group(planned), 1)
    assert record(planned.place, [finished(again)], Cases()) == 1
    assert record(planned.place, [finished(late, passed=False)], Cases()) == 0
    assert planned.case_result().strip == "P"


@pytest.mark.django_db
def test_an_expired_lease_goes_back_although_the_group_lives() -> None:
    planned = plan()
    hold = begun_group(planned)
    (claim,) = asked(hold, 1)
    m.Attempt.objects.filter(pk=claim.attempt_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert sweep().returned == 1
    assert planned.states() == {"pending": 4}
    assert m.LaneGroup.objects.get(pk=hold.group_id).state == "active"


@pytest.mark.django_db
def test_a_renewed_lease_stays() -> None:
    planned = plan()
    hold = begun_group(planned)
    (claim,) = asked(hold, 1)
    silence(hold.group_id)
    assert leases.renew(hold, [claim.attempt_id])
    assert sweep() == Swept()
    assert planned.states() == {"running": 1, "pending": 3}


@pytest.mark.django_db
def test_what_a_living_group_claimed_without_hearing_of_it_expires() -> None:
    planned = plan()
    hold = begun_group(planned)
    known, unknown = attempts.claim(hold, 2)
    silence(hold.group_id)
    assert leases.renew(hold, [known.attempt_id])
    assert sweep().returned == 1
    assert m.Attempt.objects.get(pk=unknown.attempt_id).state == "pending"
    assert m.Attempt.objects.get(pk=known.attempt_id).state == "claimed"


@pytest.mark.django_db
def test_in_a_run_that_is_being_stopped_lost_attempts_are_cancelled_and_the_run_stops() -> None:
    planned = plan()
    hold = begun_group(planned)
    asked(hold, 1)
    m.Run.objects.filter(pk=planned.run.pk).update(state="stopping")
    m.Attempt.objects.filter(state="pending").update(state="cancelled")
    silence(hold.group_id)
    swept = sweep()
    assert (swept.superseded, swept.finished) == (1, 1)
    planned.run.refresh_from_db()
    assert (planned.run.state, planned.states()) == ("stopped", {"cancelled": 4})


@pytest.mark.django_db
def test_a_message_that_was_lost_is_sent_again_after_a_lease() -> None:
    planned = plan()
    dispatch_run(planned.run.pk)
    assert sweep().sent_again == 0
    planned.run.groups.update(heartbeat_at=timezone.now() - LONG_AGO)
    assert sweep().sent_again == 1
    assert planned.run.groups.get().epoch == 1, "the same group, the same epoch"


@pytest.mark.django_db
def test_a_run_whose_last_group_died_before_it_could_finish_it_is_finished() -> None:
    planned = plan(cases=1, repeats=1)
    hold = begun_group(planned)
    record(planned.place, [finished(claim) for claim in asked(hold, 1)], Cases())
    silence(hold.group_id)
    assert sweep().finished == 1
    planned.run.refresh_from_db()
    assert planned.run.state == "finished"


@pytest.mark.django_db
def test_a_sweep_for_one_run_leaves_the_others_to_their_workers() -> None:
    one, other = plan(), plan()
    assert sweep(one.run.pk).dispatched == 1
    assert not other.run.groups.exists()


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_do_everything_once() -> None:
    planned = plan(cases=4, repeats=4, lanes=8)
    hold = begun_group(planned)
    asked(hold, 6)
    silence(hold.group_id)
    start = threading.Barrier(3)

    def swept() -> Swept:
        start.wait(10)
        return sweep()

    others = [Other(swept) for _ in range(3)]
    results = [other.result() for other in others]
    assert sum(result.superseded for result in results) == 1
    assert planned.states() == {"pending": 16}
    live = planned.run.groups.exclude(state="ended")
    assert sum(live.values_list("lanes", flat=True)) == 8
    assert sum(result.dispatched for result in results) == live.count()


@pytest.mark.django_db(transaction=True)
def test_a_run_is_finished_once_by_whoever_comes_first() -> None:
    planned = plan(cases=2, repeats=2)
    record(planned.place, [finished(claim) for claim in asked(begun_group(planned), 4)], Cases())
    start = threading.Barrier(4)

    def finish() -> bool:
        start.wait(10)
        return finish_run(planned.run.pk)

    others = [Other(finish) for _ in range(4)]
    assert sorted(other.result() for other in others) == [False, False, False, True]
    assert m.Activity.objects.filter(object_type="run", verb="finished").count() == 1


# -- processes ----------------------------------------------------------------------------------------------


def test_a_process_is_known_to_be_gone_only_where_its_id_means_something() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    name = f"{process_space()}/{child.pid}/thread"
    assert not is_gone(name)
    child.kill()
    # Not waited for yet: a zombie is as dead.
    while not is_gone(name):
        assert child.returncode is None
    child.wait()
    assert is_gone(name)
    assert not is_gone(f"another-host/12345678-1/{child.pid}/thread")
    assert not is_gone("")
    assert not is_gone(worker_name())
    assert worker_name().split("/")[2] == str(os.getpid())


@pytest.mark.django_db
def test_a_group_whose_process_is_known_dead_is_ended_without_waiting_for_its_lease() -> None:
    planned = plan()
    hold = begun_group(planned)
    asked(hold, 2)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    m.LaneGroup.objects.update(worker=f"{process_space()}/{child.pid}/thread")
    assert sweep().superseded == 1
    assert planned.states() == {"pending": 4}
