"""Numbers that are claimed in order, whichever kinds are asked for: IBAN, phone, dates, then BSN.

Sources: ISO 13616 and python-stdnum (IBAN, BSN), libphonenumber (phone).
"""

import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from experiments.evaluation.criteria.personal.phones import find_phones
from experiments.evaluation.criteria.personal.reading import Span, without

MOST = 200
"""Finds of one kind after which a text is read no further for it."""

_IBAN_START = re.compile(r"(?<![^\W_])[A-Za-z]{2}[0-9]{2}(?=[ .\-]?[A-Za-z0-9])")
_DATE = re.compile(
    r"(?<![^\W_])(?<!\d[-./])"
    r"(?:(?P<d>[0-3]?\d)(?P<sep>[-/.])(?P<m>[01]?\d)(?P=sep)(?P<y>\d{4})|(?P<y2>\d{4})-(?P<m2>\d\d)-(?P<d2>\d\d))"
    r"(?![-./]?\d)(?![^\W_])",
    re.ASCII,
)
_RUN = re.compile(r"\d(?:[ .\-]?\d)*+", re.ASCII)
_NO_CHARACTER = re.compile(r"[ .\-]")
_NOT_DIGIT = re.compile(r"\D", re.ASCII)
_BLOCK = re.compile(r"\d+", re.ASCII)
_BSN_DIGITS = 9
_MANY_BLOCKS = 50


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was claimed. `partly`: the text holds more number-like text than is read."""

    ibans: tuple[Span, ...]
    phones: tuple[Span, ...]
    bsns: tuple[Span, ...]
    partly: bool


def find_numbers(text: str, kinds: Collection[str]) -> Numbers:
    """Every claim that a kind asked for depends on. `text` is as seen (`reading.as_seen`)."""
    if not {"bsn", "iban", "nl_phone"} & set(kinds):
        return Numbers((), (), (), partly=False)
    ibans = tuple(_ibans(text))
    text = without(text, ibans)
    phones = find_phones(text, lambda stretch: "nl_phone" in kinds or _may_hold_bsn(stretch), MOST)
    bsns: tuple[Span, ...] = ()
    if "bsn" in kinds:
        text = without(text, (*phones.claimed, *phones.unread))
        bsns = tuple(_bsns(without(text, (span for span, _ in find_dates(text)))))
    return Numbers(ibans, phones.dutch, bsns, partly=bool(phones.unread) or len(ibans) >= MOST)


def _ibans(text: str) -> Iterator[Span]:
    found, position = 0, 0
    while found < MOST and (start := _IBAN_START.search(text, position)):
        end = _iban_end(text, start.start(), start.end())
        position = end or start.end()
        if end:
            found += 1
            yield Span("iban", start.start(), end)


def _iban_end(text: str, start: int, body: int) -> int | None:
    """Where the IBAN that starts here ends; None when none does. Words after it may be capitals too."""
    rest = _iban_rest(text[start : start + 2].upper())
    found = rest.match(text, body) if rest else None
    if found is None:
        return None
    compact = _NO_CHARACTER.sub("", text[start : found.end()])
    return found.end() if _is_iban(compact) else None


@lru_cache(maxsize=1_024)
def _iban_rest(country: str) -> re.Pattern[str] | None:
    """What follows the check digits in this country, by the registry that stdnum carries."""
    from stdnum import numdb

    found = numdb.get("iban").info(country)
    structure = found[0][1].get("bban", "") if found else ""
    length = sum(int(number) for number in _BLOCK.findall(structure))
    return re.compile(rf"(?:[ .\-]?[A-Za-z0-9]){{{length}}}(?![^\W_])") if length else None


def _is_iban(compact: str) -> bool:
    if int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 != 1:
        return False  # the library's own answer, thirty times as fast
    from stdnum import iban

    return bool(iban.is_valid(compact, check_country=False))


def find_dates(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[tuple[Span, date]]:
    """Real days written in digits, and where."""
    for found in _DATE.finditer(text, start, end):
        parts = (found["y"] or found["y2"], found["m"] or found["m2"], found["d"] or found["d2"])
        day = real_date(*(int(part) for part in parts))
        if day is not None:
            yield Span("date", found.start(), found.end()), day


def real_date(year: int, month: int, day: int) -> date | None:
    """The date, or None when the calendar has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _bsns(text: str) -> Iterator[Span]:
    found = 0
    for run in _RUN.finditer(text):
        start, end = run.span()
        if end - start < _BSN_DIGITS - 1:
            continue
        if (start and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum()):
            continue
        digits = _NOT_DIGIT.sub("", run[0])
        is_short = len(digits) == _BSN_DIGITS - 1 and len(run[0]) == len(digits) and not _is_date(digits)
        if (len(digits) == _BSN_DIGITS or is_short) and is_bsn(digits):
            yield Span("bsn", start, end)
            found += 1
            if found >= MOST:
                return


def _is_date(digits: str) -> bool:
    """Whether eight digits are a real day, as yyyymmdd or ddmmyyyy."""
    year_first = real_date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    return bool(year_first or real_date(int(digits[4:]), int(digits[2:4]), int(digits[:2])))


def is_bsn(digits: str) -> bool:
    """Whether eight or nine digits pass the 11-test (a shorter number is padded with a zero)."""
    number = digits.zfill(_BSN_DIGITS)
    weighed = sum(
        int(digit) * weight for digit, weight in zip(number, (9, 8, 7, 6, 5, 4, 3, 2, -1), strict=True)
    )
    if weighed % 11:
        return False  # the library's own answer, twenty times as fast
    from stdnum.nl import bsn

    return bool(bsn.is_valid(digits))


def _may_hold_bsn(stretch: str) -> bool:
    """Whether some of the digit groups, one after the other, make a number that passes the 11-test."""
    blocks = _BLOCK.findall(stretch)
    if len(blocks) > _MANY_BLOCKS:
        return True
    for first in range(len(blocks)):
        number = ""
        for block in blocks[first:]:
            number += block
            if len(number) >= _BSN_DIGITS:
                break
        if len(number) == _BSN_DIGITS and is_bsn(number):
            return True
        if len(blocks[first]) == _BSN_DIGITS - 1 and is_bsn(blocks[first]):
            return True
    return False
