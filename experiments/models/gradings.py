"""Gradings: complete passes over a run's stored evidence, as layers, with the figures every list reads."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.outcome import CriterionStatus, EvaluationOutcome, SettledBy
from experiments.evaluation.settle import SettleMode
from experiments.models.cases import Case, CaseVersion, SuiteVersion
from experiments.models.corpora import CorpusVersion
from experiments.models.fields import JsonTextField
from experiments.models.rubrics import RubricVersion
from experiments.models.runs import Attempt, Run


class Grading(models.Model):
    """One pass under one ruler: suite version, rubric version, judge, corpus and settle mode, all pinned.

    The first grading fills as attempts finish (OPEN) and closes with the run; a closed grading never changes.
    A run has exactly one current grading. The five case verdict counts and `totals` (the core's
    `AttemptCounts` document) are kept by the recorder, so no page recounts. `rate_low` and `rate_high` are
    the 95% interval of the pass rate from a bootstrap over cases, stored when the grading closes.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="gradings")
    number = models.PositiveIntegerField(default=1)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    is_current = models.BooleanField(default=True)
    suite_version = models.ForeignKey(SuiteVersion, on_delete=models.PROTECT, related_name="+")
    rubric_version = models.ForeignKey(
        RubricVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    judge_config = JsonTextField(null=True, blank=True)
    judge_model = models.CharField(max_length=200, blank=True)
    settle_mode = models.CharField(max_length=12)
    metric_versions = JsonTextField(default=dict, blank=True)
    passed_cases = models.PositiveIntegerField(default=0)
    failed_cases = models.PositiveIntegerField(default=0)
    varied_cases = models.PositiveIntegerField(default=0)
    undecided_cases = models.PositiveIntegerField(default=0)
    no_result_cases = models.PositiveIntegerField(default=0)
    counted = models.PositiveIntegerField(default=0, help_text="attempts judged: passed, failed or undecided")
    totals = JsonTextField(default=dict, blank=True)
    collected = models.BooleanField(default=False, help_text="its citations without a role are in the queue")
    rate_low = models.FloatField(null=True, blank=True)
    rate_high = models.FloatField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="grading_number_once"),
            models.UniqueConstraint(fields=["run"], condition=Q(is_current=True), name="grading_one_current"),
            models.CheckConstraint(condition=Q(state__in=["open", "closed"]), name="grading_state_known"),
            models.CheckConstraint(
                condition=Q(settle_mode__in=[mode.value for mode in SettleMode]),
                name="grading_settle_mode_known",
            ),
            models.CheckConstraint(
                condition=Q(rate_low__isnull=True, rate_high__isnull=True) | Q(rate_low__lte=F("rate_high")),
                name="grading_interval_ordered",
            ),
        ]
        indexes = [
            # The sweep: closed gradings whose citations nobody has collected.
            models.Index(
                fields=["id"], name="grading_to_collect", condition=Q(state="closed", collected=False)
            ),
        ]

    def __str__(self) -> str:
        return f"grading {self.number} of run {self.run_id}"


class Result(models.Model):
    """What a grading said of one attempt. An attempt that was not reached has none.

    `expectation` holds, in settle mode `both`, that part's own result (a core `EvaluationResult` document),
    so that a role decision can settle the criteria anew without calling the judge.
    """

    grading = models.ForeignKey(Grading, on_delete=models.PROTECT, related_name="results")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="results")
    outcome = models.CharField(max_length=16)
    passed = models.BooleanField()
    score = models.FloatField(null=True, blank=True)
    grade = models.PositiveSmallIntegerField(null=True, blank=True)
    threshold = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    evaluator = models.CharField(max_length=100)
    evaluator_version = models.CharField(max_length=40, default="1")
    settled_by = models.CharField(max_length=16)
    criteria_score = models.FloatField(null=True, blank=True)
    pass_score = models.FloatField(null=True, blank=True)
    judge_use = JsonTextField(null=True, blank=True)
    expectation = JsonTextField(null=True, blank=True)
    copied_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grading", "attempt"], name="result_one_an_attempt"),
            models.CheckConstraint(
                condition=Q(outcome__in=[outcome.value for outcome in EvaluationOutcome]),
                name="result_outcome_known",
            ),
            models.CheckConstraint(
                condition=Q(passed=False) | Q(outcome="VERDICT"), name="result_only_verdicts_pass"
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(score__gte=0, score__lte=1), name="result_score_share"
            ),
            models.CheckConstraint(
                condition=Q(grade__isnull=True) | Q(grade__gte=1, grade__lte=10), name="result_grade_1_to_10"
            ),
            models.CheckConstraint(
                condition=Q(settled_by__in=[by.value for by in SettledBy]), name="result_settled_by_known"
            ),
        ]

    def __str__(self) -> str:
        return f"result of attempt {self.attempt_id}"


