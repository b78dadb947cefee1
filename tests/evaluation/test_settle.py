"""Settling an attempt by criteria, by its expectation, or by both."""

import asyncio
import time
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    CriterionContext,
    CriterionSpec,
    CriterionStatus,
    EvalCase,
    EvaluationOutcome,
    EvaluationResult,
    Evidence,
    SettledBy,
    SettleMode,
    Verdict,
    combine_both,
    default_settle_mode,
    evaluate_attempt,
    settle_criteria,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.settle import said_by
from tests.evaluation.builders import (
    By,
    ScriptedJudge,
    case,
    golden,
    rubric,
    ruler,
    run,
    said,
    settle,
    verdicts,
)
from tests.evaluation.strategies import EVIDENCE

VERDICTS = st.lists(
    st.builds(
        Verdict,
        status=st.sampled_from(CriterionStatus),
        weight=st.sampled_from([0.0, 0.1, 0.3, 1.0, 3.0, 1e308, 5e-324]),
        gate=st.booleans(),
    ),
    max_size=6,
)
BY_CASE: By = {"evaluator": "e", "settled_by": SettledBy.judge}
BY_CRITERIA: By = {"evaluator": "criteria", "settled_by": SettledBy.criteria}


@pytest.mark.parametrize("row", golden("settling"), ids=lambda row: str(row["verdicts"]))
def test_the_golden_settlements(row: dict[str, Any]) -> None:
    result = settle_criteria(verdicts(row["verdicts"]), row["pass_score"])
    assert (result.outcome.value, result.passed) == (row["outcome"], row["passed"])
    expected = row["score"]
    assert result.criteria_score == (None if expected is None else pytest.approx(expected, abs=1e-6))
    assert (result.pass_score, result.settled_by) == (row["pass_score"], SettledBy.criteria)


