"""What every template draws with: verdict badges, attempt strips, bars, times, and evidence made inert.

Everything here returns escaped markup; nothing that a system under test said becomes markup.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from experiments.evaluation import percent as percent_words
from experiments.evaluation import plural
from experiments.selectors.words import (
    CRITERION_STATUS,
    MARKS,
    SETTLED_BY,
    VERDICTS,
    duration,
    strip_words,
)

register = template.Library()

MARK_PITCH, MARKS_A_ROW = 14, 25
"""Pixels from one mark of a strip to the next, the mark itself being 3 smaller; and marks in a line of it."""
SMALL_PITCH, SMALL_A_ROW, SMALL_FROM, SHOWN_MARKS = 8, 20, 11, 60
"""In a list more than ten marks are drawn smaller and no more than 60, so that a row stays under 56 px."""
THEMES = ("light", "dark")


@register.simple_tag(takes_context=True)
def theme(context: dict[str, Any]) -> str:
    """The reader's own choice, "light" or "dark"; "" follows the system."""
    chosen = context["request"].COOKIES.get("theme", "") if "request" in context else ""
    return chosen if chosen in THEMES else ""


@register.simple_tag
def verdict(value: str, plain: bool = False) -> SafeString:
    """A case verdict as glyph and word."""
    word = VERDICTS[value]
    return format_html(
        '<span class="verdict {}{}">{}{}</span>',
        word.css,
        " plain" if plain else "",
        glyph(word.css),
        word.label,
    )


@register.simple_tag
def mark(letter: str) -> SafeString:
    """One attempt's mark as glyph and word."""
    word = MARKS[letter]
    return format_html('<span class="verdict plain {}">{}{}</span>', word.css, glyph(word.css), word.label)


@register.simple_tag
def glyph(css: str) -> SafeString:
    """The drawn sign of a verdict or mark, without words: a word must stand beside it."""
    return format_html(
        '<svg class="glyph {}" width="11" height="11" aria-hidden="true"><use href="#g-{}"/></svg>',
        css,
        css.removeprefix("is-"),
    )


