"""Wrong time rules stop the start, and a prefork worker does not start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import run_checks

from experiments.execution import checks
from tests.factories import make_experiment


def ids(databases: list[str] | None = None) -> set[str | None]:
    return {message.id for message in run_checks(databases=databases)}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, None),
        ({"HEARTBEAT_SECONDS": 20}, "evalsite.E010"),
        ({"HEARTBEAT_SECONDS": 19}, None),
        ({"GROUP_SECONDS": 3480}, "evalsite.E011"),
        ({"GROUP_SECONDS": 3479}, None),
        (
            {"LANES_THREADS": 11, "DATABASES": {"default": {"OPTIONS": {"pool": {"max_size": 12}}}}},
            "evalsite.E012",
        ),
        ({"LANES_THREADS": 10, "DATABASES": {"default": {"OPTIONS": {"pool": {"max_size": 12}}}}}, None),
        ({"SWEEP_SECONDS": 61}, "evalsite.E013"),
    ],
)
def test_time_rules_that_contradict_each_other_are_refused(
    changes: dict[str, Any], found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {
        "HEARTBEAT_SECONDS": 15,
        "LEASE_SECONDS": 60,
        "SWEEP_SECONDS": 20,
        "GROUP_SECONDS": 600,
        "VISIBILITY_SECONDS": 3600,
        "LANES_THREADS": 4,
        "QUICK_THREADS": 2,
        "DATABASES": {"default": {}},
        **changes,
    }
    monkeypatch.setattr(checks, "settings", SimpleNamespace(**values))
    told = [message.id for check in checks.ALL for message in check()]
    assert told == ([found] if found else [])


def test_the_checks_run_with_djangos() -> None:
    from django.core.checks.registry import registry

    assert set(checks.ALL) <= set(registry.registered_checks)


@pytest.mark.django_db
def test_the_longest_deadline_of_an_experiment_counts_when_databases_are_checked() -> None:
    assert "evalsite.E011" not in ids(["default"])
    make_experiment(attempt_seconds=3500)
    assert "evalsite.E011" in ids(["default"])
    assert "evalsite.E011" not in ids()


@pytest.mark.parametrize(
    "pool", ["prefork", "processes", "gevent", SimpleNamespace(__module__="celery.concurrency.prefork")]
)
def test_a_prefork_worker_does_not_start(pool: Any) -> None:
    with pytest.raises(SystemExit, match=r"evalsite\.E014: .*-P threads"):
        checks.ready_worker(SimpleNamespace(pool_cls=pool))


@pytest.mark.django_db
@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_worker_with_threads_starts_unless_a_check_fails(pool: str) -> None:
    worker = SimpleNamespace(pool_cls=pool)
    checks.ready_worker(worker)
    make_experiment(attempt_seconds=3500)
    with pytest.raises(SystemExit, match="EVALSITE_GROUP_SECONDS"):
        checks.ready_worker(worker)
