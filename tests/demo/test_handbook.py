"""The demo's handbook: a well-formed corpus, and a search that finds the rule a person asks about."""

from __future__ import annotations

import json
import re
import time

import pytest

from experiments.demo.handbook import HANDBOOK_FILE, load_handbook


def rows() -> list[dict[str, object]]:
    return [json.loads(line) for line in HANDBOOK_FILE.read_text(encoding="utf-8").splitlines()]


def test_every_unit_has_the_fields_of_a_corpus_file_and_no_other() -> None:
    for row in rows():
        assert set(row) - {"aliases"} == {"id", "parent", "title", "text"}
        assert all(str(row[name]).strip() for name in ("id", "title", "text"))


def test_ids_are_unique_paths_whose_parents_come_before_them() -> None:
    seen: list[str] = []
    for row in rows():
        unit_id, parent = str(row["id"]), row["parent"]
        assert unit_id not in seen
        assert unit_id.rpartition("/")[0] == (parent or "")
        assert parent is None or parent in seen
        seen.append(unit_id)
    assert 80 <= len(seen) <= 120
    assert max(unit_id.count("/") for unit_id in seen) == 3


def test_only_the_root_has_aliases() -> None:
    assert [row["id"] for row in rows() if row.get("aliases")] == ["handbook"]


def test_articles_that_a_text_refers_to_exist() -> None:
    handbook = load_handbook()
    named = {found for unit in handbook.units for found in re.findall(r"article (\d+)\.(\d+)", unit.text)}
    assert len(named) >= 2
    assert all(f"handbook/ch:{chapter}/art:{article}" in handbook for chapter, article in named)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How long do I have to send in an objection?", "handbook/ch:7/art:1"),
        ("What does a second reminder cost?", "handbook/ch:2/art:2/par:2"),
        ("I paid my invoice twice, when is the double payment returned?", "handbook/ch:8/art:1"),
        ("How many years are records of a claim kept?", "handbook/ch:9/art:1/par:1"),
    ],
)
def test_a_question_finds_its_rule_first(question: str, found: str) -> None:
    hits = load_handbook().search(question)
    assert hits[0].unit.id == found
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("text", ["", "   ", "zyxwv qqq", "\x00\ud800\u202e", "the of and"])
def test_a_text_without_a_known_word_finds_nothing(text: str) -> None:
    assert load_handbook().search(text) == ()


def test_a_long_text_of_any_characters_is_searched() -> None:
    assert load_handbook().search("refund \ud800\x00<script> " * 20_000)


def test_reading_and_indexing_take_less_than_half_a_second_and_print_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    import bm25s  # noqa: F401 - numpy and scipy are loaded once a process and not what is timed here

    load_handbook.cache_clear()
    started = time.perf_counter()
    load_handbook().search("refund")
    assert time.perf_counter() - started < 0.5
    assert capfd.readouterr() == ("", "")
