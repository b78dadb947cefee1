"""What the screen of one cited source shows: source, question, replies, roles, and who may act.

Blind: while an item is open its query returns the viewer's own answer and nobody else's. Of one whose
reviewers disagreed the answers stand side by side, unsigned; of a settled one they are signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from experiments.evaluation import SourceRoles
from experiments.evaluation.roles import without_role
from experiments.mapping import case_of
from experiments.models import (
    Grading,
    ItemState,
    Permission,
    ReviewDraft,
    ReviewItem,
    RoleDecision,
    SourceRole,
    User,
)
from experiments.selectors.activity import ActivityLine, activity_of
from experiments.selectors.passages import Passage, VerdictNow, passages_of, verdicts_now
from experiments.selectors.queue import (
    FILTERS,
    OPEN,
    Figures,
    MyDecision,
    answered_by,
    figures,
    held_by_others,
    last_decisions,
)
from experiments.selectors.source import SourceView, source_view

SIBLINGS = 50


@dataclass(frozen=True, slots=True)
class Hold:
    """Who has the item now. `kind`: mine, other, free, answered (by the viewer, waiting for somebody else),
    settled. `seconds` are left of the viewer's own lease, `lease` is its token."""

    kind: str
    who: str = ""
    until: datetime | None = None
    seconds: int = 0
    lease: str = ""


@dataclass(frozen=True, slots=True)
class Roles:
    """The sources of the case as they stand; `groups` are the required ones, each with its index."""

    groups: tuple[tuple[int, tuple[str, ...]], ...]
    acceptable: tuple[str, ...]
    forbidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sibling:
    """The same source in another case. `reached`: a decision for all cases would be its answer too; `note`
    says why not, or what it is."""

    id: int
    case_key: str
    citations: int
    reached: bool
    note: str


@dataclass(frozen=True, slots=True)
class Siblings:
    """`cases` and `citations` are of all other cases, `reached` of those a decision for all would reach."""

    rows: tuple[Sibling, ...]
    cases: int
    citations: int
    reached: int
    reached_citations: int


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer that stands. `who` is "" and `at` None where answers are unsigned."""

    id: int
    role: str
    group: int | None
    reason: str
    who: str
    at: datetime | None
    mine: bool
    stands: bool
    can_undo: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """What the form holds at first: the viewer's draft, or nothing."""

    role: str = ""
    group: str = ""
    reason: str = ""
    everywhere: bool = False
    saved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemPage:
    id: int
    unit_id: str
    case_id: int
    case_key: str
    suite: str
    state: str
    version: int
    citations: int
    flagged: bool
    stale: bool
    applied: bool
    source: SourceView
    roles: Roles
    passages: tuple[Passage, ...]
    verdicts: dict[int, VerdictNow]
    hold: Hold
    siblings: Siblings
    answers: tuple[AnswerView, ...]
    draft: Draft
    previous: int | None
    next: int | None
    figures: Figures
    decisions: tuple[MyDecision, ...]
    activity: tuple[ActivityLine, ...]

    @property
    def can_undo(self) -> bool:
        """Whether the viewer has a decision that stands to take back."""
        return any(decision.is_last for decision in self.decisions)

    @property
    def read(self) -> int:
        """How many of its citations have their replies on the page."""
        return sum(len(passage.numbers) for passage in self.passages)


def item_page(viewer: User, item_id: int, *, state: str = "") -> ItemPage:
    """The screen in at most 22 queries, whatever the number of citations. Raises `ReviewItem.DoesNotExist`.

    `state` names the filter of the queue that the neighbours are taken from.
    """
    item = (
        ReviewItem.objects.select_related("case__current", "case__suite", "holder", "current")
        .annotate(answered=answered_by(viewer))
        .get(pk=item_id)
    )
    passages = passages_of(item)
    before, after = _neighbours(item, viewer, state)
    return ItemPage(
        id=item.pk,
        unit_id=item.unit_id,
        case_id=item.case_id,
        case_key=item.case.key,
        suite=item.case.suite.name,
        state=item.state,
        version=item.version,
        citations=item.weight,
        flagged=item.flagged,
        stale=item.stale,
        applied=item.current_id == item.applied_id,
        source=_source(item, passages),
        roles=roles_of(item),
        passages=passages,
        verdicts=verdicts_now(item, passages),
        hold=_hold(item, viewer),
        siblings=_siblings(item, viewer),
        answers=_answers(item, viewer),
        draft=_draft(item, viewer),
        previous=before,
        next=after,
        figures=figures(viewer),
        decisions=last_decisions(viewer),
        activity=activity_of(viewer, "reviewitem", item.pk),
    )


def _hold(item: ReviewItem, viewer: User) -> Hold:
    if item.state == ItemState.SETTLED:
        return Hold("settled")
    if getattr(item, "answered", False):
        return Hold("answered")
    left = int((item.lease_until - timezone.now()).total_seconds()) if item.lease_until else 0
    if left <= 0:
        return Hold("free")
    if item.holder_id == viewer.pk:
        return Hold("mine", until=item.lease_until, seconds=left, lease=str(item.lease))
    return Hold("other", who=item.holder.get_username() if item.holder else "", until=item.lease_until)


