"""What a case's row says, from its attempts in any order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from experiments.evaluation import EvalCase
from experiments.execution.caseresults import CriterionCount, DoneAttempt, figures_of

CASE = EvalCase(id="refund", turn="When?", tags=("money",))
ENDS: dict[str, dict[str, Any]] = {
    "P": {"outcome": "VERDICT", "passed": True},
    "F": {"outcome": "VERDICT", "passed": False},
    "U": {"outcome": "UNDECIDED", "passed": False},
    "I": {"outcome": "INCONCLUSIVE", "passed": False},
    "E": {"outcome": "FAILED", "passed": False},
    "S": {"failure_cause": "SETUP_FAILED", "failure_detail": "no fixture"},
    "N": {"failure_cause": "NO_REPLY", "failure_detail": "silence"},
}


def attempt(number: int, letter: str, **fields: Any) -> DoneAttempt:
    graded = "failure_cause" not in ENDS[letter]
    base: dict[str, Any] = {
        "case_id": 1,
        "number": number,
        "failure_cause": "",
        "failure_detail": "",
        "seconds": float(number),
        "prompt_tokens": 10,
        "completion_tokens": 1,
        "outcome": None,
        "passed": None,
        "settled_by": "judge" if graded else None,
        "evaluator": "rubric" if graded else None,
        "reason": f"reason {number}{letter}" if graded else None,
    }
    return DoneAttempt(**{**base, **ENDS[letter], **fields})


@pytest.mark.parametrize(
    ("letters", "verdict", "reason"),
    [
        ("PPP", "PASSED", "reason 1P"),
        ("PFP", "VARIED", "reason 2F"),
        ("NFS", "FAILED", "reason 2F"),
        ("PU", "PASSED", "reason 2U"),
        ("UI", "UNDECIDED", "reason 1U"),
        ("IE", "NO_RESULT", "reason 1I"),
        ("NS", "NO_RESULT", "no fixture"),
    ],
)
def test_the_verdict_and_the_reason_that_explains_it(letters: str, verdict: str, reason: str) -> None:
    done = [attempt(number, letter) for number, letter in enumerate(letters, start=1)]
    random.Random(3).shuffle(done)
    figures = figures_of(len(letters), done, [], CASE)
    assert (figures.strip, figures.verdict, figures.reason) == (letters, verdict, reason)
    counted = (figures.passed, figures.failed, figures.undecided, figures.inconclusive)
    assert counted == tuple(letters.count(letter) for letter in "PFUI")
    rest = (figures.evaluator_failed, figures.setup_failed, figures.no_reply)
    assert rest == tuple(letters.count(letter) for letter in "ESN")


def test_attempts_not_yet_in_are_dots_in_their_places() -> None:
    figures = figures_of(5, [attempt(2, "P"), attempt(4, "F")], [], CASE)
    assert figures.strip == ".P.F."


def test_a_case_without_attempts_has_no_verdict_yet() -> None:
    figures = figures_of(2, [], [], CASE)
    assert (figures.verdict, figures.strip, figures.search) == ("", "..", "refund\nwhen?\nmoney\n")


def test_seconds_are_a_mean_and_tokens_a_sum_of_what_was_reported() -> None:
    done = [attempt(1, "P"), attempt(2, "P", prompt_tokens=None, completion_tokens=None), attempt(3, "N")]
    figures = figures_of(3, done, [], CASE)
    assert (figures.mean_seconds, figures.tokens) == (2.0, 22)
    silent = figures_of(
        1, [attempt(1, "P", prompt_tokens=None, completion_tokens=None, seconds=None)], [], CASE
    )
    assert (silent.mean_seconds, silent.tokens) == (None, None)


def test_under_criteria_the_first_criterion_that_failed_decided() -> None:
    done = [attempt(1, "F", settled_by="criteria", evaluator="criteria")]
    criteria = [
        CriterionCount(1, 0, "reply.contains", 1, 0, 0, 0),
        CriterionCount(1, 1, "run.no_failure", 0, 1, 0, 0),
    ]
    assert figures_of(1, done, criteria, CASE).decided_by == "run.no_failure"
    assert figures_of(1, done, criteria[:1], CASE).decided_by == "criteria"


def test_what_settles_a_case_is_known_although_its_first_attempt_was_not_reached() -> None:
    figures = figures_of(2, [attempt(1, "N"), attempt(2, "P")], [], CASE)
    assert (figures.settled_by, figures.decided_by, figures.reason) == ("judge", "rubric", "silence")
