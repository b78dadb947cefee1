"""Text as a reader sees it, spans in it, and how a find is shown without spreading it."""

import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

_SHOWN = 2
_LONGEST_MASK = 12

_INVISIBLE = (
    0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF,
)  # fmt: skip
_SPACES = (0x00A0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_DASHES = (*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0xFF0D)
_OTHERS = {"＋": "+", "．": ".", "／": "/", "＠": "@"}


@dataclass(frozen=True, slots=True)
class Span:
    """Something found in a text: which kind, and from where to where."""

    kind: str
    start: int
    end: int


@cache
def _as_seen() -> dict[int, str | None]:
    table: dict[int, str | None] = dict.fromkeys(_INVISIBLE)
    table |= dict.fromkeys(_SPACES, " ") | dict.fromkeys(_DASHES, "-")
    table |= {ord(odd): plain for odd, plain in _OTHERS.items()}
    for code in range(128, sys.maxunicode + 1):
        digit = unicodedata.decimal(chr(code), None)
        if digit is not None:
            table[code] = str(digit)
    return table


def as_seen(text: str) -> str:
    """`text` with plain digits, spaces and dashes for their look-alikes, and without what is invisible.

    A number written with non-breaking spaces or hyphens, or between direction marks, reads the same.
    """
    return text if text.isascii() else text.translate(_as_seen())


def without(text: str, spans: Iterable[Span]) -> str:
    """`text`, as long as it was, with each span as line breaks: nothing goes on across one."""
    pieces, position = [], 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= position:
            pieces += [text[position : span.start], "\n" * (span.end - span.start)]
            position = span.end
    return "".join([*pieces, text[position:]])


def masked(found: str) -> str:
    """What was found with its last two characters visible; a privacy check must not spread the data."""
    hidden = min(max(len(found) - _SHOWN, _SHOWN), _LONGEST_MASK)
    return "•" * hidden + found[-_SHOWN:]
