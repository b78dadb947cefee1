"""System checks of the engine: time rules that contradict each other stop the start, with a sentence and an
id."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, run_checks
from django.db import DatabaseError

from experiments.models import Experiment, Run, RunState

PREFORK = (
    "evalsite.E014: evalsite workers run with -P threads; other pools fork or patch under threads and loops"
    " that lanes need. Start it with: celery -A evalsite worker -P threads"
)
THREADED = ("thread", "threads", "solo")
"""How the names of pools that may be used end, as words and as modules."""


def heartbeats_fit_into_leases(**_: Any) -> list[CheckMessage]:
    """evalsite.E010: three heartbeats must fit into a lease, or one late beat gives an attempt away."""
    if 3 * settings.HEARTBEAT_SECONDS < settings.LEASE_SECONDS:
        return []
    return [
        Error(
            f"EVALSITE_HEARTBEAT_SECONDS={settings.HEARTBEAT_SECONDS} does not fit three times into"
            f" EVALSITE_LEASE_SECONDS={settings.LEASE_SECONDS}.",
            hint="A lane group that is late once would lose its attempts. Make the lease longer.",
            id="evalsite.E010",
        )
    ]


def groups_end_before_messages_return(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """evalsite.E011: a group's time and the longest attempt must fit into the broker's visibility time-out.

    The longest deadline of an experiment or unfinished run is read when databases are checked (`check
    --database default`, `migrate`, the start of a worker); otherwise an experiment's default counts.
    """
    longest = _longest_attempt() if databases else _default_deadline()
    if settings.GROUP_SECONDS + longest < settings.VISIBILITY_SECONDS:
        return []
    return [
        Error(
            f"EVALSITE_GROUP_SECONDS={settings.GROUP_SECONDS} and the longest attempt's {longest} s"
            f" do not fit into EVALSITE_VISIBILITY_SECONDS={settings.VISIBILITY_SECONDS}.",
            hint="The broker would hand the message of a living lane group to a second worker.",
            id="evalsite.E011",
        )
    ]


def _default_deadline() -> int:
    return int(Experiment._meta.get_field("attempt_seconds").default)


def _longest_attempt() -> int:
    try:
        experiments = Experiment.objects.order_by("-attempt_seconds").values_list(
            "attempt_seconds", flat=True
        )
        runs = (
            Run.objects.filter(state__in=[RunState.RUNNING, RunState.STOPPING])
            .order_by("-attempt_seconds")
            .values_list("attempt_seconds", flat=True)
        )
        return max([_default_deadline(), *experiments[:1], *runs[:1]])
    except DatabaseError:
        # Before the first migrate there is no table; whoever needs the database says so better.
        return _default_deadline()


def pool_serves_every_thread(**_: Any) -> list[CheckMessage]:
    """evalsite.E012: each lane group keeps one database connection; the process's pool must have them all."""
    options = settings.DATABASES["default"].get("OPTIONS", {})
    most = options.get("pool", {}).get("max_size") if isinstance(options.get("pool"), dict) else None
    needed = settings.LANES_THREADS + settings.QUICK_THREADS
    if most is None or needed <= most:
        return []
    return [
        Error(
            f"EVALSITE_POOL={most} is less than EVALSITE_LANES_THREADS={settings.LANES_THREADS} and"
            f" EVALSITE_QUICK_THREADS={settings.QUICK_THREADS} together.",
            hint="Threads would wait for a connection that never comes. Make the pool larger.",
            id="evalsite.E012",
        )
    ]


def sweeps_within_a_lease(**_: Any) -> list[CheckMessage]:
    """evalsite.E013: a sweep that comes more seldom than leases end leaves lanes idle for longer than
    needed."""
    if settings.SWEEP_SECONDS <= settings.LEASE_SECONDS:
        return []
    return [
        Error(
            f"EVALSITE_SWEEP_SECONDS={settings.SWEEP_SECONDS} is longer than"
            f" EVALSITE_LEASE_SECONDS={settings.LEASE_SECONDS}.",
            hint="What a dead worker leaves would lie for a whole sweep after its lease. Sweep more often.",
            id="evalsite.E013",
        )
    ]


ALL = (
    heartbeats_fit_into_leases,
    groups_end_before_messages_return,
    pool_serves_every_thread,
    sweeps_within_a_lease,
)


def ready_worker(worker: Any) -> None:
    """Called as a worker starts. SystemExit, with one sentence, for a pool or time rules it must not run
    with."""
    pool = worker.pool_cls if isinstance(worker.pool_cls, str) else worker.pool_cls.__module__
    if not pool.endswith(THREADED):
        raise SystemExit(PREFORK)
    if os.environ.get("CELERY_SKIP_CHECKS"):
        return
    errors = [message for message in run_checks(databases=["default"]) if message.is_serious()]
    if errors:
        raise SystemExit("\n".join(str(message) for message in errors))
