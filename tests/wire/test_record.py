"""The record document."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from experiments.evaluation.case import EvalCase, asked_fingerprint
from experiments.evaluation.evidence import Evidence, Turn
from experiments.evaluation.outcome import (
    Cause,
    CriterionStatus,
    EvaluationResult,
    Failure,
    SettledBy,
    Verdict,
)
from experiments.evaluation.report import AttemptCounts, ExperimentReport
from experiments.evaluation.results import AttemptResult, EvalCaseResults
from experiments.evaluation.settle import settle_criteria
from experiments.wire.record import NamedVersion, RunFacts, build_record

CASE = EvalCase(id="a", turn="?")


def plain(*attempts: AttemptResult, **facts: Any) -> dict[str, Any]:
    run = RunFacts(**{"target": NamedVersion(name="recorded"), "repeats": 1, **facts})
    report = ExperimentReport.build(AttemptCounts(passed=1, asserted=1))
    record = build_record("s", run, report, [EvalCaseResults(case=CASE, attempts=attempts)])
    found: dict[str, Any] = json.loads(record.json_text())
    return found


def test_the_record_has_exactly_the_keys_of_its_format() -> None:
    verdict = Verdict(status=CriterionStatus.PASS, kind="run.no_failure", data={"failures": []})
    found = plain(AttemptResult(number=1, result=settle_criteria([verdict])))
    assert found["format"] == "evalsite/record@1"
    assert set(found) == {"format", "experiment", "run", "report", "cases"}
    run = "id number policy rubric target lanes repeats started finished"
    assert set(found["run"]) == set(run.split())
    report = (
        "passed failed undecided inconclusive evaluator_failed not_reached setup_failed no_reply judged "
        "total without_evidence asserted measured scored by_criteria walked seeded pass_rate "
        "is_trustworthy flags"
    )
    assert set(found["report"]) == set(report.split())
    (case,) = found["cases"]
    assert set(case) == {"id", "fingerprint", "verdict", "passes", "settled", "attempts"}
    attempt = (
        "number outcome passed score grade threshold criteria_score pass_score reason evaluator failure "
        "seconds prompt_tokens completion_tokens verdicts"
    )
    assert set(case["attempts"][0]) == set(attempt.split())
    assert set(case["attempts"][0]["verdicts"][0]) == {"kind", "status", "detail", "weight", "gate", "data"}
    assert set(found["report"]["flags"][0]) == {"name", "figure", "sentence"}


def test_an_attempt_carries_its_result_and_what_it_used() -> None:
    evidence = Evidence(
        turns=(Turn(prompt="?", reply="!", prompt_tokens=3, completion_tokens=4, seconds=2.5),)
    )
    result = EvaluationResult.scored(
        0.75, 0.5, "fast", evaluator="latency-budget", settled_by=SettledBy.metric
    )
    found = plain(AttemptResult(number=1, evidence=evidence, result=result))["cases"][0]
    assert (found["verdict"], found["passes"], found["settled"]) == ("PASSED", 1, 1)
    assert found["fingerprint"] == asked_fingerprint(CASE)
    attempt = found["attempts"][0]
    assert (attempt["outcome"], attempt["passed"], attempt["failure"]) == ("VERDICT", True, None)
    assert (attempt["score"], attempt["threshold"], attempt["evaluator"]) == (0.75, 0.5, "latency-budget")
    assert (attempt["seconds"], attempt["prompt_tokens"], attempt["completion_tokens"]) == (2.5, 3, 4)


def test_the_outcome_is_null_exactly_when_a_failure_is_set() -> None:
    failure = Failure(cause=Cause.NO_REPLY, detail="timed out")
    attempt = plain(AttemptResult(number=1, failure=failure))["cases"][0]["attempts"][0]
    assert (attempt["outcome"], attempt["passed"], attempt["evaluator"]) == (None, False, None)
    assert attempt["failure"] == {"kind": "NOT_REACHED", "cause": "NO_REPLY", "detail": "timed out"}


def test_hostile_text_comes_back_the_same_and_the_document_is_utf_8() -> None:
    hostile = "\x00\ud800<script>\u202e"
    verdict = Verdict(status=CriterionStatus.FAIL, kind="k", detail=hostile, data={hostile: [hostile]})
    found = plain(AttemptResult(number=1, result=settle_criteria([verdict])))
    stored = found["cases"][0]["attempts"][0]["verdicts"][0]
    assert stored["detail"] == hostile
    assert stored["data"] == {hostile: [hostile]}


def test_times_are_written_in_utc() -> None:
    local = datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    finished = datetime(2026, 3, 1, 11, 0, tzinfo=UTC)
    passing = EvaluationResult.passed("ok", evaluator="x", settled_by=SettledBy.spec_node)
    run = plain(AttemptResult(number=1, result=passing), started=local, finished=finished)["run"]
    assert (run["started"], run["finished"]) == ("2026-03-01T10:00:00+00:00", "2026-03-01T11:00:00+00:00")
