"""Comparing runs by case: what changed, and what may be said of it."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    VERDICTS,
    CaseAggregate,
    CaseFacts,
    CaseVerdict,
    Change,
    Conclusion,
    CriterionCounts,
    Pairing,
    Policy,
    RunComparison,
    RunFacts,
    SettleMode,
    badness,
    bootstrap_difference,
    change_of,
    changes,
    comparability,
    compare,
    moved_criterion,
    pair,
    sign_test,
    summarize,
)


def of(name: str, passed: int = 0, failed: int = 0, undecided: int = 0, **others: int) -> CaseAggregate:
    """A case's aggregate."""
    return CaseAggregate(name, passed, failed, undecided, **others)


def facts(cases: Sequence[CaseAggregate], **changes: Any) -> RunFacts:
    """A run of these cases."""
    given: dict[str, Any] = {"cases": {one.case: CaseFacts("asked", "graded") for one in cases}}
    return RunFacts(settle_mode=SettleMode.expectation, **{**given, **changes})


def compared(a: Sequence[CaseAggregate], b: Sequence[CaseAggregate], **changes: Any) -> RunComparison:
    """B against A; `changes` are B's."""
    before, after = facts(a), facts(b, **changes)
    return compare(comparability(before, after), pair(before, after), a, b)


def moved(worse: int, better: int, same: int, judged: int = 5) -> tuple[list[CaseAggregate], ...]:
    """Two runs in which so many cases lose, gain or keep one pass of `judged`."""
    a, b = [], []
    for number in range(worse + better + same):
        name = f"case-{number:03}"
        down, up = number < worse, worse <= number < worse + better
        a.append(of(name, judged - up, int(up)))
        b.append(of(name, judged - down, int(down)))
    return a, b


PASSED, FAILED, UNDECIDED = of("x", 5), of("x", 0, 5), of("x", 0, 0, 5)


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        (PASSED, PASSED, Change.same),
        (PASSED, of("x", 4, 1), Change.worse),
        (of("x", 4, 1), PASSED, Change.better),
        (of("x", 4, 1), of("x", 3, 2), Change.worse),
        (of("x", 1, 4), FAILED, Change.worse),
        (FAILED, UNDECIDED, Change.better),
        (UNDECIDED, of("x", 3, 2), Change.better),
        (UNDECIDED, PASSED, Change.better),
        (of("x", 2, 3), of("x", 4, 6), Change.same),
        (PASSED, of("x", 3), Change.same),
        (of("x", 4, 0, 1), of("x", 2, 0, 3), Change.worse),
        (of("x", 4, 1), of("x", 1, 0, 4), Change.better),
        (of("x", 5, 0, 0, inconclusive=3), PASSED, Change.same),
        (of("x", 0, 0, 0, inconclusive=5), PASSED, Change.not_counted),
        (PASSED, of("x", not_reached=2, evaluator_failed=3), Change.not_counted),
        (of("x"), of("x"), Change.not_counted),
    ],
)
def test_a_case_changes_by_verdict_and_then_by_pass_share(
    a: CaseAggregate, b: CaseAggregate, change: Change
) -> None:
    found = change_of(a, b)
    assert found.change is change
    assert (found.difference is None) == (change is Change.not_counted)


def test_an_aggregate_knows_its_verdict_and_its_share() -> None:
    assert of("x", 2, 1, 2, inconclusive=1, evaluator_failed=1, not_reached=1).verdict is CaseVerdict.VARIED
    assert of("x", not_reached=5).verdict is CaseVerdict.NO_RESULT
    assert of("x").verdict is CaseVerdict.NO_RESULT
    mixed = of("x", 2, 1, 2, inconclusive=1, evaluator_failed=1, not_reached=1)
    assert (mixed.judged, mixed.total, mixed.share) == (5, 8, Fraction(2, 5))
    assert of("x", inconclusive=1).share is None


def test_the_wireframes_figures_cannot_tell() -> None:
    a, b = moved(9, 4, 44)
    found = compared([*a, of("silent", 3)], [*b, of("silent", not_reached=5)])
    assert (found.shared, found.counted, found.not_counted) == (58, 57, 1)
    assert (found.worse, found.better, found.same) == (9, 4, 44)
    assert found.p == pytest.approx(0.266846, abs=1e-6)
    assert found.conclusion is Conclusion.cannot_tell
    assert found.sentence == "These 58 cases cannot tell A from B."
    assert found.notes == ("1 shared case is not counted: nothing was judged on one side or on both.",)


