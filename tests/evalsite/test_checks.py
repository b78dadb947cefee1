"""Settings that cannot hold stop the start, each with its id."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from evalsite import checks
from evalsite.databases import SQLITE


def ids(check: checks.Check) -> list[str | None]:
    return [message.id for message in check()]


def test_a_misspelt_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_LANE_THREADS", "3")
    assert ["EVALSITE_LANE_THREADS" in message.msg for message in checks.no_misspelt_settings()] == [True]
    assert ids(checks.no_misspelt_settings) == ["evalsite.E001"]


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
        ("https://evalsite.example.org", False),
        ("http://evalsite.example.org", True),
        ("http://10.0.0.7:8000", True),
    ],
)
def test_plain_http_is_for_this_machine(settings: Settings, url: str, refused: bool) -> None:
    settings.SITE_URL = url
    assert ids(checks.plain_http_stays_home) == (["evalsite.E002"] if refused else [])


def test_debug_is_for_this_machine(settings: Settings) -> None:
    settings.DEBUG, settings.SITE_URL = True, "https://evalsite.example.org"
    assert ids(checks.debug_stays_home) == ["evalsite.E003"]
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert ids(checks.debug_stays_home) == []


def test_a_sqlite_file_serves_one_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", SQLITE)
    settings.BROKER_URL = "redis://localhost/1"
    assert ids(checks.one_process_for_sqlite) == ["evalsite.E004"]
    settings.BROKER_URL = "memory://localhost"
    assert ids(checks.one_process_for_sqlite) == []


def test_a_wildcard_host_is_refused(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "*"]
    assert ids(checks.no_wildcard_host) == ["evalsite.E005"]
