"""Comparing two runs by their cases' aggregates: what changed, and whether that says anything.

Attempt i of one run is never set against attempt j of another: only what a case did over all its attempts is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache, lru_cache

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.collapse import CaseVerdict, collapse
from experiments.evaluation.comparability import Gate, Pairing
from experiments.evaluation.outcome import SLACK, AttemptMark
from experiments.evaluation.statistics import bootstrap_difference, sign_test
from experiments.evaluation.text import plural

LEAST_CASES = 10
"""Shared cases that must count on both sides before anything is claimed."""

SIGNIFICANT = 0.05

VERDICTS = (
    CaseVerdict.PASSED,
    CaseVerdict.VARIED,
    CaseVerdict.UNDECIDED,
    CaseVerdict.FAILED,
    CaseVerdict.NO_RESULT,
)
"""The order of rows (A) and columns (B) of a transition matrix."""

_RANKS = {
    CaseVerdict.FAILED: 0,
    CaseVerdict.UNDECIDED: 1,
    CaseVerdict.VARIED: 1,
    CaseVerdict.PASSED: 2,
}


@cache
def _verdict(passed: bool, failed: bool, undecided: bool, others: bool) -> CaseVerdict:
    """The verdict of a case that has attempts of these kinds; those that say nothing are alike."""
    kinds = (
        (passed, AttemptMark.passed),
        (failed, AttemptMark.failed),
        (undecided, AttemptMark.undecided),
        (others, AttemptMark.inconclusive),
    )
    marks = [mark for there, mark in kinds if there]
    return collapse(marks) if marks else CaseVerdict.NO_RESULT


@dataclass(frozen=True, slots=True)
class CaseAggregate:
    """How the attempts of one case ended, as counts. Attempts that have not ended are in none of them."""

    case: str
    passed: int = 0
    failed: int = 0
    undecided: int = 0
    inconclusive: int = 0
    evaluator_failed: int = 0
    not_reached: int = 0

    @property
    def verdict(self) -> CaseVerdict:
        """The case's verdict; NO_RESULT when no attempt has ended."""
        others = self.inconclusive + self.evaluator_failed + self.not_reached
        return _verdict(self.passed > 0, self.failed > 0, self.undecided > 0, others > 0)

    @property
    def judged(self) -> int:
        """Attempts that were read and called, or declined by a judge."""
        return self.passed + self.failed + self.undecided

    @property
    def total(self) -> int:
        """Attempts that ended."""
        return self.judged + self.inconclusive + self.evaluator_failed + self.not_reached

    @property
    def share(self) -> Fraction | None:
        """Passes over judged attempts, exactly; None when nothing was judged."""
        return Fraction(self.passed, self.judged) if self.judged else None