@given(VERDICTS, st.floats(0, 1), st.randoms(use_true_random=False))
def test_the_order_of_criteria_settles_nothing(found: list[Verdict], pass_score: float, random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    one, other = settle_criteria(found, pass_score), settle_criteria(shuffled, pass_score)
    assert (one.outcome, one.passed, one.criteria_score) == (
        other.outcome,
        other.passed,
        other.criteria_score,
    )


@given(VERDICTS, st.floats(0, 1))
def test_a_score_is_a_share_and_only_a_verdict_passes(found: list[Verdict], pass_score: float) -> None:
    result = settle_criteria(found, pass_score)
    assert result.criteria_score is None or 0 <= result.criteria_score <= 1
    assert not result.passed or result.outcome is EvaluationOutcome.VERDICT
    assert result.outcome is not EvaluationOutcome.UNDECIDED
    assert result.verdicts == tuple(found)


@given(VERDICTS, st.floats(0, 1))
def test_a_pass_has_no_failed_gate_and_no_error_that_counts(found: list[Verdict], pass_score: float) -> None:
    if settle_criteria(found, pass_score).passed:
        assert not any(v.gate and v.status is CriterionStatus.FAIL for v in found)
        assert not any((v.gate or v.weight) and v.status is CriterionStatus.ERROR for v in found)


@given(VERDICTS, st.floats(0, 1))
def test_what_does_not_apply_changes_nothing(found: list[Verdict], pass_score: float) -> None:
    more = [*found, Verdict(status=CriterionStatus.NOT_APPLICABLE, weight=7, gate=True)]
    one, other = settle_criteria(found, pass_score), settle_criteria(more, pass_score)
    assert (one.outcome, one.passed, one.criteria_score) == (
        other.outcome,
        other.passed,
        other.criteria_score,
    )


@given(VERDICTS, st.floats(0, 1))
def test_an_error_becoming_a_pass_never_turns_a_pass_into_a_fail(
    found: list[Verdict], pass_score: float
) -> None:
    mended = [
        v.model_copy(update={"status": CriterionStatus.PASS}) if v.status is CriterionStatus.ERROR else v
        for v in found
    ]
    before, after = settle_criteria(found, pass_score), settle_criteria(mended, pass_score)
    assert not before.passed or after.passed
    settled_as_fail = before.outcome is EvaluationOutcome.VERDICT and not before.passed
    assert not (settled_as_fail and after.passed)


def test_the_reason_of_a_fail_is_the_gate_or_the_heaviest_failure() -> None:
    light = Verdict(status=CriterionStatus.FAIL, kind="light", detail="x", weight=0.5)
    heavy = Verdict(
        status=CriterionStatus.FAIL, kind="citations.required", detail="art:17 not cited", weight=2
    )
    gate = Verdict(status=CriterionStatus.FAIL, kind="gated", detail="y", weight=0, gate=True)
    assert (
        settle_criteria([light, heavy]).reason
        == "citations.required: art:17 not cited (score 0.00 of 1.00 asked)"
    )
    assert settle_criteria([heavy, gate]).reason == "gate gated: y"


def test_informational_criteria_only_are_inconclusive() -> None:
    result = settle_criteria(verdicts([("pass", 0, False), ("fail", 0, False)]))
    assert (result.outcome, result.reason) == (EvaluationOutcome.INCONCLUSIVE, "informational criteria only")


def test_a_failed_informational_criterion_fails_only_as_a_gate() -> None:
    assert settle_criteria(verdicts([("fail", 0, False), ("pass", 1, False)])).passed
    assert not settle_criteria(verdicts([("fail", 0, True), ("pass", 1, False)])).passed


def test_three_tenths_of_ten_equal_weights_reach_a_pass_score_of_three_tenths() -> None:
    rows = [("pass", 0.1, False)] * 3 + [("fail", 0.1, False)] * 7
    assert settle_criteria(verdicts(rows), 0.3).passed


PARTS = {
    "passed": EvaluationResult.passed("p", **BY_CASE),
    "failed": EvaluationResult.failed("f", **BY_CASE),
    "undecided": EvaluationResult.undecided("u", grade=5, **BY_CASE),
    "inconclusive": EvaluationResult.inconclusive("i", **BY_CASE),
    "broke": EvaluationResult.broke("b", **BY_CASE),
}
CRITERIA = {
    "passed": EvaluationResult.passed("cp", criteria_score=1.0, pass_score=1.0, **BY_CRITERIA),
    "failed": EvaluationResult.failed("cf", criteria_score=0.5, pass_score=1.0, **BY_CRITERIA),
    "inconclusive": EvaluationResult.inconclusive("ci", pass_score=1.0, **BY_CRITERIA),
    "broke": EvaluationResult.broke("cb", pass_score=1.0, **BY_CRITERIA),
}
ORDER = ("failed", "broke", "undecided", "inconclusive", "passed")


@pytest.mark.parametrize(("one", "other"), list(product(PARTS, CRITERIA)))
def test_both_is_the_first_of_failed_broke_undecided_inconclusive_passed(one: str, other: str) -> None:
    combined = combine_both(PARTS[one], CRITERIA[other])
    winner = min(one, other, key=ORDER.index)
    part = PARTS[one] if one == winner else CRITERIA[other]
    assert (combined.outcome, combined.passed, combined.settled_by, combined.reason) == (
        part.outcome,
        part.passed,
        part.settled_by,
        part.reason,
    )
    assert (combined.grade, combined.criteria_score) == (PARTS[one].grade, CRITERIA[other].criteria_score)


def test_both_keeps_the_grade_when_criteria_fail_the_attempt() -> None:
    judge = ScriptedJudge("9")
    result = settle(ruler(SettleMode.both, "fail", rubric=rubric()), judge=judge)
    assert (result.settled_by, result.passed, result.grade, result.criteria_score) == (
        SettledBy.criteria,
        False,
        9,
        0.0,
    )


def test_the_default_mode_is_criteria_where_there_are_any() -> None:
    assert default_settle_mode(has_criteria=True) is SettleMode.criteria
    assert default_settle_mode(has_criteria=False) is SettleMode.expectation


def test_criteria_of_the_suite_and_of_the_case_grade_together() -> None:
    own = case(criteria=[CriterionSpec(kind="fail", weight=0.5)])
    result = settle(ruler(SettleMode.criteria, "pass", pass_score=0.6), own)
    assert [verdict.kind for verdict in result.verdicts] == ["pass", "fail"]
    assert result.passed
    assert result.criteria_score == pytest.approx(2 / 3)


def test_a_case_without_criteria_is_inconclusive_where_criteria_settle() -> None:
    result = settle(ruler(SettleMode.criteria))
    assert (result.outcome, result.reason) == (EvaluationOutcome.INCONCLUSIVE, "the case has no criteria")


def test_expectations_are_not_read_where_criteria_settle_nor_the_other_way_round() -> None:
    missed = case(required_phrases=("nowhere",))
    assert settle(ruler(SettleMode.criteria, "pass"), missed).passed
    found = case(required_phrases=("30 days",))
    result = settle(ruler(SettleMode.expectation, "fail"), found)
    assert (result.passed, result.verdicts, result.criteria_score) == (True, (), None)


def test_one_criterion_that_breaks_never_stops_its_siblings() -> None:
    result = settle(ruler(SettleMode.criteria, "raises", "pass", "not_applicable"))
    assert [verdict.status.value for verdict in result.verdicts] == ["error", "pass", "not_applicable"]
    assert (result.outcome, result.reason) == (
        EvaluationOutcome.FAILED,
        "raises: RuntimeError: a broken registry",
    )


def test_an_evaluator_that_breaks_fails_its_attempt_only_and_both_still_reads_the_criteria() -> None:
    broken = ruler(SettleMode.both, "fail", rubric=rubric())
    result = settle(broken, judge=ScriptedJudge(RuntimeError("x")))
    assert (result.outcome, result.passed, result.settled_by) == (
        EvaluationOutcome.VERDICT,
        False,
        SettledBy.criteria,
    )


def test_a_pass_score_outside_0_to_1_is_refused() -> None:
    for pass_score in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="pass_score"):
            ruler(pass_score=pass_score)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_whose_own_text_breaks_is_named_by_its_type() -> None:
    assert said_by(Mute()) == "Mute"
    assert settle(ruler(rubric=rubric()), judge=ScriptedJudge(Mute())).reason == "Mute"