@register.simple_tag
def strip(letters: str, whole: bool = False) -> SafeString:
    """The attempts of a case in order of number, one mark each, with the same in words for who cannot see it.

    With `whole` every mark is drawn at full size, for a case's own page.
    """
    small = not whole and len(letters) >= SMALL_FROM
    pitch, a_row, size = (SMALL_PITCH, SMALL_A_ROW, 7) if small else (MARK_PITCH, MARKS_A_ROW, 11)
    shown = letters[:SHOWN_MARKS] if small else letters
    marks = format_html_join(
        "",
        '<use class="{}" href="#g-{}" x="{}" y="{}" width="{}" height="{}"/>',
        (
            (
                word.css,
                word.css.removeprefix("is-"),
                index % a_row * pitch,
                index // a_row * pitch,
                size,
                size,
            )
            for index, word in enumerate(MARKS[letter] for letter in shown)
        ),
    )
    return format_html(
        '<svg class="strip" width="{}" height="{}" role="img" aria-label="{}">{}</svg>',
        max(1, (min(len(shown), a_row) - 1) * pitch + size),
        max(0, (len(shown) - 1) // a_row) * pitch + size,
        strip_words(letters),
        marks,
    )


@register.simple_tag
def bar(count: int, largest: int, css: str = "is-accent") -> SafeString:
    """A horizontal bar, `count` of `largest` wide. Its figure must stand beside it."""
    share = 100 * count / largest if largest else 0
    width = max(share, 1.5) if count else 0
    return format_html(
        '<svg class="bar {}" height="12" aria-hidden="true">'
        '<rect class="bar-fill" width="{}%" height="12" rx="3"/></svg>',
        css,
        round(width, 2),
    )


@register.simple_tag
def progress(count: int, total: int, label: str) -> SafeString:
    """How far a run is, for eyes and for screen readers."""
    share = round(100 * count / total, 2) if total else 0
    return format_html(
        '<svg class="bar is-accent" height="8" role="progressbar" aria-label="{}" aria-valuemin="0" '
        'aria-valuemax="{}" aria-valuenow="{}"><rect class="bar-ground" width="100%" height="8" rx="4"/>'
        '<rect class="bar-fill" width="{}%" height="8" rx="4"/></svg>',
        label,
        total,
        count,
        share,
    )


@register.simple_tag
def stack(parts: Sequence[tuple[str, int]]) -> SafeString:
    """One bar of several parts, as (css class, count). The counts must stand beside it."""
    total = sum(count for _css, count in parts)
    drawn, left = [], 0.0
    for css, count in parts:
        width = 100 * count / total if total else 0
        if count:
            drawn.append((css, round(left, 3), round(width, 3)))
        left += width
    rects = format_html_join("", '<rect class="bar-fill {}" x="{}%" width="{}%" height="8"/>', drawn)
    return format_html('<svg class="stack" height="8" aria-hidden="true">{}</svg>', rects)


@register.simple_tag
def when(moment: datetime | None, style: str = "full") -> SafeString:
    """A stored time in UTC with its zone: "30 Nov 2025, 14:02 UTC", or "14:02:05 UTC" with "clock"."""
    if moment is None:
        return format_html('<span class="muted">–</span>')
    moment = moment.astimezone(UTC)
    text = f"{moment:%H:%M:%S} UTC" if style == "clock" else f"{moment.day} {moment:%b %Y, %H:%M} UTC"
    return format_html(
        '<time datetime="{}" class="nowrap">{}</time>', moment.isoformat(timespec="seconds"), text
    )


@register.filter
def lasted(seconds: float | None) -> str:
    """A span of time in the two largest units that matter: "3 m 12 s"."""
    return "–" if seconds is None else duration(seconds)


@register.filter
def whole(number: float | None) -> str:
    """An integer with thousands apart; an en dash for one that is not known."""
    return "–" if number is None else f"{number:,.0f}"


@register.filter
def tenths(number: float | None) -> str:
    return "–" if number is None else f"{number:,.1f}"


@register.filter
def percent(share: float | None) -> str:
    """A share as a percentage; "no rate" when nothing was judged. Its counts must stand beside it."""
    return "no rate" if share is None else percent_words(share)


@register.filter
def points(share: float) -> str:
    """A share that is no pass rate, in whole points: "91%"."""
    return f"{share:.0%}"


@register.simple_tag
def interval(low: float, high: float) -> str:
    """A 95% interval in whole points, rounded outwards: "95%: 71 to 86"."""
    return f"95%: {math.floor(100 * low + 1e-9)} to {math.ceil(100 * high - 1e-9)}"


@register.filter
def counted(number: int, noun: str) -> str:
    """ "1 case", "2 cases"; a second form after a comma where an s is not enough: "reply,replies"."""
    return plural(number, *noun.split(","))


@register.filter
def settled_by(value: str) -> str:
    return SETTLED_BY.get(value, value)


@register.simple_tag
def data(text: object) -> SafeString:
    """What an author, a system or a judge wrote, inert: escaped, isolated in direction, controls visible."""
    return format_html('<bdi dir="auto">{}</bdi>', visible(str(text)))


def visible(text: str) -> SafeString:
    """The text escaped, with every character that could hide or reorder it shown as a sign of its own.

    NUL and other control characters, marks that change direction and those without width become a labelled
    box, lone surrogates U+FFFD. Line ends and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return escape(text)
    return mark_safe("".join(_visible_character(character) for character in text))  # noqa: S308 - each part is escaped


def _visible_character(character: str) -> str:
    code = ord(character)
    if character in "\n\t" or (32 <= code < 127 and character not in "<>&\"'"):
        return character
    if character == "\r":
        return ""
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    if category in ("Cf", "Cc", "Zl", "Zp") and code != 0xAD and code != 0x200D:
        name = unicodedata.name(character, "control character").lower()
        return format_html(
            '<span class="control" title="{}">{}</span>', name, "NUL" if not code else f"U+{code:04X}"
        )
    return escape(character)


@register.simple_tag
def component(name: str, **context: Any) -> str:
    """A piece from templates/components/ with just these values in it."""
    return render_to_string(f"components/{name}.html", context)


@register.simple_tag
def criterion_glyph(status: str) -> SafeString:
    """A criterion's status as glyph alone, the word for who cannot see it."""
    word = CRITERION_STATUS[status]
    return format_html('{}<span class="visually-hidden">{}</span>', glyph(word.css), word.label)


@register.simple_tag
def criterion_status(status: str) -> SafeString:
    """A criterion's status as glyph and word."""
    word = CRITERION_STATUS[status]
    return format_html('<span class="verdict plain {}">{}{}</span>', word.css, glyph(word.css), word.label)
