"""Suites and cases: what is asked and how it is graded, as immutable versions."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from experiments.models.base import Version
from experiments.models.fields import JsonTextField


class Suite(models.Model):
    """A named collection of cases with the criteria, pass score and messages they share."""

    name = models.SlugField(max_length=100, unique=True)
    description = models.TextField(blank=True)
    current = models.ForeignKey(
        "SuiteVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class SuiteVersion(Version):
    """The rules every case of a suite shares: criteria (`[{kind, params, weight, gate}]`), the pass score in
    [0, 1], and the project messages by code (`{code: text}`)."""

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="versions")
    criteria = JsonTextField(default=list, blank=True)
    pass_score = models.FloatField(default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    messages = JsonTextField(default=dict, blank=True)

    class Meta(Version.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["suite", "number"], name="suite_version_number_once"),
            models.CheckConstraint(
                condition=Q(pass_score__gte=0) & Q(pass_score__lte=1), name="suite_version_pass_score_share"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.suite} v{self.number}"


class Case(models.Model):
    """One thing to test, known by its stable key within its suite; its content is in its versions.

    A case is archived, never deleted: finished runs point at it.
    """

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="cases")
    key = models.CharField(max_length=200)
    current = models.ForeignKey(
        "CaseVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    position = models.PositiveIntegerField(default=0, help_text="its place in the suite")
    archived_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite", "position", "key"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "key"], name="case_key_once_a_suite"),
            models.CheckConstraint(condition=~Q(key=""), name="case_key_not_empty"),
        ]

    def __str__(self) -> str:
        return self.key


class CaseVersion(Version):
    """One wording of a case. `content` is the core's `EvalCase` document.

    `fingerprint` (*asked*: turn, setup, variant) says whether two runs asked the same; `graded_fingerprint`
    (expectation, expected outcome, sources, nuggets, criteria) whether they were graded alike.
    `walks` and `seeded` are facts of the setup that a report counts.
    """

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="versions")
    content = JsonTextField()
    graded_fingerprint = models.CharField(max_length=64)
    turn = models.TextField()
    tags = JsonTextField(default=list, blank=True)
    walks = models.BooleanField(default=False)
    seeded = models.BooleanField(default=False)

    class Meta(Version.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["case", "number"], name="case_version_number_once"),
            models.CheckConstraint(
                condition=~Q(graded_fingerprint="") & ~Q(fingerprint=""), name="case_version_has_fingerprints"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.case} v{self.number}"
