"""What every test shares: protected tables that can be flushed, and the environment for child processes."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations


def triggers_of(vendor: str) -> str:
    """The statement that lists our triggers as (name, table)."""
    if vendor == "sqlite":
        return "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"
    return (
        "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE NOT t.tgisinternal AND n.nspname = current_schema()"
    )


def drop_triggers() -> None:
    """Remove every trigger, so that protected rows can go. Django's flush ends with `post_migrate`, which
    puts them back."""
    with connection.cursor() as cursor:
        cursor.execute(triggers_of(connection.vendor))
        for name, table in cursor.fetchall():
            where = "" if connection.vendor == "sqlite" else f' ON "{table}"'
            cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{where}')


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Hostile text in a log line or a failure must not end the test run: pytest-xdist sends UTF-8 only."""
    return sendable((yield))


def sendable(data: Any) -> Any:
    """The same report with lone surrogates spelled out, at any depth."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {sendable(key): sendable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(sendable(value) for value in data)
    return data


@pytest.fixture(scope="session", autouse=True)
def flush_despite_triggers() -> Iterator[None]:
    """A TransactionTestCase empties all tables; triggers that protect rows would refuse that."""
    original = BaseDatabaseOperations.execute_sql_flush

    def execute_sql_flush(self: BaseDatabaseOperations, sql_list: list[str]) -> Any:
        drop_triggers()
        return original(self, sql_list)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseOperations, "execute_sql_flush", execute_sql_flush)
        yield


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """The environment for a process of the site that works on the test database and broker of this test."""
    database = settings.DATABASES["default"]
    if connection.vendor == "sqlite":
        url = f"sqlite:///{connection.settings_dict['NAME']}"
    else:
        host = f"{database['HOST']}:{database['PORT']}" if database["PORT"] else database["HOST"]
        who = f"{database['USER']}:{database['PASSWORD']}" if database["PASSWORD"] else database["USER"]
        url = f"postgres://{who}@{host}/{connection.settings_dict['NAME']}"
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
        "DATABASE_URL": url,
        "BROKER_URL": settings.BROKER_URL,
        "EVALSITE_VAR": str(settings.VAR_DIR),
        "SECRET_KEY": settings.SECRET_KEY,
        "PYTHONUNBUFFERED": "1",
    }
