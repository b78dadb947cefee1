"""Every kind that needs no judge, over files, with the services of the hooks module."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluation.outcome import CriterionStatus, EvaluationOutcome
from experiments.hooks import read_hooks
from experiments.transfer.jsonl import read_corpus, read_evidence
from experiments.transfer.offline import grade_evidence, ruler_for
from experiments.transfer.suite_file import parse_suite
from experiments.wire.corpus import MemoryCorpus
from experiments.wire.record import Record

HOOKS = read_hooks("")
SHARED = Path(__file__).parents[3] / "shared" / "data"

CORPUS: list[dict[str, Any]] = [
    {"id": "avg", "parent": None, "aliases": ["AVG"]},
    {"id": "avg/art:17", "parent": "avg", "text": "De betrokkene heeft recht op wissing van zijn gegevens."},
    {"id": "avg/art:17/par:1", "parent": "avg/art:17", "text": "zonder onredelijke vertraging"},
]
SUITE = {
    "messages": {"no-advice": "Ik geef geen persoonlijk advies."},
    "criteria": [
        {"kind": "reply.language", "language": "nl"},
        {"kind": "privacy.none", "kinds": ["bsn", "iban", "email", "nl_phone", "postcode"]},
        {"kind": "citations.quotes_verbatim"},
        {"kind": "citations.mentions_in_corpus"},
        {"kind": "behaviour.message"},
        {"kind": "refusal.code"},
        {"kind": "compare.same_citations"},
        {"kind": "usage.max_seconds", "max": 20},
    ],
    "cases": [
        {"id": "wissing", "turn": "?"},
        {"id": "wissing-2", "turn": "!", "variant_of": "wissing"},
        {"id": "weigert", "turn": "?", "behaviour": "refuse", "message": "no-advice"},
    ],
}
GOOD = "U hebt volgens artikel 17, lid 1, AVG recht op “wissing van zijn gegevens”, en wel zonder vertraging."
REFUSAL = "Het spijt mij. Ik geef geen persoonlijk advies. Vraag het aan een advocaat in uw buurt."


def line(case: str, number: int, reply: str, *cited: str, **rest: Any) -> dict[str, Any]:
    turn = {"prompt": "?", "reply": reply, "citations": [{"id": one} for one in cited], "seconds": 2.5}
    return {"case": case, "attempt": number, "turns": [turn], **rest}


def graded(
    folder: Path, suite: dict[str, Any], lines: list[dict[str, Any]], corpus: list[dict[str, Any]]
) -> Record:
    for name, rows in (("e.jsonl", lines), ("c.jsonl", corpus)):
        (folder / name).write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    text = json.dumps({"format": "evalsite/suite@1", "suite": "s", **suite})
    document = parse_suite(text, "s.json", HOOKS.criteria, HOOKS.metrics).document
    evidence, units = read_evidence(folder / "e.jsonl"), read_corpus(folder / "c.jsonl")
    ruler = ruler_for(document, HOOKS)
    grading = grade_evidence(document, evidence, ruler, MemoryCorpus(units), HOOKS.services)
    return asyncio.run(grading).record


def statuses(record: Record, case: str, number: int = 1) -> dict[str, CriterionStatus]:
    (found,) = [one for one in record.cases if one.id == case]
    (attempt,) = [one for one in found.attempts if one.number == number]
    return {verdict.kind: verdict.status for verdict in attempt.verdicts}


def test_good_dutch_answers_and_a_refusal_pass_every_kind_that_applies(tmp_path: Path) -> None:
    record = graded(
        tmp_path,
        SUITE,
        [
            line("wissing", 1, GOOD, "avg/art:17/par:1"),
            line("wissing-2", 1, GOOD, "avg/art:17"),
            line("weigert", 1, REFUSAL, refusal_code="no-advice"),
        ],
        CORPUS,
    )
    assert record.report.passed == 3
    assert statuses(record, "wissing")["compare.same_citations"] is CriterionStatus.PASS
    assert statuses(record, "wissing")["behaviour.message"] is CriterionStatus.NOT_APPLICABLE
    assert statuses(record, "wissing-2")["compare.same_citations"] is CriterionStatus.NOT_APPLICABLE
    assert statuses(record, "weigert")["behaviour.message"] is CriterionStatus.PASS


def test_each_kind_fails_for_its_own_reason(tmp_path: Path) -> None:
    bad = "According to article 99 the “wissing van de gegevens” is due; write to jan@example.org about it."
    record = graded(
        tmp_path,
        SUITE,
        [
            line("wissing", 1, bad, "avg/art:17", refusal_code="no-advice"),
            line("wissing-2", 1, GOOD, "avg"),
            line("weigert", 1, GOOD),
        ],
        CORPUS,
    )
    failing = {kind for kind, status in statuses(record, "wissing").items() if status is CriterionStatus.FAIL}
    assert failing == {
        "reply.language",
        "privacy.none",
        "citations.quotes_verbatim",
        "citations.mentions_in_corpus",
        "refusal.code",
        "compare.same_citations",
    }
    assert statuses(record, "weigert")["behaviour.message"] is CriterionStatus.FAIL
    assert statuses(record, "weigert")["refusal.code"] is CriterionStatus.FAIL


def test_a_base_attempt_is_compared_with_the_same_number_and_a_missing_one_is_an_error(
    tmp_path: Path,
) -> None:
    suite = {**SUITE, "criteria": [{"kind": "compare.same_citations"}]}
    record = graded(
        tmp_path,
        suite,
        [
            line("wissing", 1, GOOD, "avg/art:17"),
            line("wissing", 2, GOOD, "avg/art:17"),
            line("wissing", 3, GOOD, "avg/art:17"),
            line("wissing-2", 1, GOOD, "avg/art:17/par:1"),
            line("wissing-2", 2, GOOD, "avg"),
        ],
        CORPUS,
    )
    found = [statuses(record, "wissing", number)["compare.same_citations"] for number in (1, 2, 3)]
    assert found == [CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR]
    assert record.cases[0].attempts[2].outcome is EvaluationOutcome.FAILED


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside the repository")
def test_eight_hundred_real_replies_fail_only_where_a_person_would_say_so(tmp_path: Path) -> None:
    rows = [
        json.loads(text) for text in (SHARED / "alce-replies.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    numbers: dict[str, int] = {}
    lines = []
    for row in rows:
        case = f"{row['dataset']}/{row['id']}"
        numbers[case] = numbers.get(case, 0) + 1
        lines.append(line(case, numbers[case], row["reply"]))
    suite = {
        "criteria": [
            {"kind": "reply.language", "language": "en"},
            {"kind": "reply.max_length", "max": 900},
            {"kind": "privacy.none"},
            {"kind": "reply.not_contains", "regex": [r"as an AI( language)? model"]},
            {"kind": "citations.in_corpus"},
            {"kind": "citations.mentions_in_corpus"},
        ],
        "cases": [{"id": case, "turn": "?"} for case in numbers],
    }
    report = graded(tmp_path, suite, lines, CORPUS).report
    blank = sum(not row["reply"].strip() for row in rows)
    long = sum(len(row["reply"]) > 900 for row in rows)
    assert (report.total, report.no_reply, report.failed) == (800, blank, long)
    assert report.passed == 800 - blank - long
