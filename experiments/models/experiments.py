"""Experiments: what to run, named."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from experiments.evaluation.settle import SettleMode
from experiments.models.cases import Suite
from experiments.models.corpora import Corpus
from experiments.models.fields import JsonTextField
from experiments.models.policies import Policy
from experiments.models.rubrics import Rubric
from experiments.models.systems import JudgeModel, Target

MAX_LANES = 512


class SettleChoice(models.TextChoices):
    """How an attempt is settled; empty means by criteria when there are any, else by expectation."""

    DEFAULT = "", "by criteria if there are any, else by expectation"
    EXPECTATION = SettleMode.expectation.value, "by expectation"
    CRITERIA = SettleMode.criteria.value, "by criteria"
    BOTH = SettleMode.both.value, "by both"


class Experiment(models.Model):
    """Named cases, rubric, policy, target, lanes and repeats. A run pins the versions current at its start.

    `tags` narrows the suite to the cases that carry any of them; empty means all.
    """

    name = models.SlugField(max_length=100, unique=True)
    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="experiments")
    tags = JsonTextField(default=list, blank=True)
    rubric = models.ForeignKey(Rubric, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    policy = models.ForeignKey(Policy, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    target = models.ForeignKey(Target, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    judge = models.ForeignKey(JudgeModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    corpus = models.ForeignKey(Corpus, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    settle_mode = models.CharField(
        max_length=12, choices=SettleChoice.choices, default=SettleChoice.DEFAULT, blank=True
    )
    lanes = models.PositiveSmallIntegerField(
        default=8,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_LANES)],
        help_text="how many attempts execute at once, 1 to 512",
    )
    repeats = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1)], help_text="attempts of each case"
    )
    attempt_seconds = models.PositiveIntegerField(
        default=120, validators=[MinValueValidator(1)], help_text="deadline of one attempt, judge included"
    )
    accept_errors = models.BooleanField(
        default=False,
        help_text="start although a service is missing; its criteria are then errors",
    )
    baseline = models.ForeignKey("Run", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(lanes__gte=1, lanes__lte=MAX_LANES), name="experiment_lanes_1_to_512"
            ),
            models.CheckConstraint(condition=Q(repeats__gte=1), name="experiment_repeats_from_1"),
            models.CheckConstraint(condition=Q(attempt_seconds__gte=1), name="experiment_deadline_from_1"),
            models.CheckConstraint(
                condition=Q(settle_mode__in=SettleChoice.values), name="experiment_settle_mode_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
