"""Phone numbers: what the phone matcher finds, asked only where a number can stand.

The matcher takes up to 40 microseconds a character of digits, so it is shown only number-like stretches that
can hold a number at all, and no more of them than READ characters.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from experiments.evaluation.criteria.personal.reading import Span

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

READ = 10_000
"""Characters of number-like text that one check shows to the matcher."""

_AFTER = 25
_FEWEST_DIGITS = 5

# Digits, a number's own punctuation (no letter belongs to it but an extension's), and plus signs.
_STRETCH = re.compile(r"[+(\[（［]{0,3}\d[-\d+ ()\[\]（）［］/.~⁓∼～x]*")
# How a number begins that the matcher can take as valid for the Netherlands, or that says its country.
_CAN_BEGIN = re.compile(r"\+|(?<!\d)(?:0|31|14)")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Phones:
    """Numbers of any country and type, those that count as `nl_phone`, and where nothing was looked for."""

    claimed: tuple[Span, ...]
    dutch: tuple[Span, ...]
    unread: tuple[Span, ...]


def find_phones(text: str, wanted: Callable[[str], bool], most: int) -> Phones:
    """The phone numbers in the stretches that are `wanted`; after `most` of them nothing more is read."""
    claimed: list[Span] = []
    dutch: list[Span] = []
    unread: list[Span] = []
    left = READ
    seen: dict[str, tuple[tuple[int, int, bool], ...]] = {}
    for stretch in _STRETCH.finditer(text):
        if not _can_hold(stretch[0]) or not wanted(stretch[0]):
            continue
        offset, end = max(stretch.start() - 1, 0), stretch.end()
        window = text[offset : end + _AFTER]
        if window not in seen:
            if len(dutch) >= most or left <= 0:
                unread.append(Span("unread", stretch.start(), end))
                continue
            if len(stretch[0]) > left:
                end = _cut(text, stretch.start() + left, end)
                unread.append(Span("unread", end, stretch.end()))
                window = text[offset:end]
            left -= end - stretch.start()
            seen[window] = _matches(window)
        for first, last, is_dutch in seen[window]:
            if offset + first < end:
                claimed.append(Span("phone", offset + first, offset + last))
                if is_dutch:
                    dutch.append(Span("nl_phone", offset + first, offset + last))
    return Phones(tuple(claimed), tuple(dutch), tuple(unread))


def _cut(text: str, near: int, end: int) -> int:
    """Where a stretch that is too long is cut: not inside a group of digits."""
    while near < end and text[near].isdigit():
        near += 1
    return near


def _can_hold(stretch: str) -> bool:
    if len(stretch) < _FEWEST_DIGITS:
        return False
    return bool(_CAN_BEGIN.search(stretch)) and len(_DIGIT.findall(stretch)) >= _FEWEST_DIGITS


@lru_cache(maxsize=512)
def _matches(window: str) -> tuple[tuple[int, int, bool], ...]:
    from phonenumbers import Leniency, PhoneNumberMatcher

    found = PhoneNumberMatcher(window, "NL", leniency=Leniency.VALID)
    return tuple((match.start, match.end, _is_dutch(match.number)) for match in found)


def _is_dutch(number: "PhoneNumber") -> bool:
    from phonenumbers import PhoneNumberType, number_type

    return number.country_code == 31 and number_type(number) in (
        PhoneNumberType.FIXED_LINE,
        PhoneNumberType.MOBILE,
        PhoneNumberType.FIXED_LINE_OR_MOBILE,
        PhoneNumberType.VOIP,
    )