class Change(StrEnum):
    """What became of one case from A to B.

    `not_counted`: nothing was judged on one side. `new` and `gone`: only in B, only in A. `unpaired`: the
    same id with another question, which is not the same case.
    """

    worse = "worse"
    better = "better"
    same = "same"
    new = "new"
    gone = "gone"
    not_counted = "not_counted"
    unpaired = "unpaired"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case in both runs. `difference` is B's pass share minus A's, None where the case is not counted."""

    case: str
    change: Change
    a: CaseAggregate | None
    b: CaseAggregate | None
    difference: float | None


class Conclusion(StrEnum):
    """What two runs allow to be said."""

    regression = "regression"
    improvement = "improvement"
    cannot_tell = "cannot_tell"
    too_few = "too_few"
    not_comparable = "not_comparable"


class Side(FrozenModel):
    """One run over the shared cases that count on both sides.

    `share` is the mean over those cases of passes / judged attempts, None without any; `passed` of `judged`
    attempts are the counts behind it.
    """

    share: float | None
    passed: int
    judged: int


class RunComparison(FrozenModel):
    """The whole result of comparing run A (baseline) with run B, without its cases; made once and stored.

    `matrix[i][j]` counts shared cases that were VERDICTS[i] in A and VERDICTS[j] in B. `counted` of `shared`
    cases have judged attempts on both sides: worse + better + same. `difference` is the mean over them of
    B's pass share minus A's, `low` to `high` its 95% interval from a bootstrap over cases, `p` the exact
    two-sided sign test on worse against better. `notes` say what the figures do not.
    """

    gate: Gate
    shared: int
    counted: int
    worse: int
    better: int
    same: int
    not_counted: int
    new: int
    gone: int
    unpaired: int
    matrix: tuple[tuple[int, ...], ...]
    a: Side
    b: Side
    difference: float | None
    low: float | None
    high: float | None
    p: float
    conclusion: Conclusion
    sentence: str
    notes: tuple[str, ...] = ()


def changes(pairing: Pairing, a: Iterable[CaseAggregate], b: Iterable[CaseAggregate]) -> Iterator[CaseChange]:
    """Every case of either run with what became of it, sorted by id.

    A planned case without an aggregate has no result. Two aggregates of one case, or one of a case that is
    not in `pairing`, are a `ValueError`.
    """
    before, after = _by_case(a), _by_case(b)
    kinds: dict[str, Change | None] = dict.fromkeys(pairing.shared)
    kinds.update(dict.fromkeys(pairing.only_a, Change.gone))
    kinds.update(dict.fromkeys(pairing.only_b, Change.new))
    kinds.update(dict.fromkeys(pairing.unpaired, Change.unpaired))
    strangers = (before.keys() | after.keys()) - kinds.keys()
    if strangers:
        raise ValueError(f"cases that neither run planned: {', '.join(sorted(strangers)[:5])}")
    for case, kind in sorted(kinds.items()):
        here = None if kind is Change.new else before.get(case, CaseAggregate(case))
        there = None if kind is Change.gone else after.get(case, CaseAggregate(case))
        if kind is None and here and there:
            yield change_of(here, there)
        else:
            yield CaseChange(case, kind or Change.not_counted, here, there, None)


def change_of(a: CaseAggregate, b: CaseAggregate) -> CaseChange:
    """What became of a shared case: by verdict (FAILED < UNDECIDED, VARIED < PASSED), then by pass share."""
    figures = (a.verdict, a.passed, a.judged, b.verdict, b.passed, b.judged)
    change, difference = _change(*figures)
    return CaseChange(a.case, change, a, b, difference)


@lru_cache(maxsize=65_536)  # a run has many cases and few distinct figures
def _change(
    verdict_a: CaseVerdict, passed_a: int, judged_a: int, verdict_b: CaseVerdict, passed_b: int, judged_b: int
) -> tuple[Change, float | None]:
    if not judged_a or not judged_b:
        return Change.not_counted, None
    share_a, share_b = Fraction(passed_a, judged_a), Fraction(passed_b, judged_b)
    before, after = (_RANKS[verdict_a], share_a), (_RANKS[verdict_b], share_b)
    change = Change.worse if after < before else Change.better if after > before else Change.same
    return change, float(share_b - share_a)


_ORDER = (
    Change.worse,
    Change.better,
    Change.same,
    Change.not_counted,
    Change.unpaired,
    Change.new,
    Change.gone,
)


def badness(change: CaseChange) -> tuple[int, int, float]:
    """A sort key that puts the worst first: worse cases by verdicts lost and then by share lost, better ones
    likewise by what they gained, then the rest in the order of `Change`'s tabs."""
    place = _ORDER.index(change.change)
    if change.a is None or change.b is None or change.difference is None:
        return place, 0, 0.0
    ranks = abs(_RANKS[change.b.verdict] - _RANKS[change.a.verdict])
    return place, -ranks, -abs(change.difference)


@dataclass(frozen=True, slots=True)
class CriterionCounts:
    """One criterion over the attempts of one case; `position` is its place in the list of criteria."""

    kind: str
    position: int
    passes: int
    fails: int


def moved_criterion(
    change: Change, a: Iterable[CriterionCounts], b: Iterable[CriterionCounts]
) -> CriterionCounts | None:
    """The criterion whose share of passes moved most from A to B, in B's counts; None when none moved.

    For a worse or better case only those that moved the same way are looked at. Criteria are the same by
    kind and position; one that neither passed nor failed on a side did not move.
    """
    before = {(one.kind, one.position): one for one in a if one.passes + one.fails}
    found: list[tuple[Fraction, int, CriterionCounts]] = []
    for now in b:
        was = before.get((now.kind, now.position))
        if was is None or not now.passes + now.fails:
            continue
        step = Fraction(now.passes, now.passes + now.fails) - Fraction(was.passes, was.passes + was.fails)
        wrong_way = (change is Change.worse and step > 0) or (change is Change.better and step < 0)
        if step and not wrong_way:
            found.append((-abs(step), now.position, now))
    return min(found, key=lambda one: one[:2])[2] if found else None


def compare(
    gate: Gate, pairing: Pairing, a: Iterable[CaseAggregate], b: Iterable[CaseAggregate]
) -> RunComparison:
    """Run B against run A (the baseline): every figure of the compare page but its rows (see `changes`)."""
    return summarize(gate, changes(pairing, a, b))


