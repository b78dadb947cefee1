"""Quick jobs: ids in, nothing out; each does its row's work once and is safe to be told twice."""

from __future__ import annotations

from celery import shared_task

from experiments.services import applying, collecting, comparisons


@shared_task(name="experiments.services.tasks.collect_citations")
def collect_citations(grading_id: int) -> None:
    """Put the citations without a role of a closed grading into the queue."""
    collecting.collect_citations(grading_id)


@shared_task(name="experiments.services.tasks.apply_decisions")
def apply_decisions(application_id: int) -> None:
    """Put gathered decisions into new case versions and new gradings."""
    applying.run_application(application_id)


@shared_task(name="experiments.services.tasks.apply_gathered")
def apply_gathered() -> None:
    """Apply decisions that have waited for a minute without a new one."""
    applying.apply_gathered()


@shared_task(name="experiments.services.tasks.compare_gradings")
def compare_gradings(comparison_id: int) -> None:
    """Compute a comparison that somebody asked for."""
    comparisons.run_comparison(comparison_id)
