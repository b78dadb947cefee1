"""What criteria work out about a corpus once: its laws and articles by number, and its text for quotes.

Ids are paths. Articles are the first level below a root, or the segments that say they are (`art:`), where
chapters or books stand between. A segment's value is what follows its label: `art:6:162` is number 6:162.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from weakref import WeakKeyDictionary

from experiments.evaluation.criteria.normal import normal
from experiments.evaluation.ports import Corpus, CorpusUnit
from experiments.evaluation.text import squeeze

ARTICLE_LABELS = frozenset({"art", "artikel", "article"})

_LABEL = re.compile(r"[^\W\d_]+[.\-_]?:(?=.)")
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛‹›", "'"))


def article_of(source: str) -> str:
    """The id cut at its article segment: `gdpr/art:17/par:1` is cited as `gdpr/art:17`.

    Without a segment that says it is an article, the first one below the root is.
    """
    segments = source.split("/")
    for index, segment in enumerate(segments):
        if segment.split(":", 1)[0].casefold() in ARTICLE_LABELS:
            return "/".join(segments[: index + 1])
    return "/".join(segments[:2])


def quotable(text: str) -> str:
    """`text` as quotes are compared: NFC, one kind of double and single mark, single spaces."""
    return squeeze(normal(text, "NFC").translate(_QUOTES))


class CorpusIndex:
    """A corpus as criteria read it; each part is made when first asked for."""

    def __init__(self, units: Iterable[CorpusUnit]) -> None:
        self._units = tuple(units)
        self.roots = tuple(unit for unit in self._units if unit.parent is None)

    @property
    def default_root(self) -> str | None:
        """The law that is meant where none is named: a corpus's only one."""
        return self.roots[0].id if len(self.roots) == 1 else None

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """The root by each of its names, casefolded and with single spaces."""
        return {squeeze(alias).casefold(): root.id for root in self.roots for alias in root.aliases}

    @cached_property
    def alias_pattern(self) -> re.Pattern[str] | None:
        """Any of the names, the longest first."""
        names = sorted((name for name in self.aliases if name), key=len, reverse=True)
        either = "|".join(r"\s+".join(map(re.escape, name.split(" "))) for name in names)
        return re.compile(rf"(?:{either})(?!\w)", re.IGNORECASE) if names else None

    @cached_property
    def _below(self) -> Mapping[str, Mapping[str, list[str]]]:
        """Path -> number of a unit right below it -> the ids that have it."""
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for unit in self._units:
            above, slash, segment = unit.id.rpartition("/")
            if slash:
                found[above][_number(segment)].append(unit.id)
        return found

    @cached_property
    def _articles(self) -> Mapping[str, Mapping[str, list[str]]]:
        """Root -> number -> the ids of its articles with that number."""
        found: dict[str, dict[str, list[str]]] = {root.id: defaultdict(list) for root in self.roots}
        says_so = {root.id: False for root in self.roots}
        for unit in self._units:
            root = self._root_of(unit.id)
            above, _, segment = unit.id.rpartition("/")
            labelled = segment.split(":", 1)[0].casefold() in ARTICLE_LABELS
            if root is None or unit.id == root or not (labelled or above == root):
                continue
            if labelled and not says_so[root]:
                # What was taken for articles so far are the chapters or books above them.
                says_so[root] = True
                found[root].clear()
            if labelled or not says_so[root]:
                found[root][_number(segment)].append(unit.id)
        return found

    def _root_of(self, unit_id: str) -> str | None:
        for root in self.roots:
            if unit_id == root.id or unit_id.startswith(f"{root.id}/"):
                return root.id
        return None

    @cached_property
    def _whole_articles(self) -> frozenset[str]:
        """Roots whose articles have nothing below them: a paragraph there cannot be told from another."""
        return frozenset(
            root
            for root, numbers in self._articles.items()
            if not any(one in self._below for ids in numbers.values() for one in ids)
        )

    def has(self, root: str, article: str, paragraph: str | None = None, point: str | None = None) -> bool:
        """Whether the law has this article, and this paragraph and point of it.

        A point without a paragraph may stand right below the article or below any of its paragraphs.
        """
        places = self._articles.get(root, {}).get(article.casefold(), [])
        if not places or (paragraph is None and point is None) or root in self._whole_articles:
            return bool(places)
        if paragraph is not None:
            places = self._children(places, paragraph)
            return bool(places) if point is None else bool(self._children(places, point))
        inside = [one for place in places for ids in self._below.get(place, {}).values() for one in ids]
        return bool(self._children([*places, *inside], point or ""))

    def _children(self, places: Iterable[str], number: str) -> list[str]:
        wanted = number.casefold()
        return [one for place in places for one in self._below.get(place, {}).get(wanted, ())]

    # -- quotes -------------------------------------------------------------------------------------------

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(quotable(text) for unit in self._units for text in (unit.text, unit.title) if text)

    @cached_property
    def _joined(self) -> str:
        # No quote holds a line break, so none is found across two texts.
        return "\n".join(self._texts)

    @cached_property
    def _by_word(self) -> Mapping[str, "array[int]"]:
        found: dict[str, array[int]] = {}
        for index, text in enumerate(self._texts):
            for word in set(text.split(" ")):
                found.setdefault(word, array("I")).append(index)
        return found

    def holds(self, quote: str) -> bool:
        """Whether one unit's text or title holds this text (as `quotable` gives it) as it stands."""
        inner = quote.split(" ")[1:-1]
        if not inner:
            return quote in self._joined
        # The first and the last word may be parts of longer ones; those between stand there whole.
        places = [self._by_word.get(word) for word in inner]
        if None in places:
            return False
        rarest = min((place for place in places if place is not None), key=len)
        return any(quote in self._texts[index] for index in rarest)


def _number(segment: str) -> str:
    return _LABEL.sub("", segment, count=1).casefold() if _LABEL.match(segment) else segment.casefold()


_INDEXES: WeakKeyDictionary[Corpus, CorpusIndex] = WeakKeyDictionary()


def index_of(corpus: Corpus) -> CorpusIndex:
    """The index of this corpus, made once for as long as the corpus lives."""
    try:
        found = _INDEXES.get(corpus)
        if found is None:
            found = _INDEXES[corpus] = CorpusIndex(corpus.units())
    except TypeError:  # a team's own corpus may be one that cannot be a key
        found = CorpusIndex(corpus.units())
    return found
