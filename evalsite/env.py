"""Settings from the environment, loud on odd values.

Every setting is read through one of the functions below. Each refuses a value it does not understand with
one sentence that names the variable, says what was found and what would be accepted; nothing falls back
silently. `KNOWN` collects what was read: a variable that starts with `EVALSITE_` and is not in it is a
misspelling, which `evalsite.checks` reports, and a test compares it with `docs/settings.md`.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

KNOWN: dict[str, str] = {}
"""Name of each variable read so far -> its default as text ("" when it has none)."""

PREFIX = "EVALSITE_"
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The value without surrounding blanks; the default when the variable is unset or empty."""
    KNOWN[name] = default
    value = os.environ.get(name, "").strip()
    if "\x00" in value or any(0xDC80 <= ord(char) <= 0xDCFF for char in value):
        raise ImproperlyConfigured(f"{name} holds bytes that are not text.")
    return value or default


def flag(name: str, default: bool = False) -> bool:
    """A switch: 1, true, yes, on or 0, false, no, off."""
    value = text(name, "1" if default else "0").lower()
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(
        f"{name}={value!r} is neither on (1, true, yes, on) nor off (0, false, no, off)."
    )


def number(name: str, default: int, *, least: int, most: int) -> int:
    """A whole number between `least` and `most`, both included."""
    value = text(name, str(default))
    try:
        found = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from None
    if not least <= found <= most:
        raise ImproperlyConfigured(f"{name}={found} is outside {least} to {most}.")
    return found


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of a few words, in any case."""
    value = text(name, default)
    for word in allowed:
        if value.lower() == word.lower():
            return word
    raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(allowed)}.")


def names(name: str) -> list[str]:
    """A list separated by commas; empty entries are dropped."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def url(name: str, default: str, schemes: tuple[str, ...]) -> str:
    """A URL with one of the schemes. A refused URL is not repeated, because it may hold a password."""
    value = text(name, default)
    try:
        scheme = urlsplit(value).scheme
    except ValueError:
        scheme = ""
    if scheme not in schemes or "://" not in value:
        known = ", ".join(f"{known}://" for known in schemes)
        raise ImproperlyConfigured(f"{name} is not a URL that begins with one of {known}.")
    return value


def misspelt() -> list[str]:
    """Variables of ours that no setting reads, sorted."""
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in KNOWN)