def _source(item: ReviewItem, passages: Sequence[Passage]) -> SourceView:
    """By the corpus that the newest run which cites it was graded with."""
    if not passages:
        return source_view(item.unit_id, None)
    grading = (
        Grading.objects.filter(run=passages[0].run_id, is_current=True)
        .select_related("corpus_version__corpus")
        .first()
    )
    return source_view(item.unit_id, grading.corpus_version if grading else None)


def roles_of(item: ReviewItem) -> Roles:
    """The case's sources. While the item is open without the cited id itself: a role it had was somebody's
    answer, undone and not yet taken out of the case."""
    if item.case.current is None:
        return Roles((), (), ())
    case = case_of(item.case.current)
    shown: SourceRoles = case.sources
    if item.state != ItemState.SETTLED:
        shown = without_role(case, item.unit_id).sources
    hidden = {item.unit_id} if item.state != ItemState.SETTLED else set()
    groups = (
        (index, tuple(each for each in group if each not in hidden))
        for index, group in enumerate(case.sources.required)
    )
    return Roles(tuple((index, group) for index, group in groups if group), shown.acceptable, shown.forbidden)


# -- the other cases, and the neighbours in the queue --------------------------------------------------------


def _siblings(item: ReviewItem, viewer: User) -> Siblings:
    others = ReviewItem.objects.filter(unit_id=item.unit_id).exclude(pk=item.pk)
    others = others.annotate(answered=answered_by(viewer))
    free = OPEN & Q(answered=False) & ~held_by_others(viewer)
    counts = others.aggregate(
        cases=Count("pk"),
        citations=Sum("weight"),
        reached=Count("pk", filter=free),
        reached_citations=Sum("weight", filter=free),
    )
    rows = others.select_related("case", "holder", "current").order_by("-weight", "pk")[:SIBLINGS]
    return Siblings(
        tuple(_sibling(row, viewer) for row in rows), **{name: count or 0 for name, count in counts.items()}
    )


def _sibling(row: ReviewItem, viewer: User) -> Sibling:
    hold = _hold(row, viewer)
    note = {
        "settled": f"settled: {row.current.get_role_display()}" if row.current else "settled",
        "answered": "has your answer",
        "other": f"held by {hold.who}",
    }.get(hold.kind, "reviewers disagree" if row.state == ItemState.DISAGREED else "")
    return Sibling(row.pk, row.case.key, row.weight, hold.kind in ("free", "mine"), note)


def _neighbours(item: ReviewItem, viewer: User, state: str) -> tuple[int | None, int | None]:
    """The items before and after this one in the order of the queue, within a filter."""
    wanted = FILTERS[state][1] if state in FILTERS else FILTERS[""][1]
    items: QuerySet[ReviewItem] = ReviewItem.objects.annotate(answered=answered_by(viewer)).filter(wanted)
    alike = Q(weight=item.weight)
    before = items.filter(Q(weight__gt=item.weight) | alike & Q(pk__lt=item.pk)).order_by("weight", "-pk")
    after = items.filter(Q(weight__lt=item.weight) | alike & Q(pk__gt=item.pk)).order_by("-weight", "pk")
    return before.values_list("pk", flat=True).first(), after.values_list("pk", flat=True).first()


# -- answers -------------------------------------------------------------------------------------------------


def _answers(item: ReviewItem, viewer: User) -> tuple[AnswerView, ...]:
    """The newest answer of each reviewer that stands, as far as the viewer may know of them."""
    undone = RoleDecision.objects.filter(reverses=OuterRef("pk"))
    rows = item.decisions.filter(~Exists(undone), reverses=None).select_related("reviewer")
    if item.state not in (ItemState.SETTLED, ItemState.DISAGREED):
        rows = rows.filter(reviewer=viewer)
    newest = {row.reviewer_id: row for row in rows.order_by("pk")}
    unsigned = item.state == ItemState.DISAGREED
    views = [_answer(row, item, viewer, unsigned=unsigned) for row in newest.values()]
    # Unsigned answers stand in an order that does not tell who was first.
    return tuple(sorted(views, key=lambda view: (view.role, view.reason)) if unsigned else views)


def _answer(row: RoleDecision, item: ReviewItem, viewer: User, *, unsigned: bool) -> AnswerView:
    mine = row.reviewer_id == viewer.pk
    may = mine or viewer.may(Permission.ADMINISTER)
    return AnswerView(
        id=row.pk,
        role=row.get_role_display(),
        group=None if row.group is None else row.group + 1,
        reason=row.reason,
        who="" if unsigned else row.reviewer.get_username(),
        at=None if unsigned else row.created_at,
        mine=mine and not unsigned,
        stands=item.current_id == row.pk,
        can_undo=may and not unsigned and viewer.may(Permission.REVIEW),
    )


def _draft(item: ReviewItem, viewer: User) -> Draft:
    row = ReviewDraft.objects.filter(item=item, reviewer=viewer).first()
    return draft_of(row.document, row.saved_at) if row else Draft()


def draft_of(document: dict[str, Any], saved_at: datetime | None = None) -> Draft:
    """A draft from what was kept or sent, whatever is in it."""
    role = str(document.get("role") or "")
    return Draft(
        role=role if role in SourceRole.values else "",
        group=str(document.get("group") or ""),
        reason=str(document.get("reason") or ""),
        everywhere=bool(document.get("everywhere")),
        saved_at=saved_at,
    )
