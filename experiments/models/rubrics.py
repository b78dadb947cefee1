"""Rubrics: a judge's prompt as versioned data."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from experiments.evaluation import rubric
from experiments.models.base import Version
from experiments.models.fields import JsonTextField


class RubricKind(models.TextChoices):
    """What a judge is asked for; the values are the core's."""

    GRADE = rubric.RubricKind.grade.value, "grade from 1 to 10"
    LABEL = rubric.RubricKind.label.value, "labels"


class Rubric(models.Model):
    """A named judge's prompt; its wording is in its versions."""

    name = models.SlugField(max_length=100, unique=True)
    current = models.ForeignKey(
        "RubricVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class RubricVersion(Version):
    """One wording. A grade rubric's template holds the four placeholders; a label rubric its labels."""

    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="versions")
    kind = models.CharField(max_length=8, choices=RubricKind.choices, default=RubricKind.GRADE)
    template = models.TextField()
    labels = JsonTextField(default=list, blank=True)
    pass_labels = JsonTextField(default=list, blank=True)

    class Meta(Version.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["rubric", "number"], name="rubric_version_number_once"),
            models.CheckConstraint(condition=Q(kind__in=RubricKind.values), name="rubric_version_kind_known"),
            models.CheckConstraint(condition=~Q(template=""), name="rubric_version_has_template"),
        ]

    def __str__(self) -> str:
        return f"{self.rubric} v{self.number}"
