"""Double-quoted spans of a text.

Pairs are "…", “…”, „…” or „…“, and «…». Only the outermost count. One pass, so that a megabyte of marks
costs no more than a megabyte of words.
"""

import re
from dataclasses import dataclass

_MARK = re.compile('["“”„«»]')
_OPENS_AFTER = frozenset("([{<-–—/“„«‘'¿¡")


MOST_MARKS = 100_000
"""Marks of one text that are read in under a second."""


@dataclass(frozen=True, slots=True)
class Quotes:
    """The texts between outermost marks, in order, and where marks stand that nothing closes or opens."""

    spans: tuple[str, ...]
    unclosed: tuple[int, ...]


class _Scan:
    def __init__(self) -> None:
        self.open: list[tuple[str, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.unclosed: list[int] = []
        self._count = dict.fromkeys('"“„«', 0)

    def is_open(self, mark: str) -> bool:
        return self._count[mark] > 0

    def start(self, mark: str, at: int) -> None:
        self.open.append((mark, at))
        self._count[mark] += 1

    def close(self, marks: str, at: int) -> bool:
        """Close the last open one of these marks; whatever was opened after it was never closed."""
        if not any(map(self.is_open, marks)):
            return False
        while self.open:
            mark, start = self.open.pop()
            self._count[mark] -= 1
            if mark in marks:
                self.pairs.append((start, at))
                return True
            self.unclosed.append(start)
        return False


def count_marks(text: str) -> int:
    """How many double quotation marks of any form the text holds."""
    return sum(map(text.count, '"“”„«»'))


def find_quotes(text: str) -> Quotes:
    """The outermost quoted spans of the text, without those that hold nothing but white space."""
    scan = _Scan()
    for found in _MARK.finditer(text):
        mark, at = found[0], found.start()
        if mark == '"':
            _straight(scan, text, at)
        elif mark == "”":
            scan.close("“„", at)
        elif mark == "»":
            scan.close("«", at)
        elif mark == "“" and scan.is_open("„") and not _begins(text, at):
            scan.close("„", at)
        else:
            scan.start(mark, at)
    unclosed = sorted([*scan.unclosed, *(start for _, start in scan.open)])
    spans, end = [], -1
    for start, stop in sorted(scan.pairs):
        if start > end:
            end = stop
            span = text[start + 1 : stop]
            if span and not span.isspace():
                spans.append(span)
    return Quotes(tuple(spans), tuple(unclosed))


def _straight(scan: _Scan, text: str, at: int) -> None:
    """A straight mark opens or closes by what stands beside it, and else by whether one is open."""
    begins = _begins(text, at)
    if begins or not scan.close('"', at):
        if not begins and at and text[at - 1].isalnum():
            scan.unclosed.append(at)  # an inch mark, or the end of something that never began
        else:
            scan.start('"', at)


def _begins(text: str, at: int) -> bool:
    """Whether the mark stands before a word and after none."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return (not before or before.isspace() or before in _OPENS_AFTER) and bool(after.strip())
