"""A corpus file's line ``{id, parent, title, text, aliases?}``, and a corpus held in memory.

Source: docs/formats.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from experiments.evaluation.ports import CorpusUnit
from experiments.evaluation.text import is_storable, sha256_of
from experiments.wire.suite import Document, SourceId


def _storable(value: str) -> str:
    if not is_storable(value):
        raise ValueError("must not hold NUL or broken characters")
    return value


Text = Annotated[str, AfterValidator(_storable)]
Alias = Annotated[
    str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True), AfterValidator(_storable)
]


class UnitLine(Document):
    """One unit; ``parent`` null or empty makes it a root. ``aliases`` name the root's law in running text."""

    id: SourceId
    parent: str | None = None
    title: Text | None = None
    text: Text | None = None
    aliases: tuple[Alias, ...] | None = None

    def value(self) -> CorpusUnit:
        return CorpusUnit(
            id=self.id,
            parent=self.parent or None,
            title=self.title or "",
            text=self.text or "",
            aliases=self.aliases or (),
        )


class MemoryCorpus:
    """The core's ``Corpus`` over units in memory."""

    def __init__(self, units: Iterable[CorpusUnit]) -> None:
        self._units: Mapping[str, CorpusUnit] = {unit.id: unit for unit in units}

    def unit(self, unit_id: str, /) -> CorpusUnit | None:
        return self._units.get(unit_id)

    def units(self) -> Iterable[CorpusUnit]:
        return self._units.values()

    def __contains__(self, unit_id: object, /) -> bool:
        return unit_id in self._units

    def __len__(self) -> int:
        return len(self._units)


def corpus_findings(units: Mapping[int, CorpusUnit]) -> Iterator[tuple[int, str, str]]:
    """What is wrong between the units of one corpus, as (line, field, sentence); ``units`` by their line."""
    first: dict[str, int] = {}
    for line, unit in units.items():
        if first.setdefault(unit.id, line) != line:
            yield line, "id", f"the id {unit.id} is taken by line {first[unit.id]}"
    parents = {unit.id: unit.parent for unit in units.values()}
    rooted: set[str] = set()
    for line, unit in units.items():
        if unit.parent is not None and unit.parent not in parents:
            yield line, "parent", f"no unit {unit.parent} in this corpus"
        elif _in_circle(unit.id, parents, rooted):
            yield line, "parent", f"the parents of {unit.id} run in a circle"


def _in_circle(start: str, parents: Mapping[str, str | None], rooted: set[str]) -> bool:
    """Whether a unit's line of parents never ends; ``rooted`` remembers those whose line does."""
    path: dict[str, None] = {}
    here: str | None = start
    while here is not None and here not in rooted:
        if here in path:
            return True
        path[here] = None
        here = parents.get(here)
    rooted.update(path)
    return False


def corpus_fingerprint(units: Iterable[CorpusUnit]) -> str:
    """sha256 of the units in their order: the same content is the same version."""
    return sha256_of([[unit.id, unit.parent, unit.title, unit.text, list(unit.aliases)] for unit in units])
