"""Putting gathered decisions into new case versions and gradings; nothing is re-run, no judge is asked."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils import timezone

from experiments.evaluation import EvalCase
from experiments.evaluation.collapse import collapse
from experiments.evaluation.outcome import mark_of
from experiments.evaluation.roles import with_role, without_role
from experiments.evaluation.text import printable
from experiments.execution import dispatch
from experiments.execution.regrading import (
    CannotRegrade,
    Regraded,
    current_grading,
    grade_by_versions,
    regrade_cases,
)
from experiments.mapping import case_of
from experiments.models import (
    Application,
    AppliedDecision,
    AppliedGrading,
    CaseResult,
    CaseVersion,
    Grading,
    JobState,
    Permission,
    ReviewItem,
    RoleDecision,
    Run,
    RunState,
    User,
    record_activity,
)
from experiments.models.reviews import TO_APPLY
from experiments.services.adjudication import Answer
from experiments.services.edits import require
from experiments.services.versions import add_case_version

log = logging.getLogger("experiments.services")

GATHER_SECONDS = 60
"""Decisions are applied so long after the last one, when nobody asks for it before."""


def to_apply() -> list[ReviewItem]:
    """Items whose standing decision their case does not reflect yet, with case and decisions at hand."""
    return list(
        ReviewItem.objects.filter(TO_APPLY)
        .select_related("case__current", "current", "applied")
        .order_by("pk")
    )


def latest_runs(case_ids: Collection[int]) -> list[Run]:
    """The latest finished run of each experiment that has any of these cases: the default to grade anew."""
    newest = (
        Run.objects.filter(
            state=RunState.FINISHED,
            gradings__is_current=True,
            gradings__state=Grading.State.CLOSED,
            gradings__case_results__case__in=case_ids,
        )
        .values("experiment")
        .annotate(newest=Max("pk"))
        .values_list("newest", flat=True)
    )
    return list(Run.objects.filter(pk__in=list(newest)).select_related("experiment").order_by("pk"))


def decided_case(case: EvalCase, items: Iterable[ReviewItem]) -> EvalCase:
    """`case` as the standing decisions of its items make it: roles taken back first, then given."""
    for item in items:
        if item.applied is not None:
            case = without_role(case, item.unit_id)
    for item in items:
        if item.current is not None:
            case = with_role(case, item.unit_id, item.current.role, item.current.group)
    return case


# -- before a decision --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """One case of a run that a decision would change: its verdict, and the attempts (by number) that flip."""

    run_id: int
    case_key: str
    before: str
    after: str
    attempts: tuple[int, ...]


@dataclass(frozen=True)
class Preview:
    """What a decision would do, computed as its application would.

    `citations` counts the occurrences it settles, `changes` are the cases whose verdicts it changes.
    `runs` are those it would grade anew; `unread` names runs whose evidence can no longer be read.
    """

    citations: int
    runs: tuple[int, ...]
    changes: tuple[Change, ...]
    unread: tuple[str, ...] = ()

    @property
    def flips(self) -> int:
        """Attempts whose verdict would change, over all runs."""
        return sum(len(change.attempts) for change in self.changes)


def preview(item: ReviewItem, answer: Answer) -> Preview:
    """What `answer` would change if it were applied now; nothing is written."""
    items = [item]
    if answer.everywhere:
        others = ReviewItem.objects.filter(unit_id=item.unit_id).exclude(pk=item.pk).exclude(state="settled")
        items += others.select_related("case__current")
    cases: dict[int, EvalCase] = {}
    for each in items:
        if each.case.current is not None:
            group = answer.group if each.pk == item.pk else None
            cases[each.case_id] = with_role(case_of(each.case.current), each.unit_id, answer.role, group)
    changes: list[Change] = []
    unread: list[str] = []
    runs = latest_runs(list(cases))
    for run in runs:
        try:
            regraded = regrade_cases(current_grading(run.pk), cases)
        except CannotRegrade as cannot:
            unread.append(str(cannot))
            continue
        changes += _changes(run.pk, regraded)
    citations = sum(each.weight for each in items)
    return Preview(citations, tuple(run.pk for run in runs), tuple(changes), tuple(unread))


def _changes(run_id: int, regraded: list[Regraded]) -> list[Change]:
    by_case: dict[str, list[Regraded]] = defaultdict(list)
    for each in regraded:
        by_case[each.case.id].append(each)
    return [
        Change(
            run_id,
            key,
            collapse(mark_of(each.before, None) for each in attempts).value,
            collapse(mark_of(each.after, None) for each in attempts).value,
            tuple(each.attempt.number for each in attempts if each.flips),
        )
        for key, attempts in by_case.items()
        if any(each.flips for each in attempts)
    ]


# -- applying -----------------------------------------------------------------------------------------------


def apply_decisions(user: User, run_ids: Collection[int] | None = None) -> Application | None:
    """Gather everything decided and not applied, and hand it to a quick task. None when there is nothing.

    `run_ids`: the runs to grade anew; by default the latest of each experiment. What is decided after this
    waits for the next application.
    """
    require(user, Permission.REVIEW)
    with transaction.atomic():
        waiting = Application.objects.select_for_update().filter(state=JobState.WAITING).first()
        if waiting is not None:
            return waiting
        items = to_apply()
        if not items:
            return None
        application = Application.objects.create(created_by=user)
        AppliedDecision.objects.bulk_create(
            AppliedDecision(application=application, item=item, before=item.applied, after=item.current)
            for item in items
        )
        runs = latest_runs({item.case_id for item in items})
        if run_ids is not None:
            runs = list(Run.objects.filter(pk__in=run_ids, state=RunState.FINISHED))
        AppliedGrading.objects.bulk_create(AppliedGrading(application=application, run=run) for run in runs)
        record_activity(user, "asked to apply", application, after={"decisions": len(items)})
        dispatch.send_job(dispatch.APPLY, application.pk)
    return application


def apply_gathered() -> Application | None:
    """Apply what waits once nobody has decided anything for `GATHER_SECONDS`, in the last reviewer's name."""
    last = RoleDecision.objects.order_by("-id").select_related("reviewer").first()
    if last is None or timezone.now() - last.created_at < timedelta(seconds=GATHER_SECONDS):
        return None
    return apply_decisions(last.reviewer) if last.reviewer.may(Permission.REVIEW) else None


