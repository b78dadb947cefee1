"""Comparisons of two gradings, computed once by a quick task and read by every page after that."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from experiments.models.fields import JsonTextField
from experiments.models.gradings import CaseResult, Grading
from experiments.models.reviews import JobState


class Comparison(models.Model):
    """Grading `a` (left, the baseline) against `b`. `document` holds gate, matrix, interval, sign test.

    Both gradings are closed, so what was computed once stays right.
    """

    a = models.ForeignKey(Grading, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(Grading, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.WAITING)
    error = models.TextField(blank=True)
    document = JsonTextField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["a", "b"], name="comparison_once"),
            models.CheckConstraint(condition=~Q(a=F("b")), name="comparison_of_two"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="comparison_state_known"),
            models.CheckConstraint(
                condition=~Q(state="done") | Q(document__isnull=False), name="comparison_done_has_document"
            ),
        ]

    def __str__(self) -> str:
        return f"comparison of gradings {self.a_id} and {self.b_id}"


class ComparedCase(models.Model):
    """One case of a comparison, for the table and its filters.

    `flipped` names the criterion or evaluator that changed its mind; `position` orders by how bad the change
    is, then by the suite.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.PROTECT, related_name="cases")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200)
    change = models.CharField(max_length=12)
    a = models.ForeignKey(CaseResult, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(CaseResult, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    a_verdict = models.CharField(max_length=10, blank=True)
    b_verdict = models.CharField(max_length=10, blank=True)
    flipped = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["comparison", "position"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "key"], name="compared_case_once"),
            models.UniqueConstraint(fields=["comparison", "position"], name="compared_case_position_once"),
            models.CheckConstraint(
                condition=Q(a__isnull=False) | Q(b__isnull=False), name="compared_case_has_a_side"
            ),
        ]
        indexes = [
            # One tab of the table, or one cell of the matrix.
            models.Index(fields=["comparison", "change", "position"], name="compared_case_by_change"),
            models.Index(
                fields=["comparison", "a_verdict", "b_verdict", "position"], name="compared_case_by_cell"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.change}"
