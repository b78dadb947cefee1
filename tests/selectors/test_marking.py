"""Where in a reply a citation stands."""

from __future__ import annotations

import time

import pytest

from experiments.selectors.marking import plain, segments, spans

UNIT = "gdpr/art:21/par:1"


def marked(reply: str, unit: str = UNIT, quote: str | None = None) -> list[str]:
    return [reply[low:high] for low, high in spans(reply, unit, quote)]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("You may object [gdpr/art:21/par:1].", ["[gdpr/art:21/par:1]"]),
        ("see gdpr/art:21/par:1 and (gdpr/art:21/par:1)", ["gdpr/art:21/par:1", "(gdpr/art:21/par:1)"]),
        ("object to it [art:21 par:1].", ["[art:21 par:1]"]),
        ("object to it [art:21/par:1].", ["[art:21/par:1]"]),
        ("under Article 21(1) you may", ["Article 21(1)"]),
        ("under art. 21, paragraph 1, you may", ["art. 21, paragraph 1"]),
        ("gdpr/art:21/par:12 and gdpr/art:21/par:1/pt:a are others", []),
        ("xgdpr/art:21/par:1", []),
        ("Article 21(10) is another", []),
        ("nothing is named", []),
        ("", []),
    ],
)
def test_a_citation_is_found_as_an_id_without_its_root_or_as_people_write_it(
    reply: str, found: list[str]
) -> None:
    assert marked(reply) == found


def test_the_id_as_it_is_wins_over_what_may_be_meant() -> None:
    assert marked("Article 21(1), [gdpr/art:21/par:1]") == ["[gdpr/art:21/par:1]"]


def test_a_quote_is_marked_whatever_the_line_ends_are() -> None:
    reply = "It says: the right\n to   object. So object."
    assert marked(reply, "x", "the right to object") == ["the right\n to   object"]


def test_marks_that_touch_become_one() -> None:
    assert spans("[law/1] gives it", "law/1", "[law/1] gives") == [(0, 13)]


@pytest.mark.parametrize("unit", ["(", "a.*b", "[", "law/(", "\\", "///", "art:", "art:1/x", "\ud800"])
def test_an_id_is_never_a_pattern(unit: str) -> None:
    assert marked(f"axxb {unit} c", unit) in ([], [unit])
    assert marked("axxb", "a.*b") == []


def test_a_reply_of_a_megabyte_is_searched_in_no_time() -> None:
    began = time.monotonic()
    for reply in ("Article 21 " * 100_000, "[" * 1_000_000, "art:21/" * 150_000):
        spans(reply, UNIT, "a b " * 1000)
    assert time.monotonic() - began < 10


def test_a_long_reply_is_cut_around_its_first_mark() -> None:
    reply = "a" * 5000 + "MARK" + "b" * 5000
    pieces, start = segments(reply, [(5000, 5004)], 400)
    assert start == 4900
    assert "".join(text for text, _ in pieces) == reply[4900:5300]
    assert [text for text, is_marked in pieces if is_marked] == ["MARK"]


def test_the_pieces_of_a_short_reply_are_the_reply() -> None:
    pieces, start = segments("x MARK y MARK", [(2, 6), (9, 13)], 400)
    assert start == 0
    assert pieces == [("x ", False), ("MARK", True), (" y ", False), ("MARK", True)]
    assert segments("", [], 400) == ([], 0)


def test_what_hides_or_reorders_text_is_replaced_where_no_markup_can_go() -> None:
    assert plain("law/1\u202e\0x ok é") == "law/1\ufffd\ufffdx ok é"
