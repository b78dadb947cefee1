"""The record of a stored run: its figures are the stored ones, and its attempts add up to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from experiments import models as m
from experiments.evaluation import Cause, Evidence, Failure
from experiments.transfer.run_record import record_of
from tests.factories import make_case, make_suite
from tests.stored import answering_target, finished_run, ready_experiment, says

pytestmark = pytest.mark.django_db

CRITERIA = [
    {"kind": "citations.required", "gate": True},
    {"kind": "usage.max_tokens", "params": {"max": 500}},
]


def answers(key: str, number: int) -> Evidence | Failure:
    if key == "silent":
        return Failure(cause=Cause.NO_REPLY, detail="no answer in 30 s")
    tokens = None if key == "unmetered" else 100
    return says(f"reply \x00 \ud800 {number}", "law/art:1" if number != 2 else "law/art:2", tokens=tokens)


@pytest.fixture
def run() -> Iterator[m.Run]:
    with answering_target() as target:
        suite = make_suite(criteria=CRITERIA)
        for key in ("varies", "silent", "unmetered"):
            make_case(suite, key, sources={"required": [["law/art:1"]]})
        yield finished_run(ready_experiment(target, suite, repeats=3), answers)


def test_attempts_add_up_to_the_report_and_cases_to_the_grading(run: m.Run) -> None:
    record = json.loads(record_of(run).json_text())
    attempts = [attempt for case in record["cases"] for attempt in case["attempts"]]
    report, outcomes = record["report"], Counter(attempt["outcome"] for attempt in attempts)
    assert len(attempts) == report["total"] == run.finished == 9
    assert report["passed"] == sum(attempt["passed"] for attempt in attempts) == 2
    assert report["failed"] == outcomes["VERDICT"] - report["passed"] == 2
    assert report["evaluator_failed"] == outcomes["FAILED"] == 2
    assert report["not_reached"] == outcomes[None] == 3
    assert report["pass_rate"] == report["passed"] / report["judged"]
    verdicts = {case["id"]: case["verdict"] for case in record["cases"]}
    assert verdicts == {"varies": "VARIED", "silent": "NO_RESULT", "unmetered": "FAILED"}
    grading = m.Grading.objects.get(run=run)
    assert (grading.varied_cases, grading.failed_cases, grading.no_result_cases) == (1, 1, 1)


def test_an_attempt_has_an_outcome_or_a_failure_and_its_own_tokens(run: m.Run) -> None:
    record = json.loads(record_of(run).json_text())
    by_case = {case["id"]: case["attempts"] for case in record["cases"]}
    assert {(a["outcome"], a["failure"]["cause"]) for a in by_case["silent"]} == {(None, "NO_REPLY")}
    assert {a["prompt_tokens"] for a in by_case["varies"]} == {100}
    assert {a["prompt_tokens"] for a in by_case["unmetered"]} == {None}
    assert [a["verdicts"][0]["status"] for a in by_case["varies"]] == ["pass", "fail", "pass"]
    assert [a["number"] for a in by_case["varies"]] == [1, 2, 3]


def test_the_record_names_what_the_run_pinned(run: m.Run) -> None:
    record = json.loads(record_of(run).json_text())
    assert record["format"] == "evalsite/record@1"
    assert record["run"]["policy"] == {"name": "desk", "version": 1}
    assert record["run"]["rubric"] == {"name": "judge", "version": 1}
    assert record["run"]["target"]["version"] == "4.2.0"
    assert (record["run"]["number"], record["run"]["repeats"]) == (run.pk, 3)
