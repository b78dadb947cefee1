"""The settings as a whole: what production gets, what the documents say, what Celery is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

import evalsite.settings
from evalsite import env
from evalsite.celery import SWEEP, app

ROOT = Path(evalsite.settings.BASE_DIR)


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A management command with the settings of a real site, far from this process's own."""
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_deployment_check_has_nothing_to_say_about_an_https_site() -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING", EVALSITE_URL="https://evalsite.example.org")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("EVALSITE_POOL", "lots"), ("DATABASE_URL", "mysql://a/b"), ("DEBUG", "perhaps")]
)
def test_an_odd_setting_is_one_sentence_and_no_traceback(name: str, value: str) -> None:
    done = manage("check", **{name: value})
    assert done.returncode == 1
    assert name in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_every_setting_is_documented_with_its_default_and_no_other() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    known = {name for name in env.KNOWN if name != "EVALSITE_X"}
    assert set(rows) == known
    for name, default in env.KNOWN.items():
        if default.isdigit() and default not in {"0", "1"}:
            assert rows[name] == default, name


def test_celery_has_two_queues_speaks_json_and_keeps_no_results() -> None:
    assert set(app.conf.task_queues) == {"lanes", "quick"}
    assert app.conf.accept_content == ["json"]
    assert app.conf["result_backend"] is None
    assert app.conf.worker_pool == "threads"
    assert app.conf.beat_schedule["sweep"]["task"] == SWEEP


def test_cookies_and_redirects_follow_the_scheme_of_the_site() -> None:
    code = (
        "from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, bool(s.SECURE_HSTS_SECONDS))"
    )
    secure = manage("shell", "--no-imports", "-c", code, EVALSITE_URL="https://evalsite.example.org")
    local = manage("shell", "--no-imports", "-c", code, EVALSITE_URL="http://localhost:8000")
    assert secure.stdout.split() == ["True"] * 3
    assert local.stdout.split() == ["False"] * 3


def test_the_tests_own_their_database_and_var() -> None:
    assert Path(settings.VAR_DIR) != ROOT / "var"
    assert "test" in str(settings.DATABASES["default"]["TEST"]["NAME"])