@pytest.mark.parametrize(
    ("worse", "better", "same", "conclusion", "sentence"),
    [
        (12, 3, 45, Conclusion.regression, "On these 60 cases B is worse than A."),
        (3, 12, 45, Conclusion.improvement, "On these 60 cases B is better than A."),
        (6, 0, 54, Conclusion.regression, "On these 60 cases B is worse than A."),
        (5, 0, 55, Conclusion.cannot_tell, "These 60 cases cannot tell A from B."),
        (0, 0, 60, Conclusion.cannot_tell, "These 60 cases cannot tell A from B."),
        (
            9,
            0,
            0,
            Conclusion.too_few,
            "9 cases count on both sides: too few to tell A from B, which takes 10.",
        ),
        (10, 0, 0, Conclusion.regression, "On these 10 cases B is worse than A."),
        (
            1,
            0,
            0,
            Conclusion.too_few,
            "1 case counts on both sides: too few to tell A from B, which takes 10.",
        ),
    ],
)
def test_only_what_interval_and_sign_test_both_show_is_called_by_name(
    worse: int, better: int, same: int, conclusion: Conclusion, sentence: str
) -> None:
    found = compared(*moved(worse, better, same))
    assert (found.conclusion, found.sentence) == (conclusion, sentence)
    assert found.p == sign_test(worse, better)


def test_the_sign_test_alone_states_no_regression() -> None:
    """Ten cases lose a little and three gain everything: more worse, and yet the mean does not fall."""
    a, b = moved(12, 0, 40)
    a += [of(f"gain-{n}", 0, 5) for n in range(2)]
    b += [of(f"gain-{n}", 5, 0) for n in range(2)]
    found = compared(a, b)
    assert found.p < 0.05
    assert found.conclusion is Conclusion.cannot_tell


def test_the_interval_alone_states_no_regression() -> None:
    """Five cases lose everything, none gains: the interval lies below 0 and the sign test says 0.06."""
    a, b = moved(0, 0, 7)
    a += [of(f"lost-{n}", 5, 0) for n in range(5)]
    b += [of(f"lost-{n}", 0, 5) for n in range(5)]
    found = compared(a, b)
    assert found.high is not None
    assert found.high < 0
    assert found.p == 0.0625
    assert found.conclusion is Conclusion.cannot_tell


def test_runs_that_cannot_be_compared_state_nothing_and_say_why() -> None:
    a, b = moved(20, 0, 0)
    found = compared(a, b, judge_model="another", policy=Policy(name="p"))
    assert found.conclusion is Conclusion.not_comparable
    assert found.sentence == (
        "A and B cannot be compared: policy and judge model differ. A change may come of that alone, so no "
        "regression and no improvement is stated."
    )
    assert found.worse == 20
    assert found.difference == pytest.approx(-0.2)
    assert "rubric differs" not in found.sentence
    assert compared(a, b, judge_model="another").sentence.startswith(
        "A and B cannot be compared: judge model differs. "
    )


def test_no_shared_case_and_no_counted_case_are_told_apart() -> None:
    nothing = compared([of("a", 5)], [of("b", 5)])
    assert nothing.sentence == "A and B share no case: there is nothing to compare."
    assert (nothing.difference, nothing.low, nothing.high, nothing.a.share) == (None, None, None, None)
    assert (nothing.new, nothing.gone, nothing.shared) == (1, 1, 0)
    silent = compared([of("a", not_reached=5)], [of("a", 5)])
    assert silent.sentence.startswith("No case counts on both sides: too few")
    assert silent.conclusion is Conclusion.too_few


def test_shares_are_means_over_cases_and_stand_beside_their_counts() -> None:
    found = compared(
        [of("x", 5, 0), of("y", 1, 0, 1), of("z", 3)], [of("x", 4, 1), of("y", 0, 1), of("z", inconclusive=3)]
    )
    assert (found.a.share, found.a.passed, found.a.judged) == (0.75, 6, 7)
    assert (found.b.share, found.b.passed, found.b.judged) == (0.4, 4, 6)
    assert found.difference == pytest.approx(-0.35)


