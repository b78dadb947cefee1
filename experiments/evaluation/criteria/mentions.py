"""Articles that a text mentions, with paragraph, point and law, and whether a corpus has them.

A chain of mentions ("art. 6 jo. art. 7 lid 2 AVG", "artikel 6 en artikel 9 AVG") is read together, since a
law named once may be meant for all of it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from experiments.evaluation.criteria import mention_words as words
from experiments.evaluation.criteria.corpora import CorpusIndex

MOST = 10_000
"""Articles, paragraphs and points that are read of one text."""

_LONGEST_RANGE = 300
_UNKNOWN = ""
_PARTS = re.compile(r"(.*?)(\d+)([a-z]*)\Z", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class Branch:
    """One paragraph of an article, or several, with the points of each; either may be empty."""

    paragraphs: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Mention:
    """`law` is a root's id, "" for a law the corpus lacks, and None when none was named.

    `after_jo`: joined to the mention before it by jo. or juncto, not by en or a comma.
    """

    start: int
    end: int
    articles: list[str]
    branches: list[Branch] = field(default_factory=list)
    law: str | None = None
    after_jo: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What decides whether it resolves."""
        below = tuple((tuple(branch.paragraphs), tuple(branch.points)) for branch in self.branches)
        return (self.law, tuple(self.articles), below)


class TooManyMentionsError(Exception):
    """The text mentions more than is read of one."""


def find_mentions(text: str, index: CorpusIndex) -> Iterator[Mention]:
    """Every mention in order, each with its law where one is named, carried over or the corpus's only one.

    Raises TooManyMentionsError after MOST members.
    """
    position = 0
    reader = _Reader(text, 0, index)
    while found := words.KEYWORD.search(text, position):
        reader.at = found.end()
        chain = _chain(reader, found)
        position = max(reader.at, found.end())
        _carry(chain)
        for mention in chain:
            if mention.law is None:
                mention.law = index.default_root or _UNKNOWN
            yield mention


def resolves(mention: Mention, index: CorpusIndex) -> bool:
    """Whether every article, paragraph and point of the mention is a unit of the corpus."""
    law = mention.law or _UNKNOWN
    for article in mention.articles:
        if not index.has(law, article):
            return False
        for branch in mention.branches:
            paragraphs: Sequence[str | None] = branch.paragraphs or [None]
            points: Sequence[str | None] = branch.points or [None]
            if not all(index.has(law, article, *below) for below in product(paragraphs, points)):
                return False
    return True


def _carry(chain: list[Mention]) -> None:
    """jo. carries the law over from before; a law at the end is that of what was strung together with it."""
    for before, mention in pairwise(chain):
        if mention.law is None and mention.after_jo:
            mention.law = before.law
    for mention, after in reversed(list(pairwise(chain))):
        if mention.law is None:
            mention.law = after.law


class _Reader:
    """Reads one pattern after the other; `at` stands after what was read."""

    def __init__(self, text: str, at: int, index: CorpusIndex) -> None:
        self.text = text
        self.at = at
        self.index = index
        self._members = 0

    def count(self, members: int) -> None:
        """Keep account of what was read."""
        self._members += members
        if self._members > MOST:
            raise TooManyMentionsError

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        start = words.SPACE.match(self.text, self.at)
        found = pattern.match(self.text, start.end() if start else self.at)
        if found:
            self.at = found.end()
        return found

    def sees(self, pattern: re.Pattern[str]) -> bool:
        before = self.at
        found = self.take(pattern) is not None
        self.at = before
        return found


def _chain(reader: _Reader, keyword: re.Match[str]) -> list[Mention]:
    chain: list[Mention] = []
    start, plural, joined = keyword.start(), bool(words.PLURAL.match(keyword[0])), ""
    while (mention := _mention(reader, start, plural=plural)) is not None:
        mention.after_jo = joined == "jo"
        chain.append(mention)
        here = reader.at
        again, joined = _next(reader, plural=plural)
        if not joined:
            reader.at = here
            break
        start = again.start() if again else reader.at
        plural = bool(again and words.PLURAL.match(again[0]))
    return chain


def _next(reader: _Reader, *, plural: bool) -> tuple[re.Match[str] | None, str]:
    """The keyword of the next mention, if it has one, and how it is joined: "jo", "and" or not at all."""
    reader.take(words.COMMA)
    if reader.take(words.JO):
        return reader.take(words.KEYWORD), "jo" if reader.sees(words.NUMBER) else ""
    joined = reader.take(words.AND)
    again = reader.take(words.KEYWORD)
    if again:
        return again, "and"
    return None, "and" if joined and _bare_number_follows(reader, plural=plural) else ""


def _bare_number_follows(reader: _Reader, *, plural: bool) -> bool:
    """Whether the next number is an article's, as in "Articles 6(1) and 9" and "artikel 6(1) en 9(2)"."""
    here = reader.at
    found = reader.take(words.NUMBER)
    follows = found is not None and (reader.sees(words.BRACKETED_NUMBER) or plural)
    counts = reader.sees(words.UNIT) or reader.sees(words.ORDINAL_TAIL)
    reader.at = here
    return follows and not counts


def _mention(reader: _Reader, start: int, *, plural: bool) -> Mention | None:
    articles = _listed(reader, lambda: _member(reader, words.NUMBER, spaced=plural), plural=plural)
    if not articles or reader.sees(words.UNIT):
        return None
    mention = Mention(start, reader.at, articles)
    had_comma = False
    while True:
        here = reader.at
        comma = reader.take(words.COMMA)
        if not _level(reader, mention):
            reader.at = here
            reader.take(words.COMMA)
            if not (reader.take(words.AND) and _level(reader, mention)):
                reader.at = here
                break
        had_comma |= comma is not None
    mention.end = reader.at
    _law(reader, mention, had_comma=had_comma)
    return mention


