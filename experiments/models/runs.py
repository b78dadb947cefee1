"""Runs and their attempts: what was asked, and what came back."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiments.evaluation.outcome import Cause
from experiments.models.cases import Case, CaseVersion
from experiments.models.experiments import MAX_LANES, Experiment
from experiments.models.fields import JsonTextField
from experiments.models.policies import PolicyVersion


class RunState(models.TextChoices):
    RUNNING = "running", "running"
    STOPPING = "stopping", "stopping"
    STOPPED = "stopped", "stopped"
    FINISHED = "finished", "finished"


class Run(models.Model):
    """One execution of an experiment; it pins what was asked of which system.

    ::

        RUNNING --every attempt DONE--------------> FINISHED
           |                                           |
           | stop                                      | retry failures
           v                                           v
        STOPPING --nothing in flight--> STOPPED --resume--> RUNNING

    What it was graded by is pinned by its gradings. `requested` and `finished` count attempts; how many of
    them count is in the grading. `busy_seconds` is lane time spent, for the saturation figure.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT, related_name="runs")
    token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.RUNNING)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    policy_version = models.ForeignKey(
        PolicyVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    target_name = models.CharField(max_length=100)
    target_config = JsonTextField()
    target_version = models.CharField(max_length=200, blank=True)
    lanes = models.PositiveSmallIntegerField()
    repeats = models.PositiveSmallIntegerField()
    attempt_seconds = models.PositiveIntegerField()
    requested = models.PositiveIntegerField()
    finished = models.PositiveIntegerField(default=0)
    busy_seconds = models.FloatField(default=0.0)
    last_error = models.TextField(blank=True)
    stop_reason = models.TextField(blank=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(lanes__gte=1, lanes__lte=MAX_LANES), name="run_lanes_1_to_512"
            ),
            models.CheckConstraint(condition=Q(repeats__gte=1), name="run_repeats_from_1"),
            models.CheckConstraint(
                condition=Q(finished__lte=models.F("requested")), name="run_finished_at_most_requested"
            ),
            models.CheckConstraint(
                condition=~Q(state="finished") | Q(finished_at__isnull=False), name="run_finished_has_time"
            ),
        ]
        indexes = [
            # The sweep and the pinned list on home ask for runs that still move.
            models.Index(
                fields=["id"], name="run_unfinished", condition=Q(state__in=["running", "stopping"])
            ),
            # The history of an experiment, newest first.
            models.Index(fields=["experiment", "-id"], name="run_of_experiment"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def number(self) -> int:
        """The number people say ("run 88"); unique over the site."""
        return self.pk


class LaneGroup(models.Model):
    """A worker's share of a run's lanes, while it drives them.

    The lanes of a run's live groups never add up to more than the run's. Every claim carries `epoch`; a group
    whose epoch has moved on (the sweep gave its lanes away) claims nothing.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "sent to the broker, not yet begun"
        ACTIVE = "active", "claims attempts"
        YIELDING = "yielding", "finishes what it holds"
        ENDED = "ended", "ended"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="groups")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    epoch = models.PositiveIntegerField(default=1)
    lanes = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "active", "yielding", "ended"]),
                name="lane_group_state_known",
            ),
            models.CheckConstraint(condition=Q(lanes__lte=MAX_LANES), name="lane_group_lanes_at_most_512"),
        ]
        indexes = [
            # The live groups of a run: allocation and sweep.
            models.Index(fields=["run"], name="lane_group_live", condition=~Q(state="ended")),
        ]

    def __str__(self) -> str:
        return f"group {self.pk} of run {self.run_id}"


class AttemptState(models.TextChoices):
    PENDING = "pending", "planned"
    CLAIMED = "claimed", "taken by a lane group, not yet asked"
    RUNNING = "running", "asked"
    DONE = "done", "done"
    CANCELLED = "cancelled", "cancelled"


class Attempt(models.Model):
    """One check of one case, as planned and as it ended.

    ::

        PENDING --claim (tries + 1)--> CLAIMED --call begins--> RUNNING --finish (tries match)--> DONE
           ^                              |                        |
           |<-----------------------------+------------------------+  the lease ran out: the sweep
           |--stop--> CANCELLED --resume--> PENDING

    `tries` is the fencing token: a finish that carries an older one changes no row, so no attempt ends twice.
    A retried failure is a new row with the next `take`; the older row stays and stops counting (`counts`)
    once the new one is done. The evidence is in :class:`AttemptEvidence`, so that lists never load it.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="attempts")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="+")
    case_version = models.ForeignKey(CaseVersion, on_delete=models.PROTECT, related_name="+")
    number = models.PositiveIntegerField()
    take = models.PositiveSmallIntegerField(default=1)
    counts = models.BooleanField(default=True)
    state = models.CharField(max_length=10, choices=AttemptState.choices, default=AttemptState.PENDING)
    tries = models.PositiveIntegerField(default=0)
    group = models.ForeignKey(
        LaneGroup, null=True, blank=True, on_delete=models.PROTECT, related_name="attempts"
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    failure_cause = models.CharField(max_length=16, blank=True)
    failure_detail = models.TextField(blank=True)

    class Meta:
        ordering = ["run", "case", "number", "take"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "case_version", "number", "take"], name="attempt_planned_once"
            ),
            models.UniqueConstraint(
                fields=["run", "case", "number"], condition=Q(counts=True), name="attempt_one_counts"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="attempt_number_from_1"),
            models.CheckConstraint(condition=Q(take__gte=1), name="attempt_take_from_1"),
            models.CheckConstraint(condition=Q(state__in=AttemptState.values), name="attempt_state_known"),
            models.CheckConstraint(
                condition=Q(failure_cause__in=["", *(cause.value for cause in Cause)]),
                name="attempt_cause_known",
            ),
            models.CheckConstraint(
                condition=Q(state="done", finished_at__isnull=False)
                | (~Q(state="done") & Q(finished_at__isnull=True)),
                name="attempt_done_has_time",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["claimed", "running"], group__isnull=False, lease_until__isnull=False)
                | ~Q(state__in=["claimed", "running"]),
                name="attempt_in_flight_has_lease",
            ),
        ]
        indexes = [
            # Claiming: the next planned attempts of a run.
            models.Index(fields=["run", "id"], name="attempt_pending", condition=Q(state="pending")),
            # The sweep: leases that ran out.
            models.Index(
                fields=["lease_until"], name="attempt_leased", condition=Q(state__in=["claimed", "running"])
            ),
            # Renewal: what a group holds.
            models.Index(
                fields=["group"], name="attempt_held", condition=Q(state__in=["claimed", "running"])
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.case_id} in run {self.run_id}"


class AttemptEvidence(models.Model):
    """Everything recorded about one attempt: the core's `Evidence`. Immutable, but for `purge_evidence`.

    `document` is null after a purge (retention, right to erasure); results and figures stay.
    """

    attempt = models.OneToOneField(
        Attempt, primary_key=True, on_delete=models.PROTECT, related_name="evidence"
    )
    document = JsonTextField(null=True)
    purged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(document__isnull=False, purged_at__isnull=True)
                | Q(document__isnull=True, purged_at__isnull=False),
                name="evidence_kept_or_purged",
            ),
        ]

    def __str__(self) -> str:
        return f"evidence of attempt {self.attempt_id}"
