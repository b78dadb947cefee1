"""Giving a run's lanes to lane groups and telling the workers: the only file that sends Celery messages.

A message holds a group's id and epoch. It is sent after commit and is only a hint: the group's row says
what is to be done, delivered twice it changes nothing, and what is never delivered the sweep sends again.

How many groups share a run: as many as its lanes need at 32 a group, and from 16 lanes on two at least, so
that two worker processes (two cores) can share them; with the broker in memory there is one process, and
one is enough.
"""

from __future__ import annotations

import logging
import math

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from experiments.execution import sql
from experiments.models import (
    Application,
    Attempt,
    AttemptState,
    Comparison,
    Grading,
    JobState,
    LaneGroup,
    Run,
    RunState,
)

log = logging.getLogger("experiments.execution")

DRIVE = "experiments.execution.tasks.drive_lanes"
COLLECT = "experiments.services.tasks.collect_citations"
APPLY = "experiments.services.tasks.apply_decisions"
COMPARE = "experiments.services.tasks.compare_gradings"
GROUP_LANES = 32
"""The most lanes one event loop drives."""
JOB_SECONDS = 10
"""A job that waits longer was perhaps never heard of; sent twice it changes nothing."""
SHARED_FROM = 16
"""A run with this many lanes is driven by two groups at least."""

State = LaneGroup.State


def group_size(lanes: int) -> int:
    """How many lanes each of a run's groups has, the last one perhaps fewer."""
    groups = math.ceil(lanes / GROUP_LANES)
    if groups == 1 and lanes >= SHARED_FROM and not settings.BROKER_URL.startswith("memory"):
        groups = 2
    return math.ceil(lanes / groups)


def allocate(run_id: int) -> list[tuple[int, int]]:
    """Hand out the lanes of a RUNNING run that no live group has: `(id, epoch)` of the groups made.

    Exact: under a lock on the run's row, the lanes of its live groups never add up to more than its own.
    Groups that claim (or wait for a thread) are widened to their full size before new ones are made, and no
    more lanes are handed out than there are attempts to claim.
    """
    with transaction.atomic():
        run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
        if run.state != RunState.RUNNING:
            return []
        live = list(run.groups.exclude(state=State.ENDED).order_by("id"))
        free = run.lanes - sum(group.lanes for group in live)
        if free < 1:
            return []
        pending = Attempt.objects.filter(run_id=run_id, state=AttemptState.PENDING)
        free = min(free, pending.values("pk")[:free].count())
        size = group_size(run.lanes)
        for group in live:
            more = min(free, size - group.lanes)
            if more > 0 and group.state in (State.WAITING, State.ACTIVE):
                # The state again in the same statement: a group that yields meanwhile gets nothing.
                widened = LaneGroup.objects.filter(pk=group.pk, state=group.state, lanes=group.lanes)
                free -= more * widened.update(lanes=group.lanes + more)
        made = []
        while free > 0:
            lanes = min(free, size)
            made.append(LaneGroup.objects.create(run=run, lanes=lanes, heartbeat_at=Now()))
            free -= lanes
    return [(group.pk, group.epoch) for group in made]


def dispatch_run(run_id: int) -> int:
    """Hand out a run's free lanes and tell the workers, once the surrounding transaction (if any) commits.

    Safe at any time and any number of times. Returns how many new groups were made.
    """
    groups = allocate(run_id)
    for group_id, epoch in groups:
        transaction.on_commit(lambda group_id=group_id, epoch=epoch: send(group_id, epoch))  # type: ignore[misc]
    return len(groups)


def send(group_id: int, epoch: int) -> bool:
    """Tell the workers about a group. False when the broker could not be reached: the run waits, says so, and
    the next sweep tells them again."""
    try:
        current_app.send_task(DRIVE, args=[group_id, epoch], queue="lanes")
    except Exception as error:  # the transports raise errors of their own; none may reach a caller's request
        log.warning("group %s waits: the broker could not be reached (%s)", group_id, type(error).__name__)
        LaneGroup.objects.filter(pk=group_id, state=State.WAITING).update(
            heartbeat_at=sql.later(-2 * settings.LEASE_SECONDS)
        )
        Run.objects.filter(groups=group_id).update(
            last_error="The broker could not be reached; the run goes on when it is back."
        )
        return False
    return True


def send_job(task: str, row_id: int) -> None:
    """Tell the workers about a quick job, once the surrounding transaction (if any) commits. When the broker
    cannot be reached the job waits: its row says so and the sweep sends it again."""
    transaction.on_commit(lambda: _send_job(task, row_id))


def _send_job(task: str, row_id: int) -> None:
    try:
        current_app.send_task(task, args=[row_id], queue="quick")
    except Exception as error:  # as in `send`: no transport's error may reach a caller's request
        log.warning(
            "job %s %s waits: the broker could not be reached (%s)", task, row_id, type(error).__name__
        )


def waiting_jobs() -> list[tuple[str, int]]:
    """Every job whose row waits for longer than a message takes: (task, row id)."""
    old = sql.later(-JOB_SECONDS)
    collect = Grading.objects.filter(state=Grading.State.CLOSED, collected=False, closed_at__lt=old)
    waiting = {"state": JobState.WAITING, "created_at__lt": old}
    return [
        *((COLLECT, key) for key in collect.values_list("pk", flat=True)),
        *((APPLY, key) for key in Application.objects.filter(**waiting).values_list("pk", flat=True)),
        *((COMPARE, key) for key in Comparison.objects.filter(**waiting).values_list("pk", flat=True)),
    ]