def _level(reader: _Reader, mention: Mention) -> bool:
    """Read one more paragraph or point of the mention, or words that name neither.

    In "artikel 6, of punt a) van artikel 9" the point belongs to what follows it.
    """
    here = reader.at
    paragraphs = _paragraphs(reader)
    if paragraphs and not reader.sees(words.OF_ARTICLE):
        mention.branches.append(Branch(paragraphs=paragraphs))
        return True
    reader.at = here
    points = _points(reader)
    if points and not reader.sees(words.OF_ARTICLE):
        if not mention.branches:
            mention.branches.append(Branch())
        mention.branches[-1].points += points
        return True
    reader.at = here
    return reader.take(words.FILLER) is not None


def _paragraphs(reader: _Reader) -> list[str]:
    here = reader.at
    word = reader.take(words.PARAGRAPH)
    if word:
        many = bool(words.PARAGRAPHS.match(word[0]))
        found = _listed(reader, lambda: _member(reader, words.PARAGRAPH_NUMBER), plural=many)
        return found or _bracketed(reader, words.BRACKETED_NUMBER)
    found = _listed(reader, lambda: _ordinal(reader), ordinal=True)
    if found and reader.take(words.ORDINAL_TAIL):
        return found
    reader.at = here
    return _bracketed(reader, words.BRACKETED_NUMBER)


def _points(reader: _Reader) -> list[str]:
    word = reader.take(words.POINT)
    if word:
        many = bool(words.POINTS.match(word[0]))
        return _listed(reader, lambda: _member(reader, words.POINT_NAME), plural=many)
    return _bracketed(reader, words.BRACKETED_LETTER)


def _bracketed(reader: _Reader, pattern: re.Pattern[str]) -> list[str]:
    return _listed(reader, lambda: _member(reader, pattern), plural=True)


def _member(reader: _Reader, pattern: re.Pattern[str], *, spaced: bool = False) -> list[str]:
    """One number or letter, or every one of a range. A dash between spaces makes a range only of what is
    said to be many: "artikelen 3 – 5", not "Artikel 3 – 5 voorwaarden"."""
    first = reader.take(pattern)
    if first is None:
        return []
    here, name = reader.at, _name(first)
    if reader.take(words.RANGE) or (spaced and reader.take(words.SPACED_DASH)):
        last = reader.take(pattern)
        if last is not None and not reader.sees(words.UNIT):
            return _range(name, _name(last))
        reader.at = here
    return [name]


def _name(found: re.Match[str]) -> str:
    return (found[1] if found.re.groups else found[0]).lower()


def _ordinal(reader: _Reader) -> list[str]:
    found = reader.take(words.ORDINAL)
    if found is None:
        return []
    said = found[1].lower()
    return [words.ORDINAL_NUMBER.get(said) or re.sub(r"\D", "", said)]


def _listed(
    reader: _Reader, member: Callable[[], list[str]], *, plural: bool = False, ordinal: bool = False
) -> list[str]:
    """Members joined by commas and en. A comma alone joins only what en ends, or what is said to be many:
    in "artikel 6, 3 maanden later" it does not. Nor is the 2 of "en 2 lid" a member, but an ordinal is."""
    found = member()
    reader.count(len(found))
    if not found:
        return []
    sure = reader.at
    unsure: list[str] = []
    while True:
        comma = reader.take(words.COMMA)
        closing = reader.take(words.AND)
        if not (comma or closing):
            break
        more = member()
        reader.count(len(more))
        if not more or reader.sees(words.UNIT) or (not ordinal and reader.sees(words.ORDINAL_TAIL)):
            break
        unsure += more
        if closing or plural:
            found, unsure, sure = [*found, *unsure], [], reader.at
    reader.at = sure
    return found


def _range(first: str, last: str) -> list[str]:
    """Every name from the first to the last, where it is clear how they count; else the two ends."""
    a, b = _PARTS.match(first), _PARTS.match(last)
    if a and b:
        prefix, start, letter = a[1], int(a[2]), a[3]
        stop, last_letter = int(b[2]), b[3]
        same = b[1] in (prefix, "")
        if same and not letter and not last_letter and start <= stop <= start + _LONGEST_RANGE:
            return [f"{prefix}{number}" for number in range(start, stop + 1)]
        if same and start == stop and len(letter) == len(last_letter) == 1 and letter <= last_letter:
            return [f"{prefix}{start}{chr(code)}" for code in range(ord(letter), ord(last_letter) + 1)]
    if len(first) == len(last) == 1 and "a" <= first <= last <= "z":
        return [chr(code) for code in range(ord(first), ord(last) + 1)]
    return [first, last]


def _law(reader: _Reader, mention: Mention, *, had_comma: bool) -> None:
    """Read the law that follows the mention, if one does."""
    here = reader.at
    comma = reader.take(words.COMMA)
    after_comma = reader.at
    reader.take(words.TO_LAW)
    reader.take(_OPENING)
    pattern = reader.index.alias_pattern
    alias = reader.take(pattern) if pattern else None
    if alias:
        mention.law = reader.index.aliases.get(" ".join(alias[0].split()).casefold(), _UNKNOWN)
        mention.end = reader.at
        return
    reader.at = after_comma
    shouting = reader.text[mention.start : mention.start + 3].isupper()
    named = reader.take(words.TO_ANY_LAW) and not shouting and reader.take(words.CAPITALISED)
    if not named and not shouting and (had_comma or not comma):
        reader.at = after_comma
        named = reader.take(words.ABBREVIATION)
    if named:
        mention.law, mention.end = _UNKNOWN, reader.at
    else:
        reader.at = here


_OPENING = re.compile(r"\(")