def summarize(gate: Gate, found: Iterable[CaseChange]) -> RunComparison:
    """The same from changes that are at hand already, in one pass and in any order."""
    kinds: Counter[Change] = Counter()
    matrix: Counter[tuple[CaseVerdict, CaseVerdict]] = Counter()
    figures: Counter[tuple[int, int, int, int]] = Counter()
    for change in found:
        kinds[change.change] += 1
        if change.change in (Change.new, Change.gone, Change.unpaired) or not (change.a and change.b):
            continue
        a, b = change.a, change.b
        matrix[a.verdict, b.verdict] += 1
        if a.judged and b.judged:
            figures[a.passed, a.judged, b.passed, b.judged] += 1
    differences: Counter[Fraction] = Counter()
    for (passed_a, judged_a, passed_b, judged_b), count in figures.items():
        differences[Fraction(passed_b, judged_b) - Fraction(passed_a, judged_a)] += count
    counted = figures.total()
    total = sum((value * count for value, count in differences.items()), Fraction(0))
    low, high = bootstrap_difference(differences) or (None, None)
    p = sign_test(kinds[Change.worse], kinds[Change.better])
    shared = matrix.total()
    conclusion = _conclusion(gate, counted, (low, high), p, kinds[Change.worse] - kinds[Change.better])
    return RunComparison(
        gate=gate,
        shared=shared,
        counted=counted,
        **{change.value: kinds[change] for change in Change},
        matrix=tuple(tuple(matrix[row, column] for column in VERDICTS) for row in VERDICTS),
        a=_side([((key[0], key[1]), count) for key, count in figures.items()]),
        b=_side([((key[2], key[3]), count) for key, count in figures.items()]),
        difference=float(total / counted) if counted else None,
        low=low,
        high=high,
        p=p,
        conclusion=conclusion,
        sentence=_sentence(conclusion, gate, shared, counted),
        notes=tuple(_notes(gate, kinds[Change.not_counted], differences)),
    )


def _by_case(aggregates: Iterable[CaseAggregate]) -> dict[str, CaseAggregate]:
    found: dict[str, CaseAggregate] = {}
    for aggregate in aggregates:
        if aggregate.case in found:
            raise ValueError(f"two aggregates of the case {aggregate.case}")
        found[aggregate.case] = aggregate
    return found


def _side(figures: Sequence[tuple[tuple[int, int], int]]) -> Side:
    cases = sum(count for _, count in figures)
    shares = sum((Fraction(*figure) * count for figure, count in figures), Fraction(0))
    return Side(
        share=float(shares / cases) if cases else None,
        passed=sum(passed * count for (passed, _), count in figures),
        judged=sum(judged * count for (_, judged), count in figures),
    )


def _conclusion(
    gate: Gate, counted: int, interval: tuple[float | None, float | None], p: float, more_worse: int
) -> Conclusion:
    low, high = interval
    if not gate.comparable:
        return Conclusion.not_comparable
    if counted < LEAST_CASES or low is None or high is None:
        return Conclusion.too_few
    if p <= SIGNIFICANT + SLACK:
        if high < -SLACK and more_worse > 0:
            return Conclusion.regression
        if low > SLACK and more_worse < 0:
            return Conclusion.improvement
    return Conclusion.cannot_tell


def _sentence(conclusion: Conclusion, gate: Gate, shared: int, counted: int) -> str:
    these = "this 1 case" if shared == 1 else f"these {shared:,} cases"
    match conclusion:
        case Conclusion.not_comparable:
            names = [row.name for row in gate.refused]
            named = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
            return (
                f"A and B cannot be compared: {named} {'differs' if len(names) == 1 else 'differ'}. A change "
                "may come of that alone, so no regression and no improvement is stated."
            )
        case Conclusion.too_few:
            if not shared:
                return "A and B share no case: there is nothing to compare."
            count = plural(counted, "case counts", "cases count") if counted else "No case counts"
            return f"{count} on both sides: too few to tell A from B, which takes {LEAST_CASES}."
        case Conclusion.regression:
            return f"On {these} B is worse than A."
        case Conclusion.improvement:
            return f"On {these} B is better than A."
        case Conclusion.cannot_tell:
            return f"These {shared:,} cases cannot tell A from B."


def _notes(gate: Gate, not_counted: int, differences: Mapping[Fraction, int]) -> Iterator[str]:
    if not_counted:
        shared = plural(not_counted, "shared case is", "shared cases are")
        yield f"{shared} not counted: nothing was judged on one side or on both."
    if gate.unpaired:
        cases = plural(gate.unpaired, "case has", "cases have")
        yield f"{cases} the same id and another question: not compared."
    if len(differences) == 1 and sum(differences.values()) > 1:
        yield "Every case differs by the same, so the interval has no width; that is no certainty."
