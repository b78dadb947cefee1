"""The secret key of an installation."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite import local


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    var = tmp_path / "var"
    first = local.secret_key(var)
    assert local.secret_key(var) == first
    assert len(first) >= 50
    assert stat.S_IMODE((var / "secret-key").stat().st_mode) == 0o600
    assert stat.S_IMODE(var.stat().st_mode) == 0o700


def test_two_installations_have_different_keys(tmp_path: Path) -> None:
    assert local.secret_key(tmp_path / "a") != local.secret_key(tmp_path / "b")


def test_starts_at_the_same_moment_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: local.secret_key(tmp_path), range(32)))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]


def test_an_empty_key_left_by_a_full_disk_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "secret-key").write_text("")
    assert len(local.secret_key(tmp_path)) >= 50


def test_a_var_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file")
    with pytest.raises(ImproperlyConfigured, match="cannot be"):
        local.secret_key(tmp_path / "var")
