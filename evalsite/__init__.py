"""Wiring of the site: settings, Celery, URLs. Tasks bind to the Celery application when Django starts."""

from evalsite.celery import app as celery_app

__all__ = ["celery_app"]
