"""What people decide: cited sources without a role, taken one by one, as layers that only grow."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from experiments.models.cases import Case
from experiments.models.fields import JsonTextField
from experiments.models.gradings import Grading
from experiments.models.runs import Attempt, Run


class SourceRole(models.TextChoices):
    """What a cited source is for a case. The last two leave the case's sources as they are."""

    REQUIRED = "required", "required"
    ACCEPTABLE = "acceptable", "acceptable"
    FORBIDDEN = "forbidden", "forbidden"
    NOT_A_SOURCE = "not_a_source", "not a source"
    CANNOT_TELL = "cannot_tell", "cannot tell"


class ItemState(models.TextChoices):
    WAITING = "waiting", "waiting"
    NEEDS_SECOND = "needs_second", "needs a second reviewer"
    DISAGREED = "disagreed", "reviewers disagree"
    SETTLED = "settled", "settled"


TO_APPLY = (
    Q(current__isnull=False, applied__isnull=True)
    | Q(current__isnull=True, applied__isnull=False)
    | (Q(current__isnull=False, applied__isnull=False) & ~Q(current=F("applied")))
)
"""Items whose standing decision is not the one their case reflects."""


class ReviewItem(models.Model):
    """One cited id without a source role, for one case. Its occurrences over attempts and runs hang below it.

    ::

        WAITING --take--> (held until the lease ends) --decision--> SETTLED
           |                                          \\--another wanted--> NEEDS_SECOND --agrees--> SETTLED
           |<--skip, lease ends                                                  \\--differs--> DISAGREED
           |<--undo-- SETTLED                                 DISAGREED --a third person decides--> SETTLED

    *Held* is no state of its own: it is a holder with a lease that has not ended, so nothing expires it.
    `current` is the decision that stands, `applied` the one that the case's newest version reflects; where
    they differ the decision waits to be applied. `version` counts every change a reviewer could have missed.
    `weight` is how many counted attempts cite it, by which the queue is ordered.
    """

    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="review_items")
    unit_id = models.CharField(max_length=300)
    state = models.CharField(max_length=16, choices=ItemState.choices, default=ItemState.WAITING)
    wanted = models.PositiveSmallIntegerField(default=1, help_text="how many distinct reviewers settle it")
    version = models.PositiveIntegerField(default=1)
    weight = models.PositiveIntegerField(default=0)
    flagged = models.BooleanField(default=False)
    stale = models.BooleanField(default=False)
    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    lease = models.UUIDField(null=True, blank=True)
    current = models.ForeignKey(
        "RoleDecision", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    applied = models.ForeignKey(
        "RoleDecision", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case", "unit_id"], name="review_item_once_a_case"),
            models.CheckConstraint(condition=~Q(unit_id=""), name="review_item_has_unit"),
            models.CheckConstraint(condition=Q(state__in=ItemState.values), name="review_item_state_known"),
            models.CheckConstraint(condition=Q(wanted__gte=1), name="review_item_wants_a_reviewer"),
            models.CheckConstraint(
                condition=Q(holder__isnull=True, lease_until__isnull=True, lease__isnull=True)
                | Q(holder__isnull=False, lease_until__isnull=False, lease__isnull=False),
                name="review_item_held_by_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state="settled") | Q(current__isnull=False),
                name="review_item_settled_by_a_decision",
            ),
        ]
        indexes = [
            # Take next: what is open, the most cited first.
            models.Index(fields=["-weight", "id"], name="review_item_open", condition=~Q(state="settled")),
            # The group of one source over cases.
            models.Index(fields=["unit_id"], name="review_item_of_unit"),
            # What waits to be applied.
            models.Index(fields=["case"], name="review_item_to_apply", condition=TO_APPLY),
        ]

    def __str__(self) -> str:
        return f"{self.unit_id} in {self.case}"


class CitationOccurrence(models.Model):
    """One attempt that cites the unit of an item while it had no role."""

    item = models.ForeignKey(ReviewItem, on_delete=models.PROTECT, related_name="occurrences")
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "attempt"], name="occurrence_once_an_attempt"),
        ]
        indexes = [
            # The newest occurrences of an item first.
            models.Index(fields=["item", "-attempt"], name="occurrence_of_item"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} in attempt {self.attempt_id}"


class ReviewDraft(models.Model):
    """What a reviewer typed and has not saved; outlives the lease. `document`: role, group, reason, scope."""

    item = models.ForeignKey(ReviewItem, on_delete=models.PROTECT, related_name="drafts")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    document = JsonTextField(default=dict)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "reviewer"], name="draft_one_a_reviewer"),
        ]

    def __str__(self) -> str:
        return f"draft of {self.reviewer_id} on item {self.item_id}"


class RoleDecision(models.Model):
    """One person's word on an item. Append-only (a trigger sees to it); undo is a row of its own.

    `group` is the index of the required group the source joins as an alternative, null for a new group.
    `scope_origin` is the decision that was taken for every case that cites the source, of which this is one.
    `reverses` makes this the undoing of an earlier decision; `role` then repeats what is undone.
    """

    item = models.ForeignKey(ReviewItem, on_delete=models.PROTECT, related_name="decisions")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    role = models.CharField(max_length=16, choices=SourceRole.choices)
    group = models.PositiveSmallIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True)
    item_version = models.PositiveIntegerField()
    scope_origin = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="spread"
    )
    reverses = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="reversed_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(role__in=SourceRole.values), name="role_decision_role_known"),
            models.CheckConstraint(
                condition=Q(group__isnull=True) | Q(role="required"),
                name="role_decision_group_only_if_required",
            ),
            models.CheckConstraint(
                condition=~Q(role__in=["forbidden", "cannot_tell"]) | ~Q(reason=""),
                name="role_decision_says_why",
            ),
        ]
        indexes = [
            # Done today, and one's own decisions, newest first.
            models.Index(fields=["reviewer", "-id"], name="role_decision_of_reviewer"),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()} by {self.reviewer_id}"


class JobState(models.TextChoices):
    """A quick task as its row tells it; the row is the truth, the message a hint.

    A job is done in one transaction that holds its row, so one that was killed is WAITING again by itself.
    """

    WAITING = "waiting", "waiting"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Application(models.Model):
    """Gathered decisions put into new case versions, and the runs graded anew by them."""

    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.WAITING)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="application_state_known"),
        ]

    def __str__(self) -> str:
        return f"application {self.pk}"


class AppliedDecision(models.Model):
    """One item of an application: from the decision the case reflected, if any, to the one it does now."""

    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="decisions")
    item = models.ForeignKey(ReviewItem, on_delete=models.PROTECT, related_name="applications")
    before = models.ForeignKey(
        RoleDecision, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    after = models.ForeignKey(RoleDecision, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["application", "item"], name="applied_once_an_application"),
        ]

    def __str__(self) -> str:
        return f"item {self.item_id} in application {self.application_id}"


class AppliedGrading(models.Model):
    """One run of an application: the grading it had and the new one; `changed` verdicts differ."""

    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="gradings")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    before = models.ForeignKey(Grading, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    after = models.ForeignKey(Grading, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    changed = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["application", "run"], name="applied_grading_once_a_run"),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} in application {self.application_id}"
