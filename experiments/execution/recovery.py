"""The sweep: whatever a killed process, a lost message or a broker that was away left behind goes on.

Every step is a conditional UPDATE or works under the run's lock, so the sweep is idempotent and may run
twice at once. The rows are the truth; no step trusts that a message was or will be delivered.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from experiments.execution import sql
from experiments.execution.attempts import put_back
from experiments.execution.dispatch import dispatch_run, send, send_job, waiting_jobs
from experiments.execution.finishing import finish_run
from experiments.execution.leases import IN_FLIGHT, is_gone, supersede
from experiments.models import Attempt, LaneGroup, Run, RunState

log = logging.getLogger("experiments.execution")

State = LaneGroup.State
_PROCESS_SINCE = time.monotonic()


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did; all zero when there was nothing to do."""

    superseded: int = 0
    returned: int = 0
    sent_again: int = 0
    dispatched: int = 0
    finished: int = 0


def sweep(only: int | None = None) -> Swept:
    """End silent lane groups, return expired leases, repeat lost messages, hand out free lanes, finish runs;
    the last three for the run `only` when it is given."""
    superseded = supersede(silent_groups())
    returned = return_expired()
    again = sum(send(group_id, epoch) for group_id, epoch in unheard_groups(only))
    dispatched = finished = 0
    moving = Run.objects.filter(state__in=[RunState.RUNNING, RunState.STOPPING])
    if only is not None:
        moving = moving.filter(pk=only)
    for run_id in list(moving.values_list("pk", flat=True)):
        try:
            dispatched += dispatch_run(run_id)
            finished += finish_run(run_id)
        except Exception:
            # One run in trouble must not keep the others waiting.
            log.exception("run %s could not be swept; the next sweep tries again", run_id)
    if only is None:
        for task, row_id in waiting_jobs():
            send_job(task, row_id)
    done = Swept(superseded, returned, again, dispatched, finished)
    if done != Swept():
        log.info("sweep: %s", done)
    return done


def silent_groups() -> list[int]:
    """Groups that should beat and do not: the heartbeat is older than a lease, or their process is known
    dead."""
    beating = LaneGroup.objects.filter(state__in=[State.ACTIVE, State.YIELDING])
    silent = Q(heartbeat_at__lt=sql.later(-settings.LEASE_SECONDS))
    found = list(beating.filter(silent).values_list("pk", flat=True))
    for group_id, worker in beating.exclude(silent).values_list("pk", "worker"):
        if is_gone(worker):
            found.append(group_id)
    return sorted(found)


def return_expired() -> int:
    """Attempts whose lease ran out, back to PENDING (or CANCELLED in a run that is being stopped)."""
    expired = Attempt.objects.filter(state__in=IN_FLIGHT, lease_until__lt=sql.later(0))
    returned = 0
    for run_id in sorted(set(expired.values_list("run_id", flat=True))):
        with transaction.atomic():
            # Rows that a recorder or another sweep holds at this moment are left to them.
            mine = expired.filter(run_id=run_id).order_by("pk").select_for_update(skip_locked=True)
            returned += put_back(Attempt.objects.filter(pk__in=[attempt.pk for attempt in mine]), run_id)
    return returned


def unheard_groups(only: int | None = None) -> list[tuple[int, int]]:
    """Waiting groups that nobody was told about for a lease's time, stamped as told now: `(id, epoch)`.

    With the broker in memory, what was sent before this process began is known to be lost.
    """
    found, patience = [], float(settings.LEASE_SECONDS)
    if settings.BROKER_URL.startswith("memory"):
        patience = min(patience, time.monotonic() - _PROCESS_SINCE)
    waiting = LaneGroup.objects.filter(state=State.WAITING, heartbeat_at__lt=sql.later(-patience))
    if only is not None:
        waiting = waiting.filter(run_id=only)
    for group_id, epoch in list(waiting.values_list("pk", "epoch")):
        if waiting.filter(pk=group_id).update(heartbeat_at=sql.later(0)):
            found.append((group_id, epoch))
    return found
