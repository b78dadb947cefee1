"""Rows for tests, complete and valid; what a test is about it says itself."""

from __future__ import annotations

from itertools import count
from typing import Any

from django.utils import timezone

from experiments import models
from experiments.evaluation import EvalCase
from experiments.mapping import case_version_row

_numbers = count(1)
NOWHERE = {"adapter": "contract_http", "url": "http://127.0.0.1:9"}
"""A target configuration that connects to nothing: port 9 is closed."""


def make_user(role: str = models.Role.VIEWER, **fields: Any) -> models.User:
    """A user with this role and no usable password."""
    user = models.User(**{"username": f"{role or 'stranger'}-{next(_numbers)}", "role": role, **fields})
    user.set_unusable_password()
    user.save()
    return user


def make_suite(name: str = "", **version: Any) -> models.Suite:
    """A suite without cases; `version` sets criteria, pass_score or messages of its version 1."""
    number = next(_numbers)
    suite = models.Suite.objects.create(name=name or f"suite-{number}")
    suite.current = models.SuiteVersion.objects.create(
        suite=suite, number=1, fingerprint=f"{number:064x}", **version
    )
    suite.save()
    return suite


def make_case(suite: models.Suite, key: str, **content: Any) -> models.Case:
    """A case with its first version; `content` is what the core's EvalCase takes beside its id."""
    case = models.Case.objects.create(suite=suite, key=key, position=suite.cases.count())
    value = EvalCase.model_validate({"id": key, "turn": f"question {key}?", **content})
    version = case_version_row(case, 1, value, None)
    version.save()
    case.current = version
    case.save()
    return case


def make_target(**config: Any) -> models.Target:
    """A target; without a `url` it connects to nothing."""
    return models.Target.objects.create(name=f"target-{next(_numbers)}", config={**NOWHERE, **config})


def make_experiment(**fields: Any) -> models.Experiment:
    """An experiment with a suite and a target of its own unless given; 4 lanes, 2 repeats."""
    fields = {"suite": None, "target": None, "lanes": 4, "repeats": 2, **fields}
    fields["suite"] = fields["suite"] or make_suite()
    fields["target"] = fields["target"] or make_target()
    return models.Experiment.objects.create(**{"name": f"experiment-{next(_numbers)}", **fields})


def make_run(experiment: models.Experiment | None = None, **fields: Any) -> models.Run:
    """A running run without attempts; `services.runs.start_run` makes a whole one."""
    return models.Run.objects.create(
        **{
            "experiment": experiment or make_experiment(),
            "target_name": "target",
            "target_config": NOWHERE,
            "lanes": 4,
            "repeats": 2,
            "attempt_seconds": 60,
            "requested": 2,
            "started_at": timezone.now(),
            **fields,
        }
    )


def make_grading(run: models.Run | None = None, **fields: Any) -> models.Grading:
    """The current, open, empty grading of `run`, by expectation."""
    run = run or make_run()
    version = run.experiment.suite.current
    return models.Grading.objects.create(
        **{"run": run, "suite_version": version, "settle_mode": "expectation", **fields}
    )
