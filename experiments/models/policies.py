"""Policies: the rules the system under test was given while a run happened."""

from __future__ import annotations

from django.db import models

from experiments.models.base import Version


class Policy(models.Model):
    """A named policy; its text is in its versions."""

    name = models.SlugField(max_length=100, unique=True)
    current = models.ForeignKey(
        "PolicyVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.name


class PolicyVersion(Version):
    """One text of a policy."""

    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="versions")
    text = models.TextField()

    class Meta(Version.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["policy", "number"], name="policy_version_number_once"),
            models.CheckConstraint(condition=~models.Q(text=""), name="policy_version_has_text"),
        ]

    def __str__(self) -> str:
        return f"{self.policy} v{self.number}"
