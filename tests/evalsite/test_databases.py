"""Which database a site gets, and how it is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from evalsite.databases import POSTGRESQL, SQLITE, database


@pytest.fixture
def no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)


def test_without_a_url_it_is_a_sqlite_file_in_var(no_url: None, tmp_path: Path) -> None:
    found = database(tmp_path)
    assert (found["ENGINE"], found["NAME"]) == (SQLITE, str(tmp_path / "evalsite.sqlite3"))
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_postgresql_gets_a_pool_and_gives_connections_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me:pw@db:5433/site?sslmode=require")
    found: dict[str, Any] = database(tmp_path)
    assert (found["ENGINE"], found["HOST"], found["PORT"], found["NAME"]) == (POSTGRESQL, "db", 5433, "site")
    assert found["CONN_MAX_AGE"] == 0
    assert found["OPTIONS"]["pool"]["max_size"] == 12
    assert found["OPTIONS"]["sslmode"] == "require"


@pytest.mark.parametrize(
    "url", ["mysql://a/b", "postgres://db", "sqlite://:memory:", "nonsense", "postgres://h:port/x"]
)
def test_a_database_that_cannot_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        database(tmp_path)


@pytest.mark.django_db
def test_the_test_database_of_sqlite_is_a_file_with_a_write_ahead_log() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    with connection.cursor() as cursor:
        modes = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        (_, _, file) = cursor.execute("PRAGMA database_list").fetchone()
    assert modes == ["wal", 1]
    assert Path(file).is_file()
