"""What tests with PostgreSQL and Redis share: a database of their own and the skip without services."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings

from evalsite.databases import POSTGRESQL

DATABASE = settings.DATABASES["default"]

needs_services = [
    pytest.mark.services,
    pytest.mark.skipif(
        DATABASE["ENGINE"] != POSTGRESQL or not settings.BROKER_URL.startswith("redis"),
        reason="needs DATABASE_URL of a PostgreSQL and BROKER_URL of a Redis",
    ),
]


@contextmanager
def own_database(purpose: str) -> Iterator[str]:
    """The URL of an empty database, dropped at the end."""
    name = f"test_{purpose}_{os.getpid()}"
    who = quote(DATABASE["USER"]) + (f":{quote(DATABASE['PASSWORD'])}" if DATABASE["PASSWORD"] else "")
    server = f"postgres://{who}@{DATABASE['HOST']}:{DATABASE['PORT'] or 5432}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    try:
        yield f"{server}/{name}"
    finally:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
