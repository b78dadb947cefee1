"""The append-only log: who did what, when, to which object, with what before and after."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from experiments.models.access import User
from experiments.models.fields import JsonTextField


class Activity(models.Model):
    """One action. Written by services in the transaction of the change itself, so neither exists alone.

    `actor` is empty for what the product does by itself (a run that finishes); `actor_name` keeps the name as
    it was. A trigger refuses UPDATE and DELETE.
    """

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="activities"
    )
    actor_name = models.CharField(max_length=150)
    verb = models.CharField(max_length=40)
    object_type = models.CharField(max_length=40)
    object_id = models.BigIntegerField()
    object_label = models.CharField(max_length=200)
    before = JsonTextField(null=True, blank=True)
    after = JsonTextField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "activity"
        indexes = [
            # The activity of one object, newest first.
            models.Index(fields=["object_type", "object_id", "-id"], name="activity_of_object"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.verb} {self.object_label}"


def record_activity(
    actor: User | None, verb: str, target: models.Model, *, before: Any = None, after: Any = None
) -> Activity:
    """Append one line about `target`; call it inside the transaction that makes the change."""
    line = activity_line(actor, verb, target, before=before, after=after)
    line.save()
    return line


def activity_line(
    actor: User | None, verb: str, target: models.Model, *, before: Any = None, after: Any = None
) -> Activity:
    """The line `record_activity` would append, unsaved: for verbs that append many at once."""
    return Activity(
        actor=actor,
        actor_name=actor.get_username() if actor else "evalsite",
        verb=verb,
        object_type=type(target).__name__.lower(),
        object_id=target.pk,
        object_label=str(target)[:200],
        before=before,
        after=after,
    )
