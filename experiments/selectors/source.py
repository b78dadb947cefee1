"""A cited source as a reviewer reads it: its text with what stands above and beside it in the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.models import CorpusUnit, CorpusVersion
from experiments.selectors.case import Text
from experiments.selectors.queue import ancestors, path_words

TEXT_SHOWN = 6_000
AROUND_SHOWN = 400
CHILDREN_SHOWN = 12


@dataclass(frozen=True, slots=True)
class UnitView:
    """A unit of the corpus; `id` is its path."""

    id: str
    title: str
    text: Text


@dataclass(frozen=True, slots=True)
class SourceView:
    """`unit` is None when the corpus does not have the id, `corpus` "" when there was none to look in.

    `parents` come from the root down. `nearby` are the units before and after; of an id that is not in the
    corpus, what stands below the last parent that is.
    """

    id: str
    corpus: str
    unit: UnitView | None
    path: str
    parents: tuple[UnitView, ...]
    nearby: tuple[UnitView, ...]

    @property
    def above(self) -> str:
        """The id of the unit right above, "" for none."""
        return self.parents[-1].id if self.parents else ""


def source_view(unit_id: str, version: CorpusVersion | None) -> SourceView:
    """In at most three queries. `version` needs its corpus loaded."""
    if version is None:
        return SourceView(unit_id, "", None, "", (), ())
    paths = [*ancestors(unit_id), unit_id]
    found = {row.unit_id: row for row in CorpusUnit.objects.filter(version=version, unit_id__in=paths)}
    unit = found.get(unit_id)
    parents = [found[path] for path in paths[:-1] if path in found]
    return SourceView(
        id=unit_id,
        corpus=str(version),
        unit=_view(unit, TEXT_SHOWN) if unit else None,
        path=path_words(unit_id, {key: row.title for key, row in found.items()}),
        parents=tuple(_view(row, TEXT_SHOWN) for row in parents),
        nearby=_views(_nearby(version, unit, parents)),
    )


def _nearby(
    version: CorpusVersion, unit: CorpusUnit | None, parents: Sequence[CorpusUnit]
) -> Iterable[CorpusUnit]:
    if unit is None:
        if not parents:
            return []
        below = CorpusUnit.objects.filter(version=version, parent_unit=parents[-1].unit_id)
        return below.order_by("position")[:CHILDREN_SHOWN]
    beside = CorpusUnit.objects.filter(version=version, parent_unit=unit.parent_unit)
    before = beside.filter(position__lt=unit.position).order_by("-position").first()
    after = beside.filter(position__gt=unit.position).order_by("position").first()
    return [row for row in (before, after) if row]


def _views(rows: Iterable[CorpusUnit]) -> tuple[UnitView, ...]:
    return tuple(_view(row, AROUND_SHOWN) for row in rows)


def _view(row: CorpusUnit, limit: int) -> UnitView:
    return UnitView(row.unit_id, row.title, Text(row.text[:limit], len(row.text)))
