"""A lane group's life in its row: begun, seen every second, renewed, yielding, ended, superseded.

Everything is a conditional UPDATE on id and epoch, on the database's clock. A group that no longer matches
has been superseded and has no right to anything.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from experiments.execution import sql
from experiments.execution.attempts import Hold, put_back
from experiments.models import Attempt, AttemptState, LaneGroup, Run

State = LaneGroup.State
IN_FLIGHT = (AttemptState.CLAIMED, AttemptState.RUNNING)
QUEUED_SECONDS = 2
"""A group that has waited this long for a thread is not merely under way."""


def begin_group(group_id: int, epoch: int) -> Hold | None:
    """WAITING -> ACTIVE, once: None for a message that comes a second time, or for a superseded group."""
    begun = LaneGroup.objects.filter(pk=group_id, epoch=epoch, state=State.WAITING).update(
        state=State.ACTIVE, heartbeat_at=Now(), worker=worker_name()
    )
    if not begun:
        return None
    run_id = LaneGroup.objects.values_list("run_id", flat=True).get(pk=group_id)
    Run.objects.filter(pk=run_id, started_at=None).update(started_at=Now())
    Run.objects.filter(pk=run_id).exclude(last_error="").update(last_error="")
    return Hold(group_id, epoch, run_id)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a group sees of itself: the lanes it has now and whether it may go on claiming."""

    lanes: int
    claiming: bool


def look(hold: Hold) -> Sight | None:
    """The group as its row has it; None when it was superseded."""
    found = sql.fetch(
        """
        SELECT g.lanes, g.state, r.state
        FROM experiments_lanegroup g JOIN experiments_run r ON r.id = g.run_id
        WHERE g.id = %s AND g.epoch = %s AND g.state IN ('active', 'yielding')
        """,
        [hold.group_id, hold.epoch],
    )
    if not found:
        return None
    lanes, state, run_state = found[0]
    return Sight(lanes, state == "active" and run_state == "running")


def renew(hold: Hold, attempt_ids: Sequence[int]) -> bool:
    """The heartbeat and, in the same transaction, the leases of the attempts the group knows it holds. False:
    superseded. What it claimed without ever hearing of it (the connection broke) expires."""
    with transaction.atomic():
        beaten = LaneGroup.objects.filter(
            pk=hold.group_id, epoch=hold.epoch, state__in=[State.ACTIVE, State.YIELDING]
        ).update(heartbeat_at=Now())
        if beaten:
            held = Attempt.objects.filter(pk__in=attempt_ids, group_id=hold.group_id, state__in=IN_FLIGHT)
            held.update(lease_until=sql.later(settings.LEASE_SECONDS))
    return bool(beaten)


def stop_claims(hold: Hold, keep: int) -> bool:
    """ACTIVE -> YIELDING, and down to the `keep` lanes whose calls are still going. False: superseded.

    A yielding group comes by here as its calls finish; its lanes only ever become fewer.
    """
    mine = LaneGroup.objects.filter(pk=hold.group_id, epoch=hold.epoch)
    mine.filter(state=State.ACTIVE).update(state=State.YIELDING)
    mine.filter(state=State.YIELDING, lanes__gt=keep).update(lanes=keep)
    return mine.filter(state=State.YIELDING).exists()


def end_group(hold: Hold) -> bool:
    """Any state -> ENDED; its lanes are free. False: it had been superseded."""
    live = LaneGroup.objects.filter(pk=hold.group_id, epoch=hold.epoch).exclude(state=State.ENDED)
    return bool(live.update(state=State.ENDED, ended_at=Now()))


def should_yield(hold: Hold) -> bool:
    """Whether another run waits for a thread and this group is the one to make room: the longest active
    groups go first, one for each that waits."""
    waiting = (
        LaneGroup.objects.filter(state=State.WAITING, created_at__lt=sql.later(-QUEUED_SECONDS))
        .exclude(run_id=hold.run_id)
        .count()
    )
    if not waiting:
        return False
    older = LaneGroup.objects.filter(state=State.ACTIVE, pk__lt=hold.group_id).count()
    leaving = LaneGroup.objects.filter(state=State.YIELDING).count()
    return older + leaving < waiting


def supersede(group_ids: list[int]) -> int:
    """End live groups from outside and free what they hold. A claim and this wait for each other's row
    lock, so nothing a superseded group claimed is left behind. How many groups were ended."""
    ended = 0
    for group_id in group_ids:
        with transaction.atomic():
            group = (
                LaneGroup.objects.select_for_update(skip_locked=True)
                .filter(pk=group_id)
                .exclude(state=State.ENDED)
                .first()
            )
            if group is None:
                continue
            group.state, group.epoch = State.ENDED, group.epoch + 1
            group.save(update_fields=["state", "epoch"])
            LaneGroup.objects.filter(pk=group_id).update(ended_at=Now())
            put_back(Attempt.objects.filter(group_id=group_id, state__in=IN_FLIGHT), group.run_id)
            ended += 1
    return ended


# -- which process drives a group ---------------------------------------------------------------------------


def worker_name() -> str:
    """This process and thread, for `LaneGroup.worker`: `host/space/pid/thread`."""
    return f"{process_space()}/{os.getpid()}/{threading.current_thread().name}"[:200]


@cache
def process_space() -> str:
    """Where a process id means something: this host, since its last boot, in this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return f"{socket.gethostname()}/"
    return f"{socket.gethostname()}/{boot[:8]}-{space}"


def is_gone(worker: str) -> bool:
    """Whether the process that drove a group is known to be dead. Only ever true of this very process space:
    of any other host or container the heartbeat has to tell."""
    space, _, rest = worker.partition(f"{process_space()}/")
    if space or not rest or process_space().endswith("/"):
        return False
    try:
        pid = int(rest.split("/", 1)[0])
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError):
        return False
    return _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
