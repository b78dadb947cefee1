"""Keyset paging: a page starts after a row, not at a number, so deep pages cost what the first one does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet

PAGE_SIZE = 50

M = TypeVar("M", bound=Model)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of rows; `before` and `after` are cursors for the neighbouring pages, "" for none."""

    rows: tuple[T, ...]
    before: str = ""
    after: str = ""


def keyset(
    rows: QuerySet[M], order: Sequence[str], *, before: str = "", after: str = "", size: int = PAGE_SIZE
) -> Page[M]:
    """The page of `rows` in `order` that follows the cursor `after` or precedes `before`.

    `order` names integer columns or annotations, the last one unique, "-" in front for descending. A cursor
    that cannot be read means the first page: a link may be old, that is no reason for an error.
    """
    here = _read(before, len(order)) or _read(after, len(order))
    backwards = bool(here and _read(before, len(order)))
    if here:
        rows = rows.filter(_beyond(order, here, backwards=backwards))
    found = list(rows.order_by(*(_turned(name) if backwards else name for name in order))[: size + 1])
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    has_before, has_after = (more, True) if backwards else (here is not None, more)
    return Page(
        tuple(found),
        before=_cursor(found[0], order) if found and has_before else "",
        after=_cursor(found[-1], order) if found and has_after else "",
    )


def _read(cursor: str, length: int) -> tuple[int, ...] | None:
    parts = cursor.split(".") if 0 < len(cursor) <= 80 else []
    if len(parts) != length or not all(
        part.isascii() and part.isdigit() and len(part) < 19 for part in parts
    ):
        return None
    return tuple(int(part) for part in parts)


def _cursor(row: Model, order: Sequence[str]) -> str:
    return ".".join(str(getattr(row, name.removeprefix("-"))) for name in order)


def _turned(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _beyond(order: Sequence[str], here: tuple[int, ...], *, backwards: bool) -> Q:
    """Rows that come after `here`: a greater first column, or an equal one and a greater second ..."""
    condition = Q()
    equal = Q()
    for name, value in zip(order, here, strict=True):
        column = name.removeprefix("-")
        sign = "lt" if name.startswith("-") != backwards else "gt"
        condition |= equal & Q(**{f"{column}__{sign}": value})
        equal &= Q(**{column: value})
    return condition
