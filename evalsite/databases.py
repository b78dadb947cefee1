"""The two databases the site runs on: SQLite in `var/` by default, PostgreSQL by DATABASE_URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from evalsite import env

POSTGRESQL = "django.db.backends.postgresql"
SQLITE = "django.db.backends.sqlite3"

SQLITE_OPTIONS: dict[str, Any] = {
    # With DEFERRED half of all concurrent read-then-write transactions fail with "database is locked".
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database(var: Path) -> dict[str, Any]:
    """Django's settings of the database that DATABASE_URL names. Raises ImproperlyConfigured."""
    schemes = ("sqlite", "postgres", "postgresql")
    address = env.url("DATABASE_URL", f"sqlite:///{var / 'evalsite.sqlite3'}", schemes)
    pool = env.number("EVALSITE_POOL", 12, least=2, most=200)
    try:
        found: dict[str, Any] = dict(dj_database_url.parse(address))
    except (ValueError, KeyError):
        raise ImproperlyConfigured("DATABASE_URL is not a URL of a database.") from None
    if not found["NAME"]:
        raise ImproperlyConfigured("DATABASE_URL names no database.")
    if found["ENGINE"] == SQLITE:
        if found["NAME"] == ":memory:":
            raise ImproperlyConfigured("DATABASE_URL must name a file: SQLite in memory has no WAL.")
        found["OPTIONS"] = {**found.get("OPTIONS", {}), **SQLITE_OPTIONS}
    else:
        # A connection from the pool goes back at the end of each request and before each call to the outside.
        found["CONN_MAX_AGE"] = 0
        found["OPTIONS"] = {
            **found.get("OPTIONS", {}),
            "pool": {"min_size": 1, "max_size": pool, "timeout": 20},
            "connect_timeout": 10,
            "application_name": "evalsite",
        }
    return found
