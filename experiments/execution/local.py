"""Driving one run in this process, for a command where no worker would: the same lane groups, in threads."""

from __future__ import annotations

import logging
import threading
import time

from celery import current_app
from django.conf import settings
from django.db import connection

from experiments.execution import lanes, recovery
from experiments.models import LaneGroup

log = logging.getLogger("experiments.execution")

POLL_SECONDS = 0.1
PING_SECONDS = 1.0


def worker_listens() -> bool:
    """Whether a worker takes lane groups from the broker. A broker in memory reaches no other process."""
    if settings.BROKER_URL.startswith("memory"):
        return False
    try:
        found = current_app.control.inspect(timeout=PING_SECONDS).active_queues() or {}
    except Exception as error:  # the transports raise errors of their own
        log.warning("the broker could not be asked for workers (%s)", type(error).__name__)
        return False
    return any(queue.get("name") == "lanes" for queues in found.values() for queue in queues)


class LocalDriver:
    """Drives the lane groups of one run as they are made, sweeping for it, until `close`.

    A worker that takes a group first is welcome to it: a group begins once.
    """

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._closed = threading.Event()
        self._groups: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._work, name=f"run-{run_id}")

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Let the groups finish their calls, then return."""
        self._closed.set()
        self._thread.join()

    def _work(self) -> None:
        swept = time.monotonic()
        taken: set[int] = set()
        try:
            while not self._closed.wait(POLL_SECONDS):
                try:
                    self._take_groups(taken)
                    if time.monotonic() - swept >= settings.SWEEP_SECONDS:
                        swept = time.monotonic()
                        recovery.sweep(self._run_id)
                except Exception:
                    # A database that is gone for a moment; the next round asks again.
                    log.exception("run %s cannot be looked after now", self._run_id)
                    connection.close()
        finally:
            connection.close()
            for group in self._groups:
                group.join()

    def _take_groups(self, taken: set[int]) -> None:
        waiting = LaneGroup.objects.filter(run_id=self._run_id, state=LaneGroup.State.WAITING)
        for group_id, epoch in list(waiting.values_list("pk", "epoch")):
            if group_id not in taken:
                taken.add(group_id)
                group = threading.Thread(target=_drive, args=(group_id, epoch), name=f"lanes-{group_id}")
                group.start()
                self._groups.append(group)


def _drive(group_id: int, epoch: int) -> None:
    try:
        lanes.drive(group_id, epoch, may_yield=False)
    except Exception:
        log.exception("group %s broke off", group_id)