class CriterionVerdict(models.Model):
    """What one criterion said of one attempt; `position` is its place in the list of criteria."""

    result = models.ForeignKey(Result, on_delete=models.PROTECT, related_name="verdicts")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=100)
    status = models.CharField(max_length=16)
    detail = models.TextField(blank=True)
    weight = models.FloatField(default=1.0)
    gate = models.BooleanField(default=False)
    data = JsonTextField(default=dict, blank=True)

    class Meta:
        ordering = ["result", "position"]
        constraints = [
            models.UniqueConstraint(fields=["result", "position"], name="criterion_verdict_once"),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in CriterionStatus]),
                name="criterion_verdict_status_known",
            ),
            models.CheckConstraint(condition=Q(weight__gte=0), name="criterion_verdict_weight_from_0"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.status}"


class CaseResult(models.Model):
    """One case of a grading: its verdict and everything a list shows or filters, kept as attempts finish.

    `verdict` is empty until the first attempt is in. `strip` holds one letter an attempt in order of number:
    P passed, F failed, U undecided, I inconclusive, E evaluator failed, S setup failed, N no reply, and a dot
    for one not yet in. `mean_seconds` and `tokens` (prompt + completion, all attempts; null when no attempt
    reported usage) are of the system under test. `search` is lower-case: key, turn, tags, first reason.
    """

    grading = models.ForeignKey(Grading, on_delete=models.PROTECT, related_name="case_results")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="+")
    case_version = models.ForeignKey(CaseVersion, on_delete=models.PROTECT, related_name="+")
    graded_version = models.ForeignKey(CaseVersion, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    verdict = models.CharField(max_length=10, blank=True)
    requested = models.PositiveIntegerField()
    passed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    undecided = models.PositiveIntegerField(default=0)
    inconclusive = models.PositiveIntegerField(default=0)
    evaluator_failed = models.PositiveIntegerField(default=0)
    setup_failed = models.PositiveIntegerField(default=0)
    no_reply = models.PositiveIntegerField(default=0)
    strip = models.TextField(blank=True)
    settled_by = models.CharField(max_length=16, blank=True)
    decided_by = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    mean_seconds = models.FloatField(null=True, blank=True)
    tokens = models.PositiveBigIntegerField(null=True, blank=True)
    tags = models.TextField(blank=True)
    search = models.TextField(blank=True)

    class Meta:
        ordering = ["grading", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["grading", "case"], name="case_result_once_a_grading"),
            models.CheckConstraint(
                condition=Q(verdict__in=["", *(verdict.value for verdict in CaseVerdict)]),
                name="case_result_verdict_known",
            ),
            models.CheckConstraint(
                condition=Q(
                    requested__gte=F("passed")
                    + F("failed")
                    + F("undecided")
                    + F("inconclusive")
                    + F("evaluator_failed")
                    + F("setup_failed")
                    + F("no_reply")
                ),
                name="case_result_counts_within_requested",
            ),
        ]
        indexes = [
            # The case table of a run, filtered by verdict or not, in the order of the suite.
            models.Index(fields=["grading", "verdict", "position", "id"], name="case_result_by_verdict"),
            models.Index(fields=["grading", "position", "id"], name="case_result_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.case_id} in grading {self.grading_id}: {self.verdict or 'not yet'}"

    @property
    def settled(self) -> int:
        """Attempts with a VERDICT."""
        return self.passed + self.failed


class CaseCriterion(models.Model):
    """One criterion over the attempts of one case; it flipped where passes and fails are both > 0."""

    case_result = models.ForeignKey(CaseResult, on_delete=models.PROTECT, related_name="criteria")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=100)
    passes = models.PositiveIntegerField(default=0)
    fails = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    not_applicable = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["case_result", "position"]
        constraints = [
            models.UniqueConstraint(fields=["case_result", "position"], name="case_criterion_once"),
        ]
        indexes = [
            # The cases of a grading that a criterion failed in.
            models.Index(
                fields=["kind", "case_result"], name="case_criterion_fails", condition=Q(fails__gt=0)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of case result {self.case_result_id}"
