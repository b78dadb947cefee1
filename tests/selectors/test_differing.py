"""Two replies side by side lose no word, part where they part, and take no longer than they may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.selectors.differing import COMPARED, Piece, difference

TEXTS = st.text(st.sampled_from("ab \n.\u202e\x00\ud800é"), max_size=60)


def whole(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


@given(TEXTS, TEXTS)
def test_each_side_reads_as_it_was_and_they_part_at_most_once(left: str, right: str) -> None:
    found = difference(left, right)
    assert (whole(found.left), whole(found.right)) == (left, right)
    assert found.equal == (left == right)
    for side in (found.left, found.right):
        assert sum(piece.first for piece in side) == (0 if found.equal else 1)


def test_words_are_compared_not_letters() -> None:
    found = difference("within 30 days of delivery.", "within the usual period.")
    assert [piece.text for piece in found.left if piece.kind == "only"] == ["30 days of delivery"]
    assert [piece.text for piece in found.right if piece.kind == "only"] == ["the usual period"]


def test_what_only_one_side_holds_is_marked_as_missing_on_the_other() -> None:
    found = difference("You can return it [a17].", "You can return it.")
    assert [piece.text for piece in found.left if piece.first] == [" [a17]"]
    assert [piece.text for piece in found.right if piece.first] == [""]


def test_long_equal_stretches_are_folded_with_a_line_kept_beside_each_difference() -> None:
    lines = "\n".join(f"line {number}" for number in range(9))
    found = difference(f"one\n{lines}\nend", f"two\n{lines}\nfin")
    (folded,) = [piece for piece in found.left if piece.kind == "folded"]
    assert folded.lines == 6
    assert folded.text.startswith("line 1\n")
    assert whole(found.left) == f"one\n{lines}\nend"


def test_equal_replies_are_folded_whole_and_short_ones_shown() -> None:
    assert [piece.kind for piece in difference("a\nb", "a\nb").left] == ["same"]
    text = "\n".join("abcdefgh")
    assert [piece.kind for piece in difference(text, text).left] == ["folded"]


def test_only_the_beginning_of_a_huge_reply_is_compared_and_that_is_said() -> None:
    found = difference("word " * 250_000, "other " * 250_000)
    assert found.cut
    assert len(whole(found.left)) == COMPARED