CASES = [
    case(spec_node="UC-1"),
    case(required_phrases=("30 days", "\x00\ud800")),
    case(metric={"id": "token-f1"}, reference="a\ud800b"),
    case(metric={"id": "exact-match"}, reference="a"),
    case(metric={"id": "latency-budget", "params": {"budget": 1}}),
    case(metric={"id": "token-budget", "params": {"budget": 1}}),
    case(metric={"id": "end-state", "params": {"expected": {"": [1]}}}),
    case(expected="\ud800{system_output}"),
]
SPECS = (
    CriterionSpec(kind="reply.contains", params={"substrings": ["30"], "regex": ["(a+)+$"]}),
    CriterionSpec(kind="reply.max_length", params={"max": 10}),
    CriterionSpec(kind="citations.required"),
    CriterionSpec(kind="citations.unseen"),
    CriterionSpec(kind="usage.max_tokens", params={"max": 10}),
    CriterionSpec(kind="run.no_failure"),
    CriterionSpec(kind="nonsense", gate=True),
)


@given(
    EVIDENCE,
    st.sampled_from(CASES),
    st.sampled_from(SettleMode),
    st.sampled_from(["8", "x", "\ud800", "SCORE: 3"]),
)
def test_no_evidence_makes_it_raise_and_no_grade_is_invented(
    evidence: Evidence, of: Any, mode: SettleMode, answer: str
) -> None:
    by = ruler(mode, rubric=rubric(), registry=builtin_registry(), criteria=SPECS)
    result = settle(by, of, evidence, judge=ScriptedJudge(answer))
    assert EvaluationResult.model_validate(result.model_dump()) == result
    result.reason.encode("utf-8")
    assert result.score is None or 0 <= result.score <= 1
    if result.grade is not None:
        assert str(result.grade) in answer


@pytest.mark.parametrize("of", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("reply", ["x" * 1_000_000, "a\ud800\x00" * 300_000], ids=["plain", "hostile"])
def test_a_megabyte_of_reply_is_settled_within_a_second(of: EvalCase, reply: str) -> None:
    by = ruler(SettleMode.both, rubric=rubric(), registry=builtin_registry(), criteria=SPECS)
    began = time.process_time()
    result = settle(by, of, said(reply, node=reply, end_state={"x": reply}), judge=ScriptedJudge("8"))
    assert len(result.verdicts) == len(SPECS)
    assert time.process_time() - began < 1


def test_it_settles_well_over_a_thousand_attempts_a_second() -> None:
    by = ruler(SettleMode.both, registry=builtin_registry(), criteria=(SPECS[1], SPECS[2], SPECS[5]))
    of, evidence = case(required_phrases=("30 days",)), said("Within 30 days.")

    async def many(count: int) -> float:
        began = time.process_time()
        for _ in range(count):
            await evaluate_attempt(of, evidence, by, CriterionContext())
        return count / (time.process_time() - began)

    # CPU time, so that a busy machine does not decide this test.
    assert max(run(many(500)) for _ in range(3)) > 1_000


def test_cancellation_goes_through() -> None:
    async def cancelled() -> None:
        async with asyncio.timeout(0.01):
            await evaluate_attempt(case(), said(), ruler(rubric=rubric()), CriterionContext(judge=Sleeping()))

    with pytest.raises(TimeoutError):
        run(cancelled())


class Sleeping(ScriptedJudge):
    async def grade(self, request: Any) -> Any:
        await asyncio.sleep(60)
