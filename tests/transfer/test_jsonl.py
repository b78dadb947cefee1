"""Evidence and corpus files."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluation.outcome import Cause
from experiments.transfer.jsonl import read_corpus, read_evidence
from experiments.transfer.problems import MAX_PROBLEMS, FileRefusedError


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "f.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def evidence_problems(path: Path) -> list[str]:
    with pytest.raises(FileRefusedError) as refused:
        read_evidence(path)
    return [one.removeprefix(str(path)) for one in str(refused.value).splitlines()]


def corpus_problems(path: Path) -> list[str]:
    with pytest.raises(FileRefusedError) as refused:
        read_corpus(path)
    return [one.removeprefix(str(path)) for one in str(refused.value).splitlines()]


def turn(reply: Any = "yes", **rest: Any) -> dict[str, Any]:
    return {"prompt": "?", "reply": reply, **rest}


def test_an_attempt_is_read_with_everything_it_recorded(tmp_path: Path) -> None:
    line = {
        "case": "a",
        "attempt": 2,
        "turns": [
            turn("first", seconds=0.5),
            turn(
                "yes\x00\ud800",
                citations=[{"id": "gdpr/art:17", "quote": "q"}, {"id": "x"}],
                prompt_tokens=3,
                completion_tokens=None,
                seconds=1.5,
                failure="slow tool",
            ),
        ],
        "node": "GenUC-16a.3",
        "refusal_code": "no_advice",
        "tools_called": [{"name": "stock", "arguments": {"n": 1}, "result": None, "failed": True}],
        "model_calls": [{"model": "m", "prompt_tokens": 9}],
        "context": [{"id": "p", "text": "t"}],
        "end_state": {"paid": True},
        "failure": None,
    }
    (attempt,) = read_evidence(written(tmp_path, line)).attempts
    evidence = attempt.evidence
    assert (attempt.case, attempt.number, attempt.failure) == ("a", 2, None)
    assert evidence.reply == "yes\x00\ud800"
    assert [one.id for one in evidence.citations] == ["gdpr/art:17", "x"]
    assert (evidence.seconds, evidence.prompt_tokens, evidence.completion_tokens) == (2.0, None, None)
    assert evidence.tools_called is not None
    assert evidence.tools_called[0].failed
    assert (evidence.node, evidence.end_state) == ("GenUC-16a.3", {"paid": True})


def test_what_is_absent_or_null_is_not_recorded_and_never_empty(tmp_path: Path) -> None:
    null = {"tools_called": None, "model_calls": None, "context": None, "end_state": None, "node": None}
    path = written(
        tmp_path,
        {"case": "a", "attempt": 1, "turns": [turn()]},
        {"case": "a", "attempt": 2, "turns": [turn(citations=None, failure=None)], **null},
        {"case": "a", "attempt": 3, "turns": [turn()], "tools_called": []},
    )
    first, second, third = (one.evidence for one in read_evidence(path).attempts)
    assert first == second
    assert (first.tools_called, third.tools_called) == (None, ())


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ({"turns": [turn(None)]}, Cause.NO_REPLY),
        ({"turns": [turn(" \n\u00a0")]}, Cause.NO_REPLY),
        ({"turns": []}, Cause.NO_REPLY),
        ({"turns": [turn(None), turn("fine")]}, Cause.SETUP_FAILED),
        ({"failure": {"kind": "NOT_REACHED", "cause": "SETUP_FAILED"}}, Cause.SETUP_FAILED),
        ({"failure": {"cause": "NO_REPLY"}, "turns": [turn("late")]}, Cause.NO_REPLY),
        ({"turns": [turn("fine", failure="tool broke")]}, None),
    ],
)
def test_no_reply_and_failed_setups_are_told_before_any_evaluator(
    tmp_path: Path, line: dict[str, Any], cause: Cause | None
) -> None:
    (attempt,) = read_evidence(written(tmp_path, {"case": "a", "attempt": 1, **line})).attempts
    assert (attempt.failure.cause if attempt.failure else None) is cause


def test_every_line_that_cannot_be_taken_is_named_at_once(tmp_path: Path) -> None:
    fine = {"case": "a", "attempt": 1, "turns": [turn()]}
    path = written(
        tmp_path,
        fine,
        fine,
        "{not json",
        "[1]",
        "",
        {"case": "a", "attempt": 0, "turns": [turn()]},
        {"attempt": 3, "turns": [turn(7), turn(citations=[{"quote": "q"}])]},
        {"case": "a", "attempt": 4},
        {"case": "a", "attempt": 5, "turns": [turn(citation=[{"id": "x"}])]},
        {"case": "a", "attempt": 6, "failure": {"kind": "CRASHED", "cause": "NO_REPLY"}},
        {"case": "a", "attempt": 7, "turns": [turn(prompt_tokens=-1, seconds="fast")]},
        '{"case": "a", "attempt": 8, "turns": [{"reply": NaN}]}',
    )
    assert evidence_problems(path) == [
        ":2: attempt: attempt 1 of case a stands in line 1 already",
        ":3: the line is not JSON: Expecting property name enclosed in double quotes at column 2",
        ":4: the line is not a JSON object",
        ":6: attempt: should be greater than or equal to 1",
        ":7: case: is required",
        ":7: turns[0].reply: must be text; put it in quotes",
        ":7: turns[1].citations[0].id: is required",
        ":8: turns is required unless failure says why there are none",
        ":9: turns[0]: unknown field citation; did you mean citations?",
        ":10: failure.kind: should be 'NOT_REACHED'",
        ":11: turns[0].prompt_tokens: should be greater than or equal to 0",
        ":11: turns[0].seconds: should be a valid number, unable to parse string as a number",
        ":12: the line holds NaN, which is no JSON",
    ]


def test_other_fields_of_a_log_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"case": "a", "attempt": 1, "turns": [turn(lang="nl")], "dataset": "x"},
        {"case": "a", "attempt": 2, "turns": [turn(lang="nl"), turn(lang="nl")], "dataset": "x"},
    )
    assert read_evidence(path).left_out == {"dataset": 2, "turns.lang": 2}


@pytest.mark.parametrize("raw", [b"", b"\n \n", b"\x00\x01\x02", b"\xff\xfe[\x00", b"\x80abc"])
def test_files_that_hold_no_evidence_are_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(raw)
    assert len(evidence_problems(path)) == 1
    assert len(corpus_problems(path)) == 1


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    line = json.dumps({"case": "a", "attempt": 1, "turns": [turn()]})
    path.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n")
    assert len(read_evidence(path).attempts) == 1


def test_a_file_of_wrong_lines_ends_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, *(["nonsense"] * (3 * MAX_PROBLEMS)))
    assert evidence_problems(path)[-1] == f": has more problems than these {MAX_PROBLEMS}"


def test_a_reply_of_a_megabyte_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, {"case": "a", "attempt": 1, "turns": [turn("é" * 1_000_000)]})
    assert len(read_evidence(path).attempts[0].evidence.reply or "") == 1_000_000


# -- corpora ------------------------------------------------------------------------------------------------


def test_a_corpus_is_read_in_its_order_with_aliases_on_the_root(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"id": "gdpr/art:1", "parent": "gdpr", "title": "t", "text": "x"},
        {"id": "gdpr", "parent": None, "title": "GDPR", "text": "", "aliases": ["AVG"]},
    )
    units = read_corpus(path)
    assert [unit.id for unit in units] == ["gdpr/art:1", "gdpr"]
    assert units[1].aliases == ("AVG",)


def test_every_problem_of_a_corpus_comes_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"id": "a", "parent": None},
        {"id": "b", "parent": "nowhere"},
        {"id": "a", "parent": None},
        {"id": "c", "parent": "d"},
        {"id": "d", "parent": "c"},
    )
    assert corpus_problems(path) == [
        ":2: parent: no unit nowhere in this corpus",
        ":3: id: the id a is taken by line 1",
        ":4: parent: the parents of c run in a circle",
        ":5: parent: the parents of d run in a circle",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"parent": None}, "id: is required"),
        ({"id": ""}, "id: "),
        ({"id": " a"}, "id: must not begin or end with white space"),
        ({"id": "a", "text": "x\x00"}, "text: must not hold NUL or broken characters"),
        ({"id": "a", "title": "\ud800"}, "title: must not hold NUL or broken characters"),
        ({"id": "a", "body": "x"}, "body: unknown field"),
        ({"id": "a", "aliases": "AVG"}, "aliases: must be a list"),
    ],
)
def test_a_unit_that_cannot_stand_is_refused(tmp_path: Path, line: dict[str, Any], said: str) -> None:
    (found,) = corpus_problems(written(tmp_path, line))
    assert found.startswith(f":1: {said}")