def test_the_matrix_holds_every_shared_case_where_its_verdicts_meet() -> None:
    a = [
        of("p", 5),
        of("q", 5),
        of("v", 2, 3),
        of("u", 0, 0, 5),
        of("f", 0, 5),
        of("n", not_reached=5),
        of("o", 1),
    ]
    b = [of("p", 5), of("q", 0, 5), of("v", 2, 3), of("u", 4, 1), of("f", 0, 0, 5), of("n", 5), of("z", 1)]
    found = compared(a, b)
    cells = {
        (VERDICTS[i], VERDICTS[j]): count
        for i, row in enumerate(found.matrix)
        for j, count in enumerate(row)
        if count
    }
    assert cells == {
        (CaseVerdict.PASSED, CaseVerdict.PASSED): 1,
        (CaseVerdict.PASSED, CaseVerdict.FAILED): 1,
        (CaseVerdict.VARIED, CaseVerdict.VARIED): 1,
        (CaseVerdict.UNDECIDED, CaseVerdict.VARIED): 1,
        (CaseVerdict.FAILED, CaseVerdict.UNDECIDED): 1,
        (CaseVerdict.NO_RESULT, CaseVerdict.PASSED): 1,
    }


def test_cases_of_one_run_only_and_cases_asked_differently_are_listed_and_not_compared() -> None:
    a, b = [of("gone", 5), of("other", 5), of("both", 5)], [of("new", 5), of("other", 0, 5), of("both", 5)]
    before, after = facts(a), facts(b)
    after = replace(after, cases={**after.cases, "other": CaseFacts("another question", "graded")})
    pairing = pair(before, after)
    rows = list(changes(pairing, a, b))
    assert [(row.case, row.change) for row in rows] == [
        ("both", Change.same),
        ("gone", Change.gone),
        ("new", Change.new),
        ("other", Change.unpaired),
    ]
    assert [row.difference for row in rows] == [0.0, None, None, None]
    assert rows[1].b is None
    assert rows[2].a is None
    found = summarize(comparability(before, after), rows)
    assert (found.shared, found.unpaired, found.worse) == (1, 1, 0)
    assert "1 case has the same id and another question: not compared." in found.notes


def test_a_planned_case_without_an_aggregate_is_not_counted() -> None:
    before = facts([of("x", 5), of("y", 5)])
    found = compare(
        comparability(before, before), pair(before, before), [of("x", 5), of("y", 5)], [of("x", 5)]
    )
    assert (found.shared, found.counted, found.not_counted) == (2, 1, 1)


