"""The log: one JSON object a line, and no secret in any of them."""

from __future__ import annotations

import json
import logging
import logging.config
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsite import logs


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A log file wired as the settings wire it, with one secret in the environment."""
    monkeypatch.setenv("CLAIMS_TOKEN", "tok-very-secret-1")
    path = tmp_path / "log" / "site.log"
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    logging.config.dictConfig(logs.logging_config(path, level="INFO", console=False))
    yield path
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_one_json_object_with_time_level_and_source(log: Path) -> None:
    logging.getLogger("experiments.execution").info("claimed %d", 5)
    (line,) = lines(log)
    assert (line["event"], line["level"], line["logger"]) == ("claimed 5", "info", "experiments.execution")
    assert line["timestamp"].endswith("Z")


def test_the_log_is_readable_by_its_owner_alone(log: Path) -> None:
    logging.getLogger("x").info("one")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "text",
    [
        "the header said tok-very-secret-1",
        "Authorization: Bearer tok-very-secret-2",
        "GET /link/?token=tok-very-secret-3 and more",
        "postgres://me:tok-very-secret-4@db/evalsite",
        "key sk-ant-tok-very-secret-5",
        "{'x-api-key': 'tok-very-secret-6'}",
    ],
)
def test_a_secret_in_a_text_is_replaced(log: Path, text: str) -> None:
    logging.getLogger("x").warning(text)
    written = log.read_text()
    assert "very-secret" not in written
    assert logs.HIDDEN in written


def test_a_secret_in_a_traceback_is_replaced(log: Path) -> None:
    try:
        raise RuntimeError("refused tok-very-secret-1")
    except RuntimeError:
        logging.getLogger("x").exception("call failed")
    written = log.read_text()
    assert "very-secret" not in written
    assert "RuntimeError" in written


def test_a_value_under_a_secret_name_is_replaced_at_any_depth_and_counts_of_tokens_stay() -> None:
    redact = logs.Redaction({})
    event = redact(
        None, "info", {"event": "e", "a": [{"api_key": "x"}], "password": "y", "prompt_tokens": 12}
    )
    assert event == {
        "event": "e",
        "a": [{"api_key": logs.HIDDEN}],
        "password": logs.HIDDEN,
        "prompt_tokens": 12,
    }


def test_a_short_value_of_the_environment_is_no_secret_because_it_would_hide_ordinary_words() -> None:
    assert logs.environment_secrets({"A_TOKEN": "abc", "B_KEY": "long-enough", "MONKEY": "not-a-secret"}) == (
        "long-enough",
    )


def test_hostile_text_costs_no_line(log: Path) -> None:
    logging.getLogger("x").warning("nul \x00 surrogate \ud800 bidi \u202e <script>")
    assert "<script>" in lines(log)[0]["event"]


def test_a_file_that_another_process_rotated_is_opened_anew(log: Path) -> None:
    logging.getLogger("x").warning("first")
    os.rename(log, log.with_suffix(".1"))
    logging.getLogger("x").warning("second")
    assert [line["event"] for line in lines(log)] == ["second"]
