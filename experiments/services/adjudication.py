"""Taking, deciding and undoing: what reviewers do with a cited source that has no role yet.

Each function is one verb in one transaction with its activity line. A GET never comes here. Decisions are
rows that only grow; what stands is worked out from them by `_settle`, which alone moves an item's state.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from experiments.mapping import case_of
from experiments.models import (
    ItemState,
    Permission,
    ReviewDraft,
    ReviewItem,
    RoleDecision,
    SourceRole,
    User,
    record_activity,
)
from experiments.services.edits import require, require_storable

LEASE = timedelta(minutes=10)
SHUFFLED = 8
"""Among so many items at the head of the queue each reviewer has an order of their own."""
SAYS_WHY = (SourceRole.FORBIDDEN, SourceRole.CANNOT_TELL)


class DecisionRefused(ValueError):
    """The decision cannot stand as it is; the message says what to mend."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a reviewer says of an item. `group`: the required group it joins, None for one of its own.
    `everywhere`: also for every other case that cites the source and is open."""

    role: str
    group: int | None = None
    reason: str = ""
    everywhere: bool = False


def free_or_mine(user: User) -> Q:
    """Items nobody else holds at this moment."""
    return Q(holder=None) | Q(holder=user) | Q(lease_until__lt=Now())


def open_for(user: User) -> QuerySet[ReviewItem]:
    """Items this reviewer may still answer: open, and not yet answered by them."""
    answered = RoleDecision.objects.filter(reviewer=user, reverses=None, reversed_by=None)
    return ReviewItem.objects.exclude(state=ItemState.SETTLED).exclude(pk__in=answered.values("item"))


def take_next(user: User, *, skipping: Collection[int] = ()) -> ReviewItem | None:
    """Lease the next item: the most cited first, then the oldest. None when there is none to take.

    Who holds one already gets that one again, so a reload leases nothing more. Two reviewers who ask at once
    get two items: the lease is an UPDATE that has to change the row.
    """
    require(user, Permission.REVIEW)
    with transaction.atomic():
        held = open_for(user).filter(holder=user, lease_until__gte=Now()).exclude(pk__in=skipping).first()
        if held is not None:
            return held
        while True:
            free = open_for(user).filter(free_or_mine(user)).exclude(pk__in=skipping)
            head = list(free.order_by("-weight", "id").values_list("weight", "pk")[:SHUFFLED])
            if not head:
                return None
            for _, key in sorted(head, key=lambda pair: (-pair[0], _shuffle(user, pair[1]))):
                item = _lease(user, key)
                if item is not None:
                    return item


def take(user: User, item: ReviewItem) -> ReviewItem | None:
    """Lease this very item; None when somebody else holds it or nothing is left to answer."""
    require(user, Permission.REVIEW)
    with transaction.atomic():
        return _lease(user, item.pk)


def _shuffle(user: User, item_id: int) -> bytes:
    return hashlib.sha256(f"{user.pk}:{item_id}".encode()).digest()


def _lease(user: User, item_id: int) -> ReviewItem | None:
    taken = (
        open_for(user)
        .filter(free_or_mine(user), pk=item_id)
        .update(holder=user, lease=uuid.uuid4(), lease_until=Now() + LEASE)
    )
    return ReviewItem.objects.get(pk=item_id) if taken else None


def renew(user: User, item: ReviewItem, lease: uuid.UUID) -> bool:
    """Ten more minutes for the holder. False: the lease ended and somebody else holds the item now."""
    held = ReviewItem.objects.filter(pk=item.pk, holder=user, lease=lease)
    return bool(held.update(lease_until=Now() + LEASE))


def release(user: User, item: ReviewItem) -> None:
    """Give an item back; the draft stays."""
    ReviewItem.objects.filter(pk=item.pk, holder=user).update(holder=None, lease=None, lease_until=None)


def save_draft(user: User, item: ReviewItem, document: dict[str, Any]) -> ReviewDraft:
    """Keep what the reviewer has typed, whoever holds the item by now."""
    require(user, Permission.REVIEW)
    draft, _ = ReviewDraft.objects.update_or_create(item=item, reviewer=user, defaults={"document": document})
    return draft


def flag(user: User, item: ReviewItem, *, flagged: bool) -> None:
    """Mark an item for a colleague to look at, or take the mark away."""
    require(user, Permission.REVIEW)
    with transaction.atomic():
        if ReviewItem.objects.filter(pk=item.pk, flagged=not flagged).update(flagged=flagged):
            record_activity(user, "flagged" if flagged else "unflagged", item)


# -- deciding -----------------------------------------------------------------------------------------------


def decide(
    user: User, item: ReviewItem, answer: Answer, *, lease: uuid.UUID | None, version: int
) -> RoleDecision:
    """Record the reviewer's answer, and with `everywhere` the same for every other case citing the source.

    `version` is the item's as the reviewer saw it. A lease that ended is no reason to lose an answer: when
    nobody answered meanwhile it counts as any other, and when somebody did both stay and, if they differ, a
    third person decides. Raises `DecisionRefused` with every reason.
    """
    require(user, Permission.REVIEW)
    _check(item, answer)
    with transaction.atomic():
        locked = ReviewItem.objects.select_for_update().get(pk=item.pk)
        twice = _sent_before(user, locked, answer, version)
        if twice is not None:
            return twice
        late = locked.version != version and (locked.holder_id != user.pk or locked.lease != lease)
        decision = _answer(user, locked, answer, None, late=late)
        if answer.everywhere:
            for sibling in _siblings(user, locked):
                spread = Answer(role=answer.role, reason=answer.reason)
                _answer(user, sibling, spread, decision, late=False)
    item.refresh_from_db()
    return decision


def _sent_before(user: User, item: ReviewItem, answer: Answer, version: int) -> RoleDecision | None:
    """The very answer, recorded from the same page by an earlier click: it is not recorded again, so that
    one undo takes it back."""
    return item.decisions.filter(
        reviewer=user,
        item_version=version,
        role=answer.role,
        group=answer.group,
        reason=answer.reason,
        reverses=None,
        reversed_by=None,
    ).first()


def _check(item: ReviewItem, answer: Answer) -> None:
    problems = []
    if answer.role not in SourceRole.values:
        problems.append("choose one of the five roles")
    if answer.role in SAYS_WHY and not answer.reason.strip():
        problems.append(f"say why: {SourceRole(answer.role).label} needs a reason")
    current = item.case.current
    groups = len(case_of(current).sources.required) if current else 0
    if answer.group is not None and answer.role != SourceRole.REQUIRED:
        problems.append("a group belongs to a required source only")
    elif answer.group is not None and not 0 <= answer.group < groups:
        problems.append(f"the case has {groups} required groups; choose one of them or a new one")
    if problems:
        raise DecisionRefused("; ".join(problems))
    require_storable(reason=answer.reason)


def _siblings(user: User, item: ReviewItem) -> Iterable[ReviewItem]:
    """The open items of the same source for other cases that nobody else holds, locked."""
    others = open_for(user).filter(free_or_mine(user), unit_id=item.unit_id).exclude(pk=item.pk)
    return others.order_by("pk").select_for_update()


def _answer(
    user: User, item: ReviewItem, answer: Answer, origin: RoleDecision | None, *, late: bool
) -> RoleDecision:
    before = _shown(item)
    decision = RoleDecision.objects.create(
        item=item,
        reviewer=user,
        role=answer.role,
        group=answer.group,
        reason=answer.reason,
        item_version=item.version,
        scope_origin=origin,
    )
    _settle(item, decision, late=late)
    ReviewDraft.objects.filter(item=item, reviewer=user).delete()
    record_activity(
        user, "decided", item, before=before, after={**_shown(item), "reason": answer.reason[:500]}
    )
    return decision


def _shown(item: ReviewItem) -> dict[str, Any]:
    return {"state": item.state, "role": item.current.role if item.current else None}


def standing(item: ReviewItem) -> list[RoleDecision]:
    """The newest decision of each reviewer that was not undone, in the order taken."""
    newest: dict[int, RoleDecision] = {}
    for decision in item.decisions.filter(reverses=None, reversed_by=None).order_by("id"):
        newest.pop(decision.reviewer_id, None)
        newest[decision.reviewer_id] = decision
    return list(newest.values())


def _settle(item: ReviewItem, latest: RoleDecision | None, *, late: bool = False) -> None:
    """Work out an item's state from the decisions that stand, and end its lease.

    `latest` is the decision just taken, None for an undo. On an item whose reviewers disagreed it is a third
    person's and settles it. `late`: somebody answered while this reviewer's lease was gone.
    """
    answers = standing(item)
    alike = len({(each.role, each.group) for each in answers}) == 1
    adjudicated = item.state == ItemState.DISAGREED and latest is not None
    if not answers:
        item.state, item.current = ItemState.WAITING, None
    elif adjudicated:
        item.state, item.current = ItemState.SETTLED, latest
    elif not alike and (late or len(answers) >= max(item.wanted, 2)):
        item.state, item.current = ItemState.DISAGREED, None
    elif len(answers) < item.wanted:
        item.state, item.current = ItemState.NEEDS_SECOND, None
    else:
        item.state, item.current = ItemState.SETTLED, answers[-1]
    item.holder = item.lease = item.lease_until = None
    item.version += 1
    item.save(update_fields=["state", "current", "holder", "lease", "lease_until", "version"])


def undo(user: User, decision: RoleDecision) -> RoleDecision:
    """Reverse one's own decision (an admin anybody's), and what it spread to, by rows of their own.

    An applied decision is taken back by the next application. Raises `PermissionDenied`, and
    `DecisionRefused` for one that was undone already.
    """
    require(user, Permission.REVIEW)
    if decision.reviewer_id != user.pk and not user.may(Permission.ADMINISTER):
        raise PermissionDenied("a decision is undone by whoever took it, or by an admin")
    with transaction.atomic():
        spread = RoleDecision.objects.filter(Q(pk=decision.pk) | Q(scope_origin=decision))
        standing_ones = spread.filter(reverses=None, reversed_by=None).order_by("pk")
        reversing = [_reverse(user, each) for each in standing_ones]
        first = next((each for each in reversing if each.reverses_id == decision.pk), None)
        if first is None:
            raise DecisionRefused("this decision was undone already")
    return first


def _reverse(user: User, decision: RoleDecision) -> RoleDecision:
    item = ReviewItem.objects.select_for_update().get(pk=decision.item_id)
    before = _shown(item)
    reversing = RoleDecision.objects.create(
        item=item,
        reviewer=user,
        role=decision.role,
        group=decision.group,
        reason=decision.reason,
        item_version=item.version,
        reverses=decision,
    )
    _settle(item, None)
    record_activity(user, "undid", item, before=before, after=_shown(item))
    return reversing
