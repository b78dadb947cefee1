"""From the attempts of one case to the case's verdict."""

from collections.abc import Iterable
from enum import StrEnum

from experiments.evaluation.outcome import AttemptMark


class CaseVerdict(StrEnum):
    """What all attempts of one case say together."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    VARIED = "VARIED"
    UNDECIDED = "UNDECIDED"
    NO_RESULT = "NO_RESULT"


def collapse(marks: Iterable[AttemptMark]) -> CaseVerdict:
    """The verdict of a case from its attempts' marks, in any order. Zero attempts is a `ValueError`.

    Settled attempts (passed, failed) decide; both among them is VARIED. Without any, an undecided one makes
    the case UNDECIDED, else there is NO_RESULT.
    """
    seen = set(marks)
    if not seen:
        raise ValueError("a case without attempts has no verdict")
    passes, fails = AttemptMark.passed in seen, AttemptMark.failed in seen
    if passes and fails:
        return CaseVerdict.VARIED
    if passes:
        return CaseVerdict.PASSED
    if fails:
        return CaseVerdict.FAILED
    return CaseVerdict.UNDECIDED if AttemptMark.undecided in seen else CaseVerdict.NO_RESULT
