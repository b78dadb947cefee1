"""What the page of the citation queue shows: figures, the sources to decide, one's own last decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    Expression,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Window,
)
from django.db.models.functions import Now, RowNumber
from django.utils import timezone

from experiments.evaluation import plural
from experiments.models import Corpus, CorpusUnit, ItemState, ReviewItem, RoleDecision, SourceRole, User
from experiments.models.reviews import TO_APPLY
from experiments.selectors.paging import Page, keyset

SHOWN_CASES = 3
LAST_DECISIONS, REMEMBERED_DAYS = 6, 7
OPEN = ~Q(state=ItemState.SETTLED)
CANNOT_TELL = Q(state=ItemState.SETTLED, current__role=SourceRole.CANNOT_TELL)
FILTERS: dict[str, tuple[str, Q]] = {
    "": ("Open", OPEN & Q(answered=False)),
    "second": ("Needs a second", Q(state=ItemState.NEEDS_SECOND)),
    "disagreed": ("Disagreed", Q(state=ItemState.DISAGREED)),
    "flagged": ("Flagged", Q(flagged=True)),
    "cannot_tell": ("Cannot tell", CANNOT_TELL),
    "settled": ("Settled", Q(state=ItemState.SETTLED)),
    "all": ("All", Q()),
}
"""The tabs of the queue by their name in the address: (label, which items)."""


def clock(moment: datetime) -> str:
    """ "14:05 UTC", with the day when it is another one."""
    moment = moment.astimezone(UTC)
    day = "" if moment.date() == timezone.now().date() else f"{moment.day} {moment:%b} "
    return f"{day}{moment:%H:%M} UTC"


def answered_by(viewer: User) -> Expression:
    """Whether an item has an answer of this viewer that stands, as a column.

    By one list of the viewer's items and not by an EXISTS for each row: SQLite would search that by reviewer.
    """
    mine = RoleDecision.objects.filter(reviewer=viewer, reverses=None, reversed_by=None)
    return ExpressionWrapper(Q(pk__in=mine.values("item")), output_field=BooleanField())


def held_by_others(viewer: User) -> Q:
    return Q(lease_until__gte=Now()) & ~Q(holder=viewer)


def open_sources(viewer: User) -> int:
    """How many sources wait for this viewer: the number in the top bar, one query over the open items."""
    waiting = ReviewItem.objects.filter(OPEN).annotate(answered=answered_by(viewer)).filter(answered=False)
    return waiting.aggregate(sources=Count("unit_id", distinct=True))["sources"] or 0


@dataclass(frozen=True, slots=True)
class Figures:
    """The head of the queue, for one viewer. `elsewhere` counts open items that have this viewer's answer and
    wait for somebody else's; `held_until` is when the first that others hold may come free."""

    sources: int
    citations: int
    items: int
    held: int
    held_until: datetime | None
    elsewhere: int
    mine: int | None
    done_today: int
    to_apply: int

    @property
    def held_words(self) -> str:
        """ "6 held by others, the first until 14:05 UTC"; "" when none is."""
        if not self.held or self.held_until is None:
            return ""
        first = ", the first until" if self.held > 1 else " until"
        return f"{self.held:,} held by others{first} {clock(self.held_until)}"

    def why_nothing(self, skipped: int = 0) -> str:
        """Why there is nothing to take, as a sentence."""
        reasons = [self.held_words] if self.held else []
        if skipped:
            reasons.append(f"{plural(skipped, 'citation')} that you skipped")
        if self.elsewhere:
            reasons.append(f"{self.elsewhere:,} answered by you and waiting for somebody else")
        if not reasons:
            return "0 left: every citation has its role."
        return f"0 left to take: {'; '.join(reasons)}."


