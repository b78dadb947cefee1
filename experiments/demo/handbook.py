"""The handbook of a city's fees and refunds desk: what the demo service answers from.

112 units in `data/handbook.jsonl`, which is also a corpus file: a root, ten chapters, their articles and
paragraphs, with ids that are paths (`handbook/ch:3/art:2/par:1`). Written for this demo; the city is
invented.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
HANDBOOK_FILE = DATA / "handbook.jsonl"

# Words that stand in every rule or every question and so say nothing about which rule is meant.
_SAID_ALWAYS = """
a about after again all am an and any anything are as ask at be been being but by can could desk did do
does for from get give had has have how i if in is it its me my no not of on one or other our out shall
she he should so some tell than that the their them then there they this to us was we what when where
which who whoever will with would you your please
"""
_EMPTY_WORDS = frozenset(_SAID_ALWAYS.split())
_WORD = re.compile(r"[a-z0-9]+")
_ENDINGS = ("ings", "ing", "ments", "ment", "ies", "ied", "ed", "es", "s")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of the handbook; `parent` is None for the root, `aliases` only stand there."""

    id: str
    parent: str | None
    title: str
    text: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that was found, with its BM25 score (above 0, higher is nearer)."""

    unit: Unit
    score: float


class Handbook:
    """The units in order, looked up by id and searched by BM25."""

    def __init__(self, units: tuple[Unit, ...]) -> None:
        self.units = units
        self._by_id = {unit.id: unit for unit in units}
        # The root and the chapters hold headings; a rule is cited by its article or paragraph.
        self._citable = tuple(unit for unit in units if "/art:" in unit.id)
        self._index: Any = None
        self._building = threading.Lock()

    def __contains__(self, unit_id: object) -> bool:
        return unit_id in self._by_id

    def unit(self, unit_id: str) -> Unit | None:
        """The unit with this id, or None."""
        return self._by_id.get(unit_id)

    def search(self, text: str, limit: int = 4) -> tuple[Hit, ...]:
        """The `limit` articles and paragraphs nearest to `text`, best first; equal scores keep handbook
        order.

        Empty when no word of `text` occurs in the handbook. Any text is allowed.
        """
        index = self._ready_index()
        known = [word for word in words(text) if word in index.vocab_dict]
        if not known:
            return ()
        scores = index.get_scores(known).tolist()
        ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return tuple(
            Hit(self._citable[place], scores[place]) for place in ranked[:limit] if scores[place] > 0
        )

    def warm(self) -> None:
        """Build the index now instead of at the first search."""
        self._ready_index()

    def _ready_index(self) -> Any:
        if self._index is None:
            with self._building:
                if self._index is None:
                    self._index = self._build_index()
        return self._index

    def _build_index(self) -> Any:
        # Imported here: it brings numpy and scipy along, and nobody should wait for those before a question.
        import bm25s

        index = bm25s.BM25(backend="numpy")
        index.index([words(self._described(unit)) for unit in self._citable], show_progress=False)
        return index

    def _described(self, unit: Unit) -> str:
        """What a unit is found by: its own words and the heading it stands under."""
        above = self._by_id.get(unit.parent or "")
        return f"{above.title if above else ''} {unit.title} {unit.title} {unit.text}"


def words(text: str) -> list[str]:
    """The words a text is indexed and searched by: lower case, bare of endings, without empty words."""
    return [_bare(word) for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS]


def _bare(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@cache
def load_handbook(path: Path = HANDBOOK_FILE) -> Handbook:
    """The handbook in `path`, read once a process. The search index is built by its first search."""
    with path.open(encoding="utf-8") as lines:
        return Handbook(tuple(_unit(json.loads(line)) for line in lines if line.strip()))


def _unit(row: dict[str, Any]) -> Unit:
    return Unit(row["id"], row["parent"], row["title"], row["text"], tuple(row.get("aliases", ())))
