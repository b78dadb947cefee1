"""One case with every attempt of it."""

from experiments.evaluation import (
    AttemptMark,
    AttemptResult,
    CaseVerdict,
    Cause,
    EvalCaseResults,
    EvaluationResult,
    Failure,
    SettledBy,
)
from tests.evaluation.builders import By, case

BY: By = {"evaluator": "e", "settled_by": SettledBy.judge}


def test_attempts_are_ordered_by_number_and_never_by_completion() -> None:
    results = EvalCaseResults(
        case(),
        (
            AttemptResult(3, result=EvaluationResult.passed(**BY)),
            AttemptResult(1, result=EvaluationResult.failed(**BY)),
            AttemptResult(2, failure=Failure(cause=Cause.NO_REPLY)),
        ),
    )
    assert results.marks == (AttemptMark.failed, AttemptMark.not_reached, AttemptMark.passed)
    assert (results.verdict, results.passes, results.settled) == (CaseVerdict.VARIED, 1, 2)
    assert results.tally == "1 of 3, 1 not reached"


def test_passes_stand_over_all_attempts_with_what_is_not_settled_beside() -> None:
    passed = [AttemptResult(n, result=EvaluationResult.passed(**BY)) for n in range(1, 5)]
    results = EvalCaseResults(case(), (*passed, AttemptResult(5, result=EvaluationResult.undecided(**BY))))
    assert results.tally == "4 of 5, 1 undecided"
    assert (results.verdict, results.settled) == (CaseVerdict.PASSED, 4)
