"""What the pages of the review draw with: the count in the top bar, marked replies, times of today."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from experiments.models import Permission
from experiments.selectors import marking
from experiments.selectors.queue import clock, open_sources
from experiments.templatetags.evalsite import visible

register = template.Library()


@register.simple_tag(takes_context=True)
def queue_count(context: dict[str, Any]) -> int | None:
    """How many sources wait for who is signed in; None for those who cannot decide them."""
    user = context.get("user")
    if user is None or not user.is_authenticated or not user.may(Permission.REVIEW):
        return None
    return open_sources(user)


@register.filter
def plain(text: object) -> str:
    """What somebody wrote, for titles, options and labels, where no markup can go."""
    return marking.plain(str(text))


@register.simple_tag
def marked(pieces: Iterable[tuple[str, bool]]) -> SafeString:
    """A reply as (text, marked) pieces, inert, in one isolated direction, the marked ones marked."""
    drawn = format_html_join(
        "",
        "{}",
        (
            (format_html('<mark class="cited">{}</mark>', visible(text)) if is_marked else visible(text),)
            for text, is_marked in pieces
        ),
    )
    return format_html('<bdi dir="auto">{}</bdi>', drawn)


@register.simple_tag
def at(moment: datetime | None) -> SafeString:
    """A time of today as "14:05 UTC", of another day with the day."""
    if moment is None:
        return format_html('<span class="muted">–</span>')
    stamp = moment.astimezone(UTC).isoformat(timespec="seconds")
    return format_html('<time datetime="{}" class="nowrap">{}</time>', stamp, clock(moment))
