"""Lanes are handed out exactly, and workers are told after commit, by ids only."""

from __future__ import annotations

from typing import Any

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from experiments import models as m
from experiments.execution import dispatch, leases, recovery
from experiments.execution.dispatch import allocate, dispatch_run, group_size
from tests.execution.world import Other, begun_group, plan


def live_lanes(run: m.Run) -> int:
    return sum(run.groups.exclude(state="ended").values_list("lanes", flat=True))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The messages that would go to the broker: (name, arguments, queue)."""
    messages: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, args, queue: messages.append((name, args, queue))
    )
    return messages


@pytest.mark.parametrize(
    ("broker", "lanes", "sizes"),
    [
        ("memory://", 1, [1]),
        ("memory://", 16, [16]),
        ("memory://", 64, [32, 32]),
        ("redis://", 8, [8]),
        ("redis://", 16, [8, 8]),
        ("redis://", 33, [17, 16]),
        ("redis://", 100, [25, 25, 25, 25]),
        ("redis://", 512, [32] * 16),
    ],
)
@pytest.mark.django_db
def test_lanes_are_spread_over_as_many_groups_as_they_need(
    broker: str, lanes: int, sizes: list[int], settings: Any
) -> None:
    settings.BROKER_URL = broker
    assert group_size(lanes) == sizes[0]
    planned = plan(cases=2, repeats=300, lanes=lanes)
    allocate(planned.run.pk)
    assert sorted(planned.run.groups.values_list("lanes", flat=True), reverse=True) == sizes


@pytest.mark.django_db
def test_no_more_lanes_are_handed_out_than_there_are_attempts() -> None:
    planned = plan(cases=3, repeats=1, lanes=64)
    allocate(planned.run.pk)
    assert live_lanes(planned.run) == 3


@pytest.mark.django_db
def test_a_run_gives_its_lanes_once_however_often_it_is_asked() -> None:
    planned = plan(cases=10, repeats=4, lanes=20)
    assert sum(dispatch_run(planned.run.pk) for _ in range(5)) == planned.run.groups.count()
    assert live_lanes(planned.run) == 20


@pytest.mark.django_db(transaction=True)
def test_lanes_stay_exact_when_many_allocate_at_once() -> None:
    planned = plan(cases=10, repeats=10, lanes=50)
    others = [Other(lambda: allocate(planned.run.pk)) for _ in range(4)]
    for other in others:
        other.result()
    assert live_lanes(planned.run) == 50


@pytest.mark.django_db
def test_the_lanes_of_finished_calls_go_to_the_successor_one_by_one() -> None:
    planned = plan(cases=10, repeats=4, lanes=8)
    hold = begun_group(planned)
    assert leases.stop_claims(hold, 6)
    allocate(planned.run.pk)
    assert sorted(planned.run.groups.values_list("lanes", flat=True)) == [2, 6]
    assert leases.stop_claims(hold, 1)
    allocate(planned.run.pk)
    assert sorted(planned.run.groups.values_list("lanes", flat=True)) == [1, 7], "the same successor, wider"
    leases.end_group(hold)
    allocate(planned.run.pk)
    assert planned.run.groups.count() == 2
    assert live_lanes(planned.run) == 8


@pytest.mark.django_db
def test_a_leaving_group_never_gets_lanes_back() -> None:
    planned = plan(cases=10, repeats=4, lanes=8)
    hold = begun_group(planned)
    leases.stop_claims(hold, 3)
    leases.stop_claims(hold, 7)
    assert m.LaneGroup.objects.get(pk=hold.group_id).lanes == 3


@pytest.mark.parametrize("state", ["stopping", "stopped", "finished"])
@pytest.mark.django_db
def test_a_run_that_does_not_run_gets_no_lanes(state: str) -> None:
    planned = plan()
    m.Run.objects.filter(pk=planned.run.pk).update(state=state, finished_at=planned.run.created_at)
    assert allocate(planned.run.pk) == []


@pytest.mark.django_db(transaction=True)
def test_workers_are_told_after_commit_and_by_ids_only(sent: list[tuple[Any, ...]]) -> None:
    planned = plan()
    with transaction.atomic():
        dispatch_run(planned.run.pk)
        assert sent == []
    group = planned.run.groups.get()
    assert sent == [("experiments.execution.tasks.drive_lanes", [group.pk, 1], "lanes")]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_for_what_was_rolled_back(sent: list[tuple[Any, ...]]) -> None:
    planned = plan()
    with transaction.atomic():
        dispatch_run(planned.run.pk)
        transaction.set_rollback(True)
    assert sent == []
    assert not planned.run.groups.exists()


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_costs_the_caller_nothing_and_the_sweep_sends_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app, "send_task", refuse)
    planned = plan()
    assert dispatch_run(planned.run.pk) == 1
    planned.run.refresh_from_db()
    assert "broker" in planned.run.last_error
    messages: list[Any] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args, queue: messages.append(args))
    assert recovery.sweep().sent_again == 1
    group = planned.run.groups.get()
    assert messages == [[group.pk, group.epoch]]
    assert recovery.sweep().sent_again == 0, "once is enough for a lease's time"
    assert leases.begin_group(group.pk, group.epoch)
    planned.run.refresh_from_db()
    assert planned.run.last_error == "", "a worker took it"


def test_messages_are_sent_from_one_file_only() -> None:
    from pathlib import Path

    package = Path(dispatch.__file__).parent
    senders = [
        path.name
        for path in package.glob("*.py")
        if any(word in path.read_text() for word in ("send_task", "apply_async", ".delay("))
    ]
    assert senders == ["dispatch.py"]
