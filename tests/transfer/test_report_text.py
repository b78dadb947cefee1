"""The report as plain text of 80 columns."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation.case import EvalCase
from experiments.evaluation.outcome import Cause, EvaluationResult, Failure, SettledBy
from experiments.evaluation.report import AttemptCounts, ExperimentReport, count_attempt
from experiments.evaluation.results import AttemptResult, EvalCaseResults
from experiments.transfer.report_text import MAX_CASES, WIDTH, report_text
from experiments.wire.record import NamedVersion, Record, RunFacts, build_record

ANY = st.text(st.characters(codec=None, categories=None), max_size=200)


def record(*cases: tuple[str, list[Any]], name: str = "refunds") -> Record:
    counts, results = AttemptCounts(), []
    for key, found in cases:
        case = EvalCase(id=key, turn="?")
        attempts = []
        for number, one in enumerate(found, start=1):
            failure = one if isinstance(one, Failure) else None
            result = None if failure else one
            counts += count_attempt(case, None, result, failure)
            attempts.append(AttemptResult(number=number, result=result, failure=failure))
        results.append(EvalCaseResults(case=case, attempts=tuple(attempts)))
    run = RunFacts(target=NamedVersion(name="recorded"), repeats=2)
    return build_record(name, run, ExperimentReport.build(counts), results)


def passed() -> EvaluationResult:
    return EvaluationResult.passed("fine", evaluator="contains-all", settled_by=SettledBy.contains_all)


def failed(reason: str = "lacks “refund”") -> EvaluationResult:
    return EvaluationResult.failed(reason, evaluator="contains-all", settled_by=SettledBy.contains_all)


def undecided() -> EvaluationResult:
    return EvaluationResult.undecided("unsure", evaluator="judge", settled_by=SettledBy.judge, grade=5)


NO_REPLY = Failure(cause=Cause.NO_REPLY, detail="timed out")


def test_the_whole_report_of_a_small_record() -> None:
    text = report_text(
        record(
            ("good", [passed(), passed()]),
            ("varied", [passed(), failed()]),
            ("silent", [NO_REPLY, NO_REPLY]),
            ("unsure", [undecided(), NO_REPLY]),
        )
    )
    lines = text.splitlines()
    assert lines[:3] == [
        "refunds, target recorded",
        "60.0%: 3 of 5 passed; 5 of 8 counted; 3 not reached",
        "These figures cannot be trusted; the flags say why.",
    ]
    assert "  – not reached              3  (0 setup failed, 3 no reply)" in lines
    assert "Settled: 4 asserted, 1 scored by a judge" in lines
    start = lines.index("Cases: 1 VARIED, 1 UNDECIDED, 1 NO_RESULT, 1 PASSED")
    assert lines[start + 1 :] == [
        "  VARIED    ●○ 1 of 2  varied",
        "            attempt 2: lacks “refund”",
        "  UNDECIDED ◐– 0 of 2  unsure",
        "            attempt 1: unsure",
        "  NO_RESULT –– 0 of 2  silent",
        "            attempt 1: NO_REPLY: timed out",
        "  PASSED    ●● 2 of 2  good",
    ]


def test_nothing_judged_shows_no_rate() -> None:
    text = report_text(record(("silent", [NO_REPLY])))
    assert "no rate" in text
    assert "\n0%" not in text


def test_the_worst_cases_are_listed_and_the_rest_counted() -> None:
    cases = [(f"c{n:04}", [passed()]) for n in range(MAX_CASES + 5)]
    lines = report_text(record(*cases, ("bad", [failed()]))).splitlines()
    assert "  FAILED    ○ 0 of 1  bad" in lines
    assert lines[-1] == "  and 6 more cases"


@given(ANY.filter(bool), ANY, ANY)
def test_no_text_bends_a_line_or_makes_it_longer_than_80(key: str, reason: str, name: str) -> None:
    text = report_text(record((key, [failed(reason)]), name=name))
    for line in text.splitlines():
        assert len(line) <= WIDTH
        assert line.isprintable()
    text.encode("utf-8")