def run_application(application_id: int) -> bool:
    """Do an application once, whole or not at all. False when it was done, or is being done, by another.

    A run that cannot be graded anew (purged evidence) is left as it was and named in `error`; the rest goes
    on. Anything unforeseen leaves every row as it was and the application FAILED, with the reason.
    """
    try:
        return _run(application_id)
    except Exception as broken:
        log.exception("application %s", application_id)
        reason = f"{type(broken).__name__}: {broken}"
        failed = Application.objects.filter(pk=application_id, state=JobState.WAITING)
        failed.update(state=JobState.FAILED, error=printable(reason, 2000), done_at=Now())
        return False


def _run(application_id: int) -> bool:
    with transaction.atomic():
        application = (
            Application.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("created_by")
            .filter(pk=application_id, state=JobState.WAITING)
            .first()
        )
        if application is None:
            return False
        decisions = list(application.decisions.select_related("item__case__current", "before", "after"))
        versions = _new_versions(application.created_by, decisions)
        errors = []
        for target in application.gradings.select_related("run"):
            try:
                _grade(target, versions, application.created_by)
            except CannotRegrade as cannot:
                errors.append(str(cannot))
        for decision in decisions:
            ReviewItem.objects.filter(pk=decision.item_id).update(applied=decision.after)
        state = (
            JobState.FAILED if errors and len(errors) == len(application.gradings.all()) else JobState.DONE
        )
        Application.objects.filter(pk=application_id).update(
            state=state, error="; ".join(errors), done_at=Now()
        )
        changed = {str(each.run_id): each.changed for each in application.gradings.all()}
        record_activity(
            application.created_by,
            "applied",
            application,
            after={"decisions": len(decisions), "changed": changed},
        )
    return True


def _new_versions(user: User, decisions: Iterable[AppliedDecision]) -> dict[int, CaseVersion]:
    """The version each touched case is graded by from now on: a new one where its content changed."""
    by_case: dict[int, list[AppliedDecision]] = defaultdict(list)
    for decision in decisions:
        by_case[decision.item.case_id].append(decision)
    versions = {}
    for case_id, group in by_case.items():
        case = group[0].item.case
        assert case.current is not None, "an item's case has been run, so it has a version"
        for decision in group:
            # As they were gathered: what was decided since is for the next application.
            decision.item.applied, decision.item.current = decision.before, decision.after
        value = decided_case(case_of(case.current), [decision.item for decision in group])
        added = add_case_version(user, case, value)
        if added is not None:
            roles = {each.item.unit_id: each.after.role if each.after else None for each in group}
            record_activity(user, "published", case, after={"version": added.number, "roles": roles})
        versions[case_id] = added or case.current
    return versions


def _grade(target: AppliedGrading, versions: dict[int, CaseVersion], user: User) -> None:
    before = current_grading(target.run_id)
    with transaction.atomic():
        after = grade_by_versions(target.run_id, versions, user)
        target.before, target.after = before, after
        target.changed = len(changed_cases(before.pk, after.pk))
        target.save(update_fields=["before", "after", "changed"])
        record_activity(
            user,
            "graded anew",
            target.run,
            before={"grading": before.number},
            after={"grading": after.number},
        )


def changed_cases(before_id: int, after_id: int) -> list[tuple[int, str, str]]:
    """(case, verdict before, verdict after) of every case in whose verdict or strip two gradings differ."""
    rows = CaseResult.objects.filter(grading__in=[before_id, after_id]).values_list(
        "case_id", "grading_id", "verdict", "strip"
    )
    seen: dict[int, dict[int, tuple[str, str]]] = defaultdict(dict)
    for case_id, grading_id, verdict, strip in rows:
        seen[case_id][grading_id] = (verdict, strip)
    return [
        (case_id, sides[before_id][0], sides[after_id][0])
        for case_id, sides in sorted(seen.items())
        if len(sides) == 2 and sides[before_id] != sides[after_id]
    ]
