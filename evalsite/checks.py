"""System checks of the wiring: settings that cannot hold stop the start with a sentence and an id.

The time rules of the engine (leases, deadlines, visibility) are checked in `experiments.execution.checks`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error

from evalsite import env
from evalsite.databases import SQLITE

Check = Callable[..., list[CheckMessage]]


def is_loopback(host: str) -> bool:
    """True for localhost and for the loopback addresses of IPv4 and IPv6."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def no_misspelt_settings(**_: Any) -> list[CheckMessage]:
    """evalsite.E001: a variable that starts with EVALSITE_ and that no setting reads."""
    return [
        Error(
            f"{name} is not a setting of this site.",
            hint="docs/settings.md lists them; a misspelt one would silently change nothing.",
            id="evalsite.E001",
        )
        for name in env.misspelt()
    ]


def plain_http_stays_home(**_: Any) -> list[CheckMessage]:
    """evalsite.E002: http for anything but this machine sends passwords and sessions in the clear."""
    site = urlsplit(settings.SITE_URL)
    if site.scheme == "https" or is_loopback(site.hostname or ""):
        return []
    return [
        Error(
            f"EVALSITE_URL={settings.SITE_URL} sends passwords over the network in the clear.",
            hint="Put the site behind https and name it so; plain http is for 127.0.0.1 and localhost.",
            id="evalsite.E002",
        )
    ]


def debug_stays_home(**_: Any) -> list[CheckMessage]:
    """evalsite.E003: DEBUG shows settings and code to whoever causes an error."""
    if not settings.DEBUG or is_loopback(urlsplit(settings.SITE_URL).hostname or ""):
        return []
    return [
        Error(
            f"DEBUG is on while the site is reached as {settings.SITE_URL}.",
            hint="Unset DEBUG; it is for one's own machine.",
            id="evalsite.E003",
        )
    ]


def one_process_for_sqlite(**_: Any) -> list[CheckMessage]:
    """evalsite.E004: several processes that share one SQLite file over a network broker."""
    if settings.DATABASES["default"]["ENGINE"] != SQLITE or settings.BROKER_URL.startswith("memory"):
        return []
    return [
        Error(
            "BROKER_URL asks for worker processes, and a SQLite file serves one process only.",
            hint="Set DATABASE_URL to a PostgreSQL database, or leave BROKER_URL unset.",
            id="evalsite.E004",
        )
    ]


def no_wildcard_host(**_: Any) -> list[CheckMessage]:
    """evalsite.E005: a wildcard host lets a forged Host header into links."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        Error(
            "EVALSITE_HOSTS holds *, so any Host header would be believed.",
            hint="Name the hosts.",
            id="evalsite.E005",
        )
    ]


ALL: tuple[Check, ...] = (
    no_misspelt_settings,
    plain_http_stays_home,
    debug_stays_home,
    one_process_for_sqlite,
    no_wildcard_host,
)
