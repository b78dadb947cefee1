"""The Celery application: two queues, JSON only, no results. The row is the truth, the message a hint."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

SWEEP = "experiments.execution.tasks.sweep"

app = Celery("evalsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["experiments.execution", "experiments.services", "experiments.transfer"])


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Being connected is the whole job: Celery then leaves the logging of the settings alone."""


@worker_ready.connect
def sweep_at_start(**_: Any) -> None:
    """A worker that starts picks up what a killed one left; running the sweep twice changes nothing."""
    app.send_task(SWEEP)
