"""Two replies side by side: which words only one of them holds, with long equal stretches folded.

The difference itself is diff-match-patch's, over words instead of characters, with a time-out: difflib can
take minutes on two long replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diff_match_patch import diff_match_patch

SECONDS = 0.5
"""Time the library may take; after it the rest of the texts is given as one difference."""
COMPARED = 20_000
"""Characters of each reply that are compared; the page says when there were more."""
KEPT_LINES = 1
"""Equal lines that stay on each side of a difference when the ones between are folded."""
FOLDED_FROM = 4
"""Equal lines in a row that are worth folding."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one side. `kind`: same, only (this side alone has it) or folded (`lines` equal lines).

    `first` marks the piece at which the two texts first part.
    """

    kind: str
    text: str = ""
    lines: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """The two sides in pieces; `equal` when they hold the same words, `cut` when only a part was compared."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...]
    equal: bool
    cut: bool


def difference(left: str, right: str) -> Difference:
    """The word-level difference of two texts, at most `COMPARED` characters of each."""
    runs = _runs(left[:COMPARED], right[:COMPARED])
    return Difference(
        left=tuple(_side(runs, -1)),
        right=tuple(_side(runs, 1)),
        equal=all(kind == 0 for kind, _ in runs),
        cut=max(len(left), len(right)) > COMPARED,
    )


def _runs(left: str, right: str) -> list[tuple[int, str]]:
    """(-1, only left), (0, both) and (1, only right), in order."""
    codes: dict[str, str] = {}
    words: dict[str, str] = {}

    def encoded(text: str) -> str:
        found = []
        for word in _WORDS.findall(text):
            if word not in codes:
                code = len(codes) + 1
                # One character a word; lone surrogates are no characters to the library's string work.
                character = chr(code if code < _SURROGATES.start else code + len(_SURROGATES))
                codes[word], words[character] = character, word
            found.append(codes[word])
        return "".join(found)

    library = diff_match_patch()
    library.Diff_Timeout = SECONDS
    found = library.diff_main(encoded(left), encoded(right), False)
    library.diff_cleanupSemantic(found)
    return [(kind, "".join(words[character] for character in text)) for kind, text in found]


def _side(runs: Sequence[tuple[int, str]], side: int) -> Iterator[Piece]:
    last = len(runs) - 1
    start = next((index for index, (kind, _) in enumerate(runs) if kind), None)
    # A replaced stretch is two runs: what the left side has, then what the right side has in its place.
    first_two = () if start is None else (start, start + 1)
    parting = [index for index in first_two if index <= last and runs[index][0]]
    for index, (kind, text) in enumerate(runs):
        if kind == 0:
            yield from _folded(text, at_start=index == 0, at_end=index == last)
        elif kind == side:
            yield Piece("only", text, first=index in parting)
        elif [index] == parting:
            # Only the other side has something where the two part: a mark without text says where.
            yield Piece("only", "", first=True)


def _folded(text: str, *, at_start: bool, at_end: bool) -> Iterator[Piece]:
    """An equal stretch, its middle folded when that is long. Beside a difference a line stays, and what is
    left of the difference's own."""
    lines = text.splitlines(keepends=True)
    head = 0 if at_start else KEPT_LINES + 1
    tail = 0 if at_end else KEPT_LINES + 1
    middle = len(lines) - head - tail
    if middle < FOLDED_FROM:
        if text:
            yield Piece("same", text)
        return
    if head:
        yield Piece("same", "".join(lines[:head]))
    yield Piece("folded", "".join(lines[head : head + middle]), lines=middle)
    if tail:
        yield Piece("same", "".join(lines[-tail:]))