def figures(viewer: User) -> Figures:
    """Three queries, whatever the size of the queue."""
    held = held_by_others(viewer) & Q(answered=False)
    mine = Q(answered=False)
    found = (
        ReviewItem.objects.filter(OPEN)
        .annotate(answered=answered_by(viewer))
        .aggregate(
            sources=Count("unit_id", distinct=True, filter=mine),
            citations=Sum("weight", filter=mine),
            items=Count("pk", filter=mine),
            held=Count("pk", filter=held),
            held_until=Min("lease_until", filter=held),
            elsewhere=Count("pk", filter=Q(answered=True)),
            mine=Min("pk", filter=mine & Q(holder=viewer, lease_until__gte=Now())),
        )
    )
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    done = RoleDecision.objects.filter(
        reviewer=viewer, reverses=None, reversed_by=None, created_at__gte=today
    )
    return Figures(
        **{**found, "citations": found["citations"] or 0},
        done_today=done.count(),
        to_apply=ReviewItem.objects.filter(TO_APPLY).count(),
    )


# -- the list ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source with its citations in all cases. `path` is its place in the corpus in words, "" when no corpus
    has it; `known` is None when there is no corpus to ask. `states` says what is special of it."""

    unit_id: str
    item_id: int
    path: str
    known: bool | None
    citations: int
    cases: int
    keys: tuple[str, ...]
    mine: bool
    states: tuple[str, ...]
    oldest: datetime

    @property
    def more_cases(self) -> int:
        return self.cases - len(self.keys)


@dataclass(frozen=True, slots=True)
class QueuePage:
    """`hidden` counts the open items that the filter leaves out."""

    figures: Figures
    tabs: tuple[Tab, ...]
    state: str
    search: str
    hidden: int
    sources: Page[SourceRow]
    decisions: tuple[MyDecision, ...]
    collected: bool


def queue_page(
    viewer: User, *, state: str = "", search: str = "", before: str = "", after: str = ""
) -> QueuePage:
    """Everything on the page in ten queries, whatever the size of the queue."""
    everything = ReviewItem.objects.annotate(answered=answered_by(viewer))
    counts = everything.aggregate(
        **{
            f"n_{name}": Count("unit_id", distinct=True, filter=wanted)
            for name, (_, wanted) in FILTERS.items()
        },
        shown=Count("pk", filter=FILTERS[""][1] & FILTERS[state][1] & _matches(search)),
    )
    head = figures(viewer)
    return QueuePage(
        figures=head,
        tabs=tuple(Tab(name, label, counts[f"n_{name}"]) for name, (label, _) in FILTERS.items()),
        state=state,
        search=search,
        hidden=head.items - counts["shown"],
        sources=_sources(everything.filter(FILTERS[state][1] & _matches(search)), viewer, before, after),
        decisions=last_decisions(viewer),
        collected=counts["n_all"] > 0,
    )


def _matches(search: str) -> Q:
    found = Q()
    for word in search.split()[:8]:
        found &= Q(unit_id__icontains=word) | Q(case__key__icontains=word)
    return found


def _sources(items: QuerySet[ReviewItem], viewer: User, before: str, after: str) -> Page[SourceRow]:
    held = held_by_others(viewer) & OPEN
    groups: Any = (
        items.values("unit_id")
        .annotate(
            first=Min("pk"),
            citations=Sum("weight"),
            cases=Count("pk"),
            held=Count("pk", filter=held),
            until=Min("lease_until", filter=held),
            holder_name=Min("holder__username", filter=held),
            mine=Count("pk", filter=Q(holder=viewer, lease_until__gte=Now()) & OPEN),
            second=Count("pk", filter=Q(state=ItemState.NEEDS_SECOND)),
            disagreed=Count("pk", filter=Q(state=ItemState.DISAGREED)),
            flags=Count("pk", filter=Q(flagged=True)),
            old=Count("pk", filter=Q(stale=True)),
            settled=Count("pk", filter=Q(state=ItemState.SETTLED)),
            unclear=Count("pk", filter=CANNOT_TELL),
            oldest=Min("created_at"),
        )
        .values_list(
            *("unit_id", "first", "citations", "cases", "held", "until", "holder_name", "mine", "second"),
            *("disagreed", "flags", "old", "settled", "unclear", "oldest"),
            named=True,
        )
    )
    page = keyset(groups, ["-citations", "first"], before=before, after=after)
    units = [group.unit_id for group in page.rows]
    cases = _first_cases(items, units)
    titles = titles_of(units)
    return Page(
        tuple(
            SourceRow(
                unit_id=group.unit_id,
                item_id=cases[group.unit_id][0][0],
                path=path_words(group.unit_id, titles),
                known=group.unit_id in titles if titles else None,
                citations=group.citations,
                cases=group.cases,
                keys=tuple(key for _, key in cases[group.unit_id]),
                mine=bool(group.mine),
                states=tuple(_states(group)),
                oldest=group.oldest,
            )
            for group in page.rows
        ),
        page.before,
        page.after,
    )


def _states(group: Any) -> Iterable[str]:
    if group.mine:
        yield "held by you"
    if group.held:
        some = "" if group.held == group.cases else f"{group.held} "
        yield f"{some}held by {group.holder_name if group.held == 1 else 'others'} until {clock(group.until)}"
    for count, word in (
        (group.second, "needs a second"),
        (group.disagreed, "reviewers disagree"),
        (group.flags, "flagged"),
        (group.old, "stale"),
    ):
        if count:
            yield word if count == group.cases else f"{count} {word}"
    if group.unclear:
        yield "cannot tell"
    elif group.settled:
        yield "settled" if group.settled == group.cases else f"{group.settled} settled"


def _first_cases(items: QuerySet[ReviewItem], units: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """(item, case key) of the most cited items of each source, a few each."""
    place = Window(RowNumber(), partition_by=F("unit_id"), order_by=[F("weight").desc(), F("pk").asc()])
    rows = (
        items.filter(unit_id__in=units)
        .annotate(place=place)
        .filter(place__lte=SHOWN_CASES)
        .order_by("place")
        .values_list("unit_id", "pk", "case__key")
    )
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for unit, key, case in rows:
        found[unit].append((key, case))
    return found


def ancestors(unit_id: str) -> list[str]:
    """The paths above a unit, the root first: ids are paths."""
    parts = unit_id.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def titles_of(unit_ids: Iterable[str]) -> dict[str, str]:
    """Titles of these units and of those above them in the corpora as they are now, where one has them."""
    wanted = {path for unit in unit_ids for path in (*ancestors(unit), unit)}
    current = Corpus.objects.exclude(current=None).values("current")
    rows = CorpusUnit.objects.filter(version__in=current, unit_id__in=wanted)
    return dict(rows.values_list("unit_id", "title"))


def path_words(unit_id: str, titles: dict[str, str]) -> str:
    """ "General Data Protection Regulation › Right to object › par:1"; "" when the unit is not among them."""
    if unit_id not in titles:
        return ""
    return " › ".join(titles.get(path) or path.rsplit("/", 1)[-1] for path in (*ancestors(unit_id), unit_id))


# -- one's own decisions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MyDecision:
    """One of the viewer's last decisions. `spread` counts the other cases it was taken for as well; `is_last`
    marks the newest one that stands, which the key for undo takes back."""

    id: int
    item_id: int
    unit_id: str
    case_key: str
    role: str
    at: datetime
    spread: int
    undone: bool
    applied: bool
    is_last: bool


def last_decisions(viewer: User) -> tuple[MyDecision, ...]:
    """The viewer's last decisions, newest first; those taken for other cases stand with their origin."""
    rows = (
        RoleDecision.objects.filter(
            reviewer=viewer,
            reverses=None,
            scope_origin=None,
            created_at__gte=timezone.now() - timedelta(days=7),
        )
        .select_related("item__case")
        .annotate(also=Count("spread"), undone=Exists(RoleDecision.objects.filter(reverses=OuterRef("pk"))))
        .order_by("-id")[:LAST_DECISIONS]
    )
    last = next((row.pk for row in rows if not row.undone), None)
    return tuple(
        MyDecision(
            id=row.pk,
            item_id=row.item_id,
            unit_id=row.item.unit_id,
            case_key=row.item.case.key,
            role=row.get_role_display(),
            at=row.created_at,
            spread=row.also,
            undone=row.undone,
            applied=row.item.applied_id == row.pk,
            is_last=row.pk == last,
        )
        for row in rows
    )
