"""Personal data that is no claimed number: email, postcode, licence plate, id number, date of birth.

Sources: email-validator; PostNL's postcode series; RDW's licence plate series; the number of a Dutch passport
or identity card.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from experiments.evaluation.criteria.personal.numbers import MOST, find_dates, real_date
from experiments.evaluation.criteria.personal.reading import Span

EMAILS_READ = 2_000
"""Different address-like texts that one check reads."""

_LONGEST_LOCAL, _LONGEST_DOMAIN = 64, 255
_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+\Z")
_AT = re.compile(r"(?<=[\w.!#$%&'*+/=?^`{|}~-])@(?=\w)")
_DOMAIN = re.compile(r"\w[\w-]*(?:\.[\w-]+)*\.\w*[^\W\d_]\w*")

_POSTCODE = re.compile(r"(?<![^\W_])[1-9][0-9]{3} ?(?!S[ADS])[A-Z]{2}(?![^\W_])")
_PLATE_SERIES = (
    "XX-99-99", "99-99-XX", "99-XX-99", "XX-99-XX", "XX-XX-99", "99-XX-XX", "99-XXX-9", "9-XXX-99",
    "XX-999-X", "X-999-XX", "XXX-99-X", "X-99-XXX", "9-XX-999", "999-XX-9",
)  # fmt: skip
_PLATE = re.compile(
    r"(?<![^\W_])(?:"
    + "|".join(series.replace("X", "[A-Z]").replace("9", "[0-9]") for series in _PLATE_SERIES)
    + r")(?![^\W_])"
)
_ID_NUMBER = re.compile(r"(?<![^\W_])[A-NP-Z]{2}([A-NP-Z0-9]{6})[0-9](?![^\W_])")
_FEWEST_MIDDLE_DIGITS = 2

_MONTHS = (
    ("januari", "january", "jan"), ("februari", "february", "febr", "feb"), ("maart", "march", "mrt", "mar"),
    ("april", "apr"), ("mei", "may"), ("juni", "june", "jun"), ("juli", "july", "jul"),
    ("augustus", "august", "aug"), ("september", "sept", "sep"), ("oktober", "october", "okt", "oct"),
    ("november", "nov"), ("december", "dec"),
)  # fmt: skip
_MONTH = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names}
_WRITTEN_DATE = re.compile(
    rf"(?<![^\W_])([0-3]?[0-9])(?:st|nd|rd|th|e|ste|de)? {{1,3}}({'|'.join(_MONTH)})\.? {{1,3}}"
    r"([0-9]{4})(?![^\W_])",
    re.IGNORECASE,
)
_CUE = re.compile(r"(?<!\w)(?:geboren|geboortedatum|geb\.|born|date of birth)", re.IGNORECASE)
_CUE_WITHIN = 40
_LONGEST_DATE = 30
_FIRST_YEAR = 1900


def find_emails(text: str) -> tuple[tuple[Span, ...], bool]:
    """The addresses, and whether there was more that looks like one than is read."""
    found: list[Span] = []
    seen: dict[str, bool] = {}
    for at in _AT.finditer(text):
        span = _around(text, at.start())
        if span is None:
            continue
        address = text[span.start : span.end]
        if address not in seen and len(seen) >= EMAILS_READ:
            return tuple(found), True
        if seen.setdefault(address, _is_email(address)):
            found.append(span)
            if len(found) >= MOST:
                break
    return tuple(found), False


def _around(text: str, at: int) -> Span | None:
    """What looks like an address around this at sign."""
    domain = _DOMAIN.match(text, at + 1, at + 2 + _LONGEST_DOMAIN)
    if domain is None:
        return None
    local = _LOCAL.search(text[max(at - _LONGEST_LOCAL, 0) : at])
    return None if local is None else Span("email", at - len(local[0]), domain.end())


@lru_cache(maxsize=4_096)
def _is_email(address: str) -> bool:
    from email_validator import EmailNotValidError, validate_email

    try:
        validate_email(address, check_deliverability=False)
    except EmailNotValidError:
        return False
    return True


def find_postcodes(text: str) -> Iterator[Span]:
    """Dutch postcodes; the series SA, SD and SS are never given out."""
    return (Span("postcode", found.start(), found.end()) for found in _POSTCODE.finditer(text))


def find_plates(text: str) -> Iterator[Span]:
    """Dutch licence plates, with their dashes."""
    return (Span("license_plate", found.start(), found.end()) for found in _PLATE.finditer(text))


def find_id_numbers(text: str) -> Iterator[Span]:
    """Numbers of Dutch passports and identity cards, which hold no letter O."""
    for found in _ID_NUMBER.finditer(text):
        if sum(map(str.isdigit, found[1])) >= _FEWEST_MIDDLE_DIGITS:
            yield Span("id_number", found.start(), found.end())


def find_birthdates(text: str, today: date | None) -> Iterator[Span]:
    """Real days from 1900 up to the day before `today` with a word for birth shortly before on their line."""
    done = 0
    for cue in _CUE.finditer(text):
        reach = cue.start() + _CUE_WITHIN
        line = text.find("\n", cue.end(), reach)
        reach = reach if line < 0 else line
        for span, day in _dates_between(text, max(cue.end(), done), reach):
            done = span.end
            if day.year >= _FIRST_YEAR and (today is None or day < today):
                yield Span("birthdate", span.start, span.end)


def _dates_between(text: str, first: int, last: int) -> list[tuple[Span, date]]:
    """Days in digits or with the month in words that begin here, in order."""
    end = last + _LONGEST_DATE
    found = list(find_dates(text, first, end))
    for written in _WRITTEN_DATE.finditer(text, first, end):
        day = real_date(int(written[3]), _MONTH[written[2].lower()], int(written[1]))
        if day is not None:
            found.append((Span("date", written.start(), written.end()), day))
    return sorted((one for one in found if one[0].start <= last), key=lambda one: one[0].start)
