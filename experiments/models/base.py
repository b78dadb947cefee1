"""What versioned things share."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Version(models.Model):
    """One immutable version of a named thing: its number counts from 1, its fingerprint names its content.

    A trigger refuses any change after insertion (see :mod:`experiments.models.protection`).
    """

    number = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        abstract = True
        ordering = ["-number"]
