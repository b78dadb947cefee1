"""The desk behind the demo service: deterministic, and careful with repeated requests."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from experiments.demo.desk import Desk, DeskError, place
from experiments.demo.topics import TOPICS, emittable_nodes

VARYING = "What does a second reminder cost?"
NONE = {"kind": "none"}


def quick(seed: int = 0) -> Desk:
    return Desk(seed=seed, pace=0)


def session(desk: Desk, setup: dict[str, Any] | None = None) -> str:
    return desk.prepare(setup or NONE)["session_id"]


def replies(desk: Desk, text: str, run: str = "run-1") -> list[str]:
    return [desk.submit(session(desk), text, f"{run}:case:{n}.1.1")["reply"] for n in range(1, 6)]


def test_two_desks_of_one_seed_give_the_same_run() -> None:
    assert replies(quick(), VARYING) == replies(quick(), VARYING)


def test_five_attempts_hold_the_written_mix_whatever_the_seed() -> None:
    mixes = {tuple(sorted(replies(quick(seed), VARYING))) for seed in range(6)}
    assert len(mixes) == 1
    assert len(set(mixes.pop())) == 2


def test_another_seed_gives_the_answers_to_other_attempts() -> None:
    assert len({tuple(replies(quick(seed), VARYING)) for seed in range(6)}) > 1


def test_a_second_try_of_an_attempt_gets_the_same_answer() -> None:
    assert place("run-9:case:4.1.1", "t", 7, 5) == place("run-9:case:4.3.1", "t", 7, 5)


def test_a_key_of_another_form_is_drawn_by_its_hash() -> None:
    drawn = {place(f"key-{n:x}-{n * 7919:x}", "t", 0, 5) for n in range(60)}
    assert drawn == set(range(5))


def test_the_same_key_gives_the_same_answer_and_changes_nothing_twice() -> None:
    desk = quick()
    held = session(desk, {"kind": "fixture", "name": "open_claim", "parameters": {"claim": "RC-2051"}})
    first = desk.submit(held, "Please withdraw my claim.", "k")
    assert desk.submit(held, "Please withdraw my claim.", "k") == first
    assert first["end_state"]["status"] == "withdrawn"
    assert desk.effects == 1


def test_one_key_asked_by_eight_threads_at_once_is_answered_once() -> None:
    desk = Desk(pace=0.5)
    held = session(desk, {"kind": "fixture", "name": "open_claim", "parameters": {"claim": "RC-2051"}})
    got: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: got.append(desk.submit(held, "Please withdraw my claim.", "k")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert all(answer == got[0] for answer in got)
    assert desk.effects == 1


def test_a_key_used_for_another_text_is_refused() -> None:
    desk = quick()
    held = session(desk)
    desk.submit(held, "one", "k")
    with pytest.raises(DeskError) as refused:
        desk.submit(held, "two", "k")
    assert refused.value.status == 409


def test_a_session_that_is_not_known_is_refused_and_releasing_it_is_not() -> None:
    desk = quick()
    held = session(desk)
    assert desk.release(held) == {"released": True}
    assert desk.release(held) == {"released": False}
    with pytest.raises(DeskError) as refused:
        desk.submit(held, "hello", "k")
    assert refused.value.status == 404


def test_sessions_do_not_share_a_ledger() -> None:
    desk = quick()
    setup = {"kind": "fixture", "name": "open_claim", "parameters": {"claim": "RC-2051"}}
    desk.submit(session(desk, setup), "Please withdraw my claim.", "a")
    assert "under review" in desk.submit(session(desk, setup), "What is the state of my claim?", "b")["reply"]


def test_a_replayed_conversation_reaches_a_finer_node_than_a_cold_question() -> None:
    desk = quick()
    held = session(desk)
    asks_for_number = desk.submit(held, "Hello, I want a refund for my parking permit.", "a")
    found = desk.submit(held, "The number is PK-4417.", "b")
    timing = desk.submit(held, "And when will that refund be paid?", "c")
    cold = desk.submit(session(desk), "And when will that refund be paid?", "d")
    assert [answer["node"] for answer in (asks_for_number, found, timing, cold)] == [
        "RF-01",
        "RF-02",
        "RF-04.2",
        "RF-04",
    ]
    assert timing["usage"]["prompt_tokens"] > cold["usage"]["prompt_tokens"]


@pytest.mark.parametrize("then", [NONE, {"kind": "fixture", "name": "open_claim", "parameters": {}}])
def test_a_broken_tool_stays_broken_whatever_stands_behind_it(then: dict[str, Any]) -> None:
    desk = quick()
    setup = {"kind": "failing_tool", "tool": "claim_ledger", "message": "503", "then": then}
    answer = desk.submit(session(desk, setup), "What is the state of claim PK-4417?", "a")
    assert answer["node"] == "ER-01"
    failed = [call for call in answer["tools_called"] if call["failed"]]
    assert [(call["name"], call["result"]) for call in failed] == [("claim_ledger", "503")]


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ({"kind": "fixture", "name": "open_claim", "parameters": {"claim": "RC-1999"}}, "paper archive"),
        ({"kind": "fixture", "name": "time_travel"}, "no fixture 'time_travel'"),
        (
            {"kind": "fixture", "name": "hardship_household", "parameters": {"members": "many"}},
            "must be numbers",
        ),
        ({"kind": "failing_tool", "tool": "handbook_search", "message": "x"}, "cannot be broken"),
    ],
)
def test_a_setup_that_cannot_be_built_fails_with_its_reason(setup: dict[str, Any], reason: str) -> None:
    assert reason in quick().prepare(setup)["failed"]


@pytest.mark.parametrize(
    "setup",
    [
        {},
        {"kind": "replay"},
        {"kind": "fixture"},
        {"kind": "failing_tool"},
        {"kind": "failing_tool", "tool": 1},
    ],
)
def test_a_malformed_setup_is_refused(setup: dict[str, Any]) -> None:
    with pytest.raises(DeskError) as refused:
        quick().prepare(setup)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud800 refund", "<script>alert(1)</script>", "x" * 1_000_000, "{claim}"]
)
def test_any_text_is_answered(text: str) -> None:
    desk = quick()
    answer = desk.submit(session(desk), text, "k\ud800")
    assert answer["node"] == "AB-01"


def test_every_topic_can_be_found_and_its_order_names_its_answers() -> None:
    for topic in TOPICS:
        assert {ord(letter) - ord("a") for letter in topic.order} == set(range(len(topic.answers))), (
            topic.name
        )
        assert topic.cues == tuple(cue.lower() for cue in topic.cues)
        assert topic.node is None or topic.node in emittable_nodes()


def test_what_is_cited_was_found_by_the_search_or_is_marked_as_invented() -> None:
    desk = quick()
    answer = desk.submit(session(desk), "How long do I have to send in an objection?", "k")
    found = [passage["id"] for passage in answer["context"]]
    assert answer["citations"]
    assert all(citation["id"] in found for citation in answer["citations"])
    assert answer["tools_called"][0]["result"] == found


def test_an_answer_takes_20_to_120_milliseconds() -> None:
    slept: list[float] = []
    desk = Desk(sleep=slept.append)
    held = session(desk)
    for n in range(300):
        desk.submit(held, "hello", f"k{n}")
    assert 0.020 <= min(slept) < 0.030
    assert 0.110 < max(slept) <= 0.120
