"""The engine's Celery tasks: ids in, nothing out. Importing this module also readies a worker (see
`checks`)."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutting_down

from experiments.execution import checks, lanes, recovery

__all__ = ["drive_lanes", "sweep"]


@shared_task(name="experiments.execution.tasks.drive_lanes")
def drive_lanes(group_id: int, epoch: int) -> None:
    """Drive a lane group to its end; a second delivery changes nothing."""
    lanes.drive(group_id, epoch)


@shared_task(name="experiments.execution.tasks.sweep")
def sweep() -> None:
    """Repair what was left behind; safe at any time, also twice at once."""
    recovery.sweep()


@worker_init.connect
def refuse_prefork(sender: Any, **_: Any) -> None:
    """A worker with the wrong pool, or with time rules that contradict each other, does not start."""
    checks.ready_worker(sender)


@worker_shutting_down.connect
def leave(**_: Any) -> None:
    """Every lane group of this process stops claiming, finishes its calls and hands its lanes on."""
    lanes.shutting_down.set()
