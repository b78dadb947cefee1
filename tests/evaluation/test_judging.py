"""Asking the judge: every way it can answer, and what its use was."""

import asyncio

import pytest

from experiments.evaluation import (
    EvaluationOutcome,
    EvaluationResult,
    JudgeError,
    JudgeReply,
    JudgeResult,
    SettledBy,
    SettleMode,
)
from tests.evaluation.builders import LABELLED, ScriptedJudge, case, rubric, ruler, said, settle


def graded(answer: JudgeReply | str | BaseException, template: str | None = None) -> EvaluationResult:
    by = rubric(template) if template else rubric()
    return settle(ruler(rubric=by), judge=ScriptedJudge(answer))


@pytest.mark.parametrize(
    ("answer", "outcome", "passed"),
    [
        ("10", EvaluationOutcome.VERDICT, True),
        ("8", EvaluationOutcome.VERDICT, True),
        ("7", EvaluationOutcome.UNDECIDED, False),
        ("4", EvaluationOutcome.UNDECIDED, False),
        ("3", EvaluationOutcome.VERDICT, False),
        ("1", EvaluationOutcome.VERDICT, False),
    ],
)
def test_a_grade_is_called_by_its_band(answer: str, outcome: EvaluationOutcome, passed: bool) -> None:
    result = graded(answer)
    assert (result.outcome, result.passed, result.grade) == (outcome, passed, int(answer))
    assert (result.evaluator, result.evaluator_version, result.settled_by) == (
        "case-judge",
        "3",
        SettledBy.judge,
    )


def test_the_reason_is_the_judges() -> None:
    assert graded("SCORE: 9\nREASON: states the window", LABELLED).reason == "grade 9: states the window"


@pytest.mark.parametrize("answer", ["", "N/A", "On a scale of 1 to 10, this is an 8", "11"])
def test_an_unreadable_answer_is_inconclusive_and_kept_raw(answer: str) -> None:
    result = graded(answer)
    assert (result.outcome, result.grade) == (EvaluationOutcome.INCONCLUSIVE, None)
    assert result.judge_use is not None
    assert result.judge_use.reply == answer


def test_a_declined_answer_is_inconclusive_whatever_it_says() -> None:
    result = graded(JudgeReply(text="10", declined=True))
    assert (result.outcome, result.grade) == (EvaluationOutcome.INCONCLUSIVE, None)
    assert result.judge_use is not None
    assert result.judge_use.reply == "10"


def test_a_judge_error_is_an_evaluator_failure_that_counts_as_a_call_of_unknown_usage() -> None:
    result = graded(JudgeError("529 overloaded"))
    assert (result.outcome, result.reason) == (EvaluationOutcome.FAILED, "the judge failed: 529 overloaded")
    assert result.judge_use is not None
    assert (result.judge_use.calls, result.judge_use.unknown_calls) == (1, 1)


def test_a_judge_that_breaks_otherwise_is_an_evaluator_failure() -> None:
    assert graded(ZeroDivisionError("x")).outcome is EvaluationOutcome.FAILED
    assert graded(None).outcome is EvaluationOutcome.FAILED  # type: ignore[arg-type]  # no reply object at all


def test_no_judge_no_rubric_or_a_label_rubric_is_an_evaluator_failure() -> None:
    label = rubric("?", kind="label", labels=("a",), pass_labels=("a",))
    results = [
        settle(ruler(rubric=rubric())),
        settle(ruler(), judge=ScriptedJudge("8")),
        settle(ruler(rubric=label), judge=ScriptedJudge("8")),
    ]
    assert [result.outcome for result in results] == [EvaluationOutcome.FAILED] * 3
    assert ["judge" in results[0].reason, "rubric" in results[1].reason, "label" in results[2].reason] == [
        True
    ] * 3


@pytest.mark.parametrize("reply", [None, "", "  \n"])
def test_without_a_reply_the_judge_is_not_asked(reply: str | None) -> None:
    judge = ScriptedJudge("10")
    result = settle(ruler(rubric=rubric()), evidence=said(reply), judge=judge)
    assert (result.outcome, judge.asked) == (EvaluationOutcome.INCONCLUSIVE, [])
    assert result.judge_use is None


def test_use_is_the_tokens_and_the_hash_of_what_was_sent() -> None:
    judge = ScriptedJudge(JudgeReply(text="8", prompt_tokens=120, completion_tokens=3))
    use = settle(ruler(rubric=rubric()), judge=judge).judge_use
    assert use is not None
    assert (use.calls, use.prompt_tokens, use.completion_tokens, use.unknown_calls) == (1, 120, 3, 0)
    assert (use.model, use.prompt_hash) == ("scripted-judge", judge.asked[0].prompt_hash)  # type: ignore[union-attr]


def test_criteria_that_ask_the_judge_count_beside_the_expectation() -> None:
    judge = ScriptedJudge(
        "9", JudgeResult(label="yes", prompt_tokens=10, completion_tokens=1), JudgeResult(label="yes")
    )
    result = settle(ruler(SettleMode.both, "asks", "asks", rubric=rubric()), judge=judge)
    assert result.passed
    assert result.judge_use is not None
    assert (result.judge_use.calls, result.judge_use.prompt_tokens, result.judge_use.unknown_calls) == (
        3,
        110,
        1,
    )
    assert result.judge_use.reply == "9"


def test_the_judge_receives_the_rubric_and_the_transcript_and_nothing_of_earlier_verdicts() -> None:
    judge = ScriptedJudge("9", "9")
    by = ruler(rubric=rubric())
    settle(by, judge=judge)
    settle(by, judge=judge)
    assert judge.asked[0] == judge.asked[1]


def test_a_cancelled_judge_cancels_the_attempt() -> None:
    with pytest.raises(asyncio.CancelledError):
        settle(ruler(rubric=rubric()), case(), judge=ScriptedJudge(asyncio.CancelledError()))
