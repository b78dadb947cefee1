"""From the attempts of a case to its verdict."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import AttemptMark, CaseVerdict, collapse
from tests.evaluation.builders import golden

MARKS = st.lists(st.sampled_from(AttemptMark), min_size=1, max_size=12)


@pytest.mark.parametrize(("marks", "verdict"), golden("verdicts"), ids=str)
def test_the_golden_case_verdicts(marks: list[str], verdict: str) -> None:
    assert collapse(map(AttemptMark, marks)) is CaseVerdict(verdict)


def test_zero_attempts_is_an_error() -> None:
    with pytest.raises(ValueError, match="without attempts"):
        collapse([])


@given(MARKS, st.randoms(use_true_random=False))
def test_the_order_of_attempts_means_nothing(marks: list[AttemptMark], random: Random) -> None:
    shuffled = list(marks)
    random.shuffle(shuffled)
    assert collapse(shuffled) is collapse(marks)


@given(
    MARKS, st.sampled_from([AttemptMark.inconclusive, AttemptMark.evaluator_failed, AttemptMark.not_reached])
)
def test_an_attempt_that_says_nothing_never_changes_a_verdict(
    marks: list[AttemptMark], silent: AttemptMark
) -> None:
    assert collapse([*marks, silent]) is collapse(marks)


@given(MARKS)
def test_varied_needs_a_pass_and_a_fail(marks: list[AttemptMark]) -> None:
    both = AttemptMark.passed in marks and AttemptMark.failed in marks
    assert (collapse(marks) is CaseVerdict.VARIED) == both


@given(MARKS)
def test_a_verdict_of_passed_or_failed_is_never_invented(marks: list[AttemptMark]) -> None:
    verdict = collapse(marks)
    if verdict in (CaseVerdict.PASSED, CaseVerdict.FAILED):
        assert AttemptMark(verdict.value.lower()) in marks
