"""A test that logs, prints or fails with hostile text is reported like any other, in any process."""

from __future__ import annotations

import logging

from tests.conftest import sendable

HOSTILE = "nul \x00 surrogate \ud800 bidi \u202e"


def test_a_log_line_with_a_lone_surrogate_passes_through_a_worker_of_xdist() -> None:
    logging.getLogger("tests").warning(HOSTILE)


def test_a_report_with_lone_surrogates_becomes_utf_8_at_any_depth() -> None:
    sent = sendable({"sections": [("log", HOSTILE)], HOSTILE: (HOSTILE, 1, None)})
    assert "\\ud800" in str(sent["sections"][0][1])
    assert str(sent).encode("utf-8")