@pytest.mark.parametrize(
    ("a", "message"),
    [([of("x", 5), of("x", 4)], "two aggregates"), ([of("stranger", 5)], "neither run planned: stranger")],
)
def test_doubled_and_unplanned_cases_are_refused_by_name(a: list[CaseAggregate], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(changes(Pairing(("x",), (), (), (), ()), a, []))


def test_an_interval_without_width_is_called_what_it_is() -> None:
    assert any("no width" in note for note in compared(*moved(0, 0, 60)).notes)
    assert not any("no width" in note for note in compared(*moved(1, 0, 59)).notes)


def test_the_interval_agrees_with_drawing_case_by_case() -> None:
    a, b = moved(9, 4, 44)
    found = compared(a, b)
    each = [float((y.share or 0) - (x.share or 0)) for x, y in zip(a, b, strict=True)]
    drawn = random.Random(3)
    means = sorted(sum(drawn.choices(each, k=len(each))) / len(each) for _ in range(4_000))
    assert (found.low, found.high) == pytest.approx((means[100], means[3_899]), abs=0.004)


def test_the_interval_is_the_same_every_time_and_mirrors_exactly() -> None:
    differences = {Fraction(-1, 5): 9, Fraction(1, 3): 4, Fraction(0): 44}
    low, high = bootstrap_difference(differences) or (0, 0)
    assert bootstrap_difference(dict(reversed(differences.items()))) == (low, high)
    assert bootstrap_difference({-key: count for key, count in differences.items()}) == (-high, -low)
    assert low < (-9 / 5 + 4 / 3) / 57 < high
    assert bootstrap_difference({}) is None
    assert bootstrap_difference({Fraction(1, 2): 0}) is None


def test_a_comparison_is_stored_and_read_back_whole() -> None:
    found = compared(*moved(12, 3, 45))
    assert RunComparison.model_validate_json(found.model_dump_json()) == found
    assert not {"case-000", "case-059"} & set(found.model_dump_json().split('"'))


def test_many_cases_cost_little_more_than_their_distinct_figures() -> None:
    a, b = moved(900, 400, 8_700)
    found = compared(a, b)
    assert (found.counted, found.conclusion) == (10_000, Conclusion.regression)


def test_the_worst_change_stands_first() -> None:
    pairs = [
        (of("slightly worse", 5), of("slightly worse", 4, 1)),
        (of("a verdict lost and all of it", 5), of("x", 0, 5)),
        (of("two of five lost", 4, 1), of("x", 2, 3)),
        (of("a verdict lost", 5), of("x", 0, 0, 5)),
        (of("better", 0, 5), of("x", 5)),
        (of("same", 5), of("x", 5)),
        (of("not counted", 5), of("x")),
    ]
    found = sorted((change_of(a, b) for a, b in pairs), key=badness)
    assert [one.case for one in found] == [
        "a verdict lost and all of it",
        "a verdict lost",
        "slightly worse",
        "two of five lost",
        "better",
        "same",
        "not counted",
    ]


def test_the_criterion_that_moved_a_case_is_the_one_that_moved_most_its_way() -> None:
    was = [CriterionCounts("a", 0, 5, 0), CriterionCounts("b", 1, 4, 1), CriterionCounts("c", 2, 0, 5)]
    now = [CriterionCounts("a", 0, 3, 2), CriterionCounts("b", 1, 0, 5), CriterionCounts("c", 2, 5, 0)]
    worse, better = moved_criterion(Change.worse, was, now), moved_criterion(Change.better, was, now)
    assert worse == now[1]
    assert better == now[2]
    assert moved_criterion(Change.same, was, now) == now[2]
    assert moved_criterion(Change.worse, was, was) is None
    assert moved_criterion(Change.worse, was, [CriterionCounts("a", 0, 0, 0)]) is None
    assert moved_criterion(Change.worse, was, [CriterionCounts("a", 7, 0, 5)]) is None


COUNTS = st.tuples(*[st.integers(0, 3)] * 5)
RUNS = st.dictionaries(st.sampled_from([f"c{n}" for n in range(30)]), st.tuples(COUNTS, COUNTS), max_size=30)


def two(drawn: dict[str, tuple[Any, Any]]) -> tuple[list[CaseAggregate], list[CaseAggregate]]:
    """Two runs of the drawn cases, of which some stand in one only."""
    sides: tuple[list[CaseAggregate], list[CaseAggregate]] = ([], [])
    for name, figures in drawn.items():
        for side, (p, f, u, i, n) in zip(sides, figures, strict=True):
            if n < 3:
                side.append(of(name, p, f, u, inconclusive=i, not_reached=n))
    return sides


@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_cases_changes_no_figure(drawn: dict[str, Any], order: random.Random) -> None:
    a, b = two(drawn)
    found = compared(a, b)
    order.shuffle(a)
    order.shuffle(b)
    assert compared(a, b) == found


MIRROR = {
    Conclusion.regression: Conclusion.improvement,
    Conclusion.improvement: Conclusion.regression,
}


@given(RUNS)
def test_exchanging_the_runs_turns_every_figure_round(drawn: dict[str, Any]) -> None:
    a, b = two(drawn)
    there, back = compared(a, b), compared(b, a)
    assert (there.worse, there.better, there.new, there.gone) == (
        back.better,
        back.worse,
        back.gone,
        back.new,
    )
    assert there.matrix == tuple(zip(*back.matrix, strict=True))
    assert (there.a, there.b, there.p) == (back.b, back.a, back.p)
    if there.difference is not None:
        assert back.low is not None
        assert back.high is not None
        assert back.difference is not None
        assert (there.difference, there.low, there.high) == (-back.difference, -back.high, -back.low)
    assert back.conclusion is MIRROR.get(there.conclusion, there.conclusion)


@given(RUNS)
def test_a_run_against_itself_is_all_same(drawn: dict[str, Any]) -> None:
    a, _ = two(drawn)
    found = compared(a, a)
    assert found.same == found.counted
    assert (found.worse, found.better, found.new, found.gone, found.unpaired) == (0, 0, 0, 0, 0)
    assert found.p == 1
    assert found.difference in (None, 0.0)
    assert found.conclusion in (Conclusion.cannot_tell, Conclusion.too_few)


@given(RUNS)
def test_figures_add_up_and_nothing_is_claimed_without_ten_cases(drawn: dict[str, Any]) -> None:
    a, b = two(drawn)
    found = compared(a, b)
    assert found.shared == sum(map(sum, found.matrix)) == found.counted + found.not_counted
    assert found.counted == found.worse + found.better + found.same
    assert found.shared + found.gone == len(a)
    assert found.shared + found.new == len(b)
    if found.counted < 10:
        assert found.conclusion is Conclusion.too_few
    if found.conclusion is Conclusion.regression:
        assert found.high is not None
        assert found.high < 0
        assert found.worse > found.better
    if found.difference is not None and found.a.share is not None and found.b.share is not None:
        assert found.difference == pytest.approx(found.b.share - found.a.share)
        assert found.low is not None
        assert -1 <= found.low <= (found.high or 0) <= 1 or found.high == found.low
