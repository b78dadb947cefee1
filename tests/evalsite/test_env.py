"""Settings from the environment: what is understood, and that everything else is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite import env


@pytest.fixture(autouse=True)
def known() -> Any:
    before = dict(env.KNOWN)
    yield
    env.KNOWN.clear()
    env.KNOWN.update(before)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("TRUE", True), ("on", True), ("0", False), ("No", False), ("", False)],
)
def test_a_switch_understands_the_usual_words(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("EVALSITE_X", value)
    assert env.flag("EVALSITE_X") is expected


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda: env.flag("EVALSITE_X"), "maybe"),
        (lambda: env.number("EVALSITE_X", 5, least=1, most=9), "ten"),
        (lambda: env.number("EVALSITE_X", 5, least=1, most=9), "10"),
        (lambda: env.number("EVALSITE_X", 5, least=1, most=9), "0"),
        (lambda: env.number("EVALSITE_X", 5, least=1, most=9), "5.0"),
        (lambda: env.choice("EVALSITE_X", "INFO", ("INFO", "ERROR")), "LOUD"),
        (lambda: env.url("EVALSITE_X", "http://a", ("http", "https")), "ftp://a"),
        (lambda: env.url("EVALSITE_X", "http://a", ("http", "https")), "http:a"),
        (lambda: env.url("EVALSITE_X", "http://a", ("http", "https")), "http://[a"),
        (lambda: env.text("EVALSITE_X"), "\udcff"),
    ],
)
def test_an_odd_value_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[], object], value: str
) -> None:
    monkeypatch.setenv("EVALSITE_X", value)
    with pytest.raises(ImproperlyConfigured, match="EVALSITE_X"):
        read()


def test_a_refused_url_is_not_repeated_because_it_may_hold_a_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALSITE_X", "mysql://me:hunter2hunter2@db/x")
    with pytest.raises(ImproperlyConfigured) as refused:
        env.url("EVALSITE_X", "", ("postgres",))
    assert "hunter2" not in str(refused.value)


def test_a_variable_of_ours_that_no_setting_reads_is_a_misspelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_SWEEP_SECOND", "3")
    assert "EVALSITE_SWEEP_SECOND" in env.misspelt()
    assert "EVALSITE_VAR" not in env.misspelt()


def test_a_list_drops_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", " a.example , ,b.example,")
    assert env.names("EVALSITE_X") == ["a.example", "b.example"]
