"""The activity of one object: who did what, when, with what before and after.

Blindness holds here too: what somebody decided on an item that is still open is not read out to a colleague.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from experiments.models import Activity, ItemState, ReviewItem, SourceRole, User

SHOWN = 20
VALUE_SHOWN = 160
ANSWERS = ("decided", "undid")
WORDS: dict[str, str] = {**dict(SourceRole.choices), **dict(ItemState.choices)}
"""What the log holds as codes, as people say it."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a change as texts; "" for a side that does not have it."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """`about` names the object where it is not the page's own; `hidden` says that an answer is left out."""

    at: datetime
    who: str
    verb: str
    about: str
    changes: tuple[FieldChange, ...]
    hidden: bool


def activity_of(viewer: User, kind: str, key: int, *, limit: int = SHOWN) -> tuple[ActivityLine, ...]:
    """The newest lines of one object, newest first, in two queries.

    `kind` is the lower-case name of its model. A case's lines hold those of its cited sources as well.
    """
    wanted = Q(object_type=kind, object_id=key)
    if kind == "case":
        items = ReviewItem.objects.filter(case=key).values("pk")
        wanted |= Q(object_type="reviewitem", object_id__in=items)
    lines = list(Activity.objects.filter(wanted).order_by("-id")[:limit])
    closed = _closed_to(lines)
    return tuple(_line(line, kind, closed, viewer) for line in lines)


@dataclass(frozen=True, slots=True)
class _Closed:
    """Items whose answers are nobody else's to see yet: those not settled. (Of a disagreed one the page shows
    the answers, unsigned; this log is signed.) By id, and as (case, source)."""

    items: frozenset[int]
    sources: frozenset[tuple[int, str]]


def _closed_to(lines: Iterable[Activity]) -> _Closed:
    items = {line.object_id for line in lines if line.object_type == "reviewitem"}
    cases = {line.object_id for line in lines if line.object_type == "case" and line.verb == "published"}
    if not items and not cases:
        return _Closed(frozenset(), frozenset())
    rows = ReviewItem.objects.filter(Q(pk__in=items) | Q(case__in=cases)).exclude(state=ItemState.SETTLED)
    found = list(rows.values_list("pk", "case_id", "unit_id"))
    return _Closed(frozenset(key for key, _, _ in found), frozenset((case, unit) for _, case, unit in found))


def _line(line: Activity, kind: str, closed: _Closed, viewer: User) -> ActivityLine:
    before, after, hidden = line.before, line.after, False
    if line.object_type == "reviewitem" and line.verb in ANSWERS:
        hidden = line.object_id in closed.items and line.actor_id != viewer.pk
        if hidden:
            before, after = None, None
    if line.object_type == "case" and isinstance(after, dict) and isinstance(after.get("roles"), dict):
        kept = {
            unit: role
            for unit, role in after["roles"].items()
            if (line.object_id, unit) not in closed.sources
        }
        hidden = len(kept) < len(after["roles"])
        after = {**after, "roles": kept}
    return ActivityLine(
        at=line.at,
        who=line.actor_name,
        verb=line.verb,
        about=line.object_label if line.object_type != kind else "",
        changes=tuple(_changes(before, after)),
        hidden=hidden,
    )


def _changes(before: Any, after: Any) -> Iterable[FieldChange]:
    if not isinstance(before, dict | None) or not isinstance(after, dict | None):
        yield FieldChange("", _text(before), _text(after))
        return
    before, after = before or {}, after or {}
    for name in dict.fromkeys([*before, *after]):
        was, now = _text(before.get(name)), _text(after.get(name))
        if was != now:
            yield FieldChange(str(name), was, now)


def _text(value: Any) -> str:
    """A value of a change in a few words."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        text = ", ".join(f"{name}: {_text(inner) or '–'}" for name, inner in value.items())
    elif isinstance(value, Collection) and not isinstance(value, str):
        text = ", ".join(_text(inner) for inner in value)
    elif isinstance(value, str):
        text = WORDS.get(value, value)
    else:
        text = json.dumps(value)
    return text if len(text) <= VALUE_SHOWN else text[: VALUE_SHOWN - 1] + "…"
