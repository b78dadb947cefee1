"""Where in a reply a citation stands: pure text work, so that the page can mark it."""

from __future__ import annotations

import re

KINDS = {
    "art": r"(?:articles?|artikel|art\.?)",
    "par": r"(?:paragraph|par\.?|lid|§)",
    "ch": r"(?:chapter|ch\.?)",
    "sec": r"(?:section|sec\.?|§)",
    "rec": r"(?:recital|rec\.?)",
    "pt": r"(?:point|pt\.?)",
    "rule": r"rule",
}
"""How people write the segments of a source path in running text."""

_BEFORE = r"(?<![\w/:])"
_AFTER = r"(?![\w/]|:\w|\(\w)"
QUOTE_READ = 400


def plain(text: str) -> str:
    """`text` for where no markup can go (a title, an option, a message): what could hide or reorder it is
    U+FFFD."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def spans(reply: str, unit_id: str, quote: str | None = None) -> list[tuple[int, int]]:
    """(start, end) of every place in `reply` that names `unit_id`, and of its quote; in order, apart.

    The id as it is comes first, then without its root ("art:21/par:1" of "gdpr/art:21/par:1"), then as people
    write it ("Article 21(1)"): the first of these forms that occurs is the one that is marked, with the
    brackets around it. Empty when the reply cites beside its text.
    """
    found: list[tuple[int, int]] = []
    for pattern in _forms(unit_id):
        found = [_with_brackets(reply, *match.span()) for match in pattern.finditer(reply)]
        if found:
            break
    if quote and quote.strip():
        words = r"\s+".join(re.escape(word) for word in quote[:QUOTE_READ].split())
        found += [match.span() for match in re.finditer(words, reply)]
    return _apart(found)


def segments(reply: str, marks: list[tuple[int, int]], limit: int) -> tuple[list[tuple[str, bool]], int]:
    """`reply` as (text, marked) pieces and where they begin: at most `limit` characters, around a mark."""
    start = 0
    if marks and marks[0][1] > limit:
        start = max(0, marks[0][0] - limit // 4)
    end = min(len(reply), start + limit)
    pieces: list[tuple[str, bool]] = []
    at = start
    for low, high in marks:
        if low >= end or high <= start:
            continue
        if low > at:
            pieces.append((reply[at:low], False))
        pieces.append((reply[max(low, at) : min(high, end)], True))
        at = min(high, end)
    if at < end:
        pieces.append((reply[at:end], False))
    return pieces, start


def _forms(unit_id: str) -> list[re.Pattern[str]]:
    parts = [part for part in unit_id.split("/") if part]
    forms = [re.escape(unit_id)]
    if len(parts) > 1:
        forms.append(r"[/ ,]{1,2}".join(re.escape(part) for part in parts[1:]))
    written = [_written(part) for part in parts]
    while written and written[0] is None:
        written = written[1:]
    if written and None not in written:
        forms.append(r"(?:,?\s*(?:of\s+)?)".join(form for form in written if form))
    return [re.compile(_BEFORE + form + _AFTER, re.IGNORECASE) for form in forms]


def _written(segment: str) -> str | None:
    """ "art:21" as a pattern for "Article 21"; None for a segment that nobody would write out."""
    kind, _, number = segment.partition(":")
    if not number or kind not in KINDS:
        return None
    named = rf"{KINDS[kind]}\s*{re.escape(number)}"
    return rf"(?:{named}|\({re.escape(number)}\))" if kind in ("par", "pt") else named


def _with_brackets(reply: str, start: int, end: int) -> tuple[int, int]:
    around = (reply[start - 1 : start], reply[end : end + 1])
    return (start - 1, end + 1) if around in {("[", "]"), ("(", ")")} else (start, end)


def _apart(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
