"""Intervals and tests against golden values, scipy and simulation."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    bootstrap_rate,
    clean_sweep_floor,
    cohens_kappa,
    fisher_two_sided,
    pass_at_k,
    pass_hat_k,
    rate_interval,
    required_repeats,
    sign_test,
    sweep_chance,
    wilson95,
)
from tests.evaluation.builders import golden

GOLDEN = golden("statistics")


@pytest.mark.parametrize(("passes", "attempts", "interval"), GOLDEN["wilson95"])
def test_the_golden_wilson_intervals(passes: int, attempts: int, interval: list[float]) -> None:
    assert wilson95(passes, attempts) == pytest.approx(interval, abs=1e-6)


@pytest.mark.parametrize(("worse", "better", "p"), GOLDEN["sign_test_two_sided"])
def test_the_golden_sign_tests(worse: int, better: int, p: float) -> None:
    assert sign_test(worse, better) == pytest.approx(p, abs=1e-6)
    assert sign_test(better, worse) == sign_test(worse, better)


@pytest.mark.parametrize(("repeats", "floor"), GOLDEN["clean_sweep_floor"])
def test_the_golden_floors_of_a_clean_sweep(repeats: int, floor: float) -> None:
    assert clean_sweep_floor(repeats) == pytest.approx(floor, abs=1e-6)


@pytest.mark.parametrize(("repeats", "chance"), GOLDEN["eight_in_ten_sweeps"])
def test_the_golden_chances_of_a_sweep(repeats: int, chance: float) -> None:
    assert sweep_chance(repeats) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize(("a", "b", "c", "d", "p"), GOLDEN["fisher_two_sided"])
def test_the_golden_fisher_tests(a: int, b: int, c: int, d: int, p: float) -> None:
    assert fisher_two_sided(a, b, c, d) == pytest.approx(p, abs=1e-6)


@given(st.integers(1, 500), st.data())
def test_wilson_holds_its_share_and_stays_within_0_and_1(attempts: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, attempts))
    low, high = wilson95(passes, attempts)
    assert 0 <= low <= passes / attempts <= high <= 1
    assert (low == 0) == (passes == 0)
    assert (high == 1) == (passes == attempts)


@pytest.mark.parametrize(("passes", "attempts"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_share(passes: int, attempts: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson95(passes, attempts)


def test_exact_tests_agree_with_scipy() -> None:
    from scipy import stats  # type: ignore[import-untyped]

    drawn = random.Random(5)
    for _ in range(60):
        a, b, c, d = (drawn.randint(0, 30) for _ in range(4))
        assert fisher_two_sided(a, b, c, d) == pytest.approx(
            stats.fisher_exact([[a, b], [c, d]]).pvalue, abs=1e-9
        )
        if a + b:
            assert sign_test(a, b) == pytest.approx(stats.binomtest(a, a + b).pvalue, abs=1e-9)
        if a + b:
            of = stats.binomtest(a, a + b).proportion_ci(0.95, "wilson")
            assert wilson95(a, a + b) == pytest.approx((of.low, of.high), abs=1e-9)


@pytest.mark.parametrize(("worse", "better"), [(0, 2_001), (990, 1_011), (1_000, 1_001), (4_900, 5_100)])
def test_the_sign_test_of_a_large_run_is_the_sum_of_whole_numbers(worse: int, better: int) -> None:
    n = worse + better
    exact = Fraction(2 * sum(math.comb(n, k) for k in range(min(worse, better) + 1)), 2**n)
    assert sign_test(worse, better) == pytest.approx(min(1.0, float(exact)), rel=1e-9)


def test_exact_tests_take_counts_of_a_large_run() -> None:
    assert 0 < sign_test(4_900, 5_100) < 0.05
    assert 0 < fisher_two_sided(900, 100, 850, 150) < 0.01
    assert sign_test(0, 0) == 1
    assert fisher_two_sided(0, 0, 0, 0) == 1


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        sign_test(-1, 2)
    with pytest.raises(ValueError, match="negative"):
        fisher_two_sided(1, -1, 2, 2)
    with pytest.raises(ValueError, match="at least one"):
        clean_sweep_floor(0)


PAIRS = [(5, 5)] * 58 + [(0, 5)] * 9 + [(3, 5), (2, 5), (4, 5), (1, 5), (2, 4), (0, 0)]


def test_the_bootstrap_gives_the_same_interval_every_time_in_any_order() -> None:
    shuffled = list(PAIRS)
    random.Random(1).shuffle(shuffled)
    assert bootstrap_rate(PAIRS) == bootstrap_rate(shuffled) == bootstrap_rate(PAIRS)


def test_the_bootstrap_holds_the_rate_and_is_wider_than_wilson_over_correlated_attempts() -> None:
    interval = bootstrap_rate(PAIRS)
    assert interval is not None
    low, high = interval
    passes, judged = sum(p for p, _ in PAIRS), sum(j for _, j in PAIRS)
    assert low < passes / judged < high
    pooled = wilson95(passes, judged)
    assert high - low > 1.5 * (pooled[1] - pooled[0])


def test_the_bootstrap_draws_cases_and_not_attempts() -> None:
    """Checked against a plain bootstrap that draws case by case."""
    drawn = random.Random(7)
    counted = [pair for pair in PAIRS if pair[1]]
    rates = []
    for _ in range(4_000):
        sample = drawn.choices(counted, k=len(counted))
        rates.append(sum(p for p, _ in sample) / sum(j for _, j in sample))
    rates.sort()
    assert bootstrap_rate(PAIRS) == pytest.approx((rates[100], rates[3_899]), abs=0.015)


def test_its_coverage_over_cases_is_near_95_percent_where_pooled_wilson_falls_short() -> None:
    drawn = random.Random(11)
    covered = pooled = 0
    truth, runs = 0.6, 150
    for _ in range(runs):
        cases = []
        for _ in range(60):
            chance = drawn.betavariate(0.6, 0.4)  # cases differ a lot, so attempts of one case are alike
            cases.append((sum(drawn.random() < chance for _ in range(5)), 5))
        low, high = bootstrap_rate(cases) or (1, 0)
        covered += low <= truth <= high
        low, high = wilson95(sum(p for p, _ in cases), 300)
        pooled += low <= truth <= high
    assert covered / runs > 0.88 > pooled / runs


def test_a_large_run_costs_no_more_than_its_distinct_cases() -> None:
    assert bootstrap_rate([(4, 5), (5, 5), (0, 5)] * 20_000) is not None


@pytest.mark.parametrize("cases", [[], [(0, 0)]])
def test_nothing_judged_has_no_interval(cases: list[tuple[int, int]]) -> None:
    assert bootstrap_rate(cases) is None
    assert rate_interval(cases) is None


@pytest.mark.parametrize(
    ("cases", "method", "interval"),
    [
        ([(5, 5)], "Wilson, over the attempts of one case", (0.565518, 1)),
        ([(3, 5), (0, 0)], "Wilson, over the attempts of one case", (0.230724, 0.882379)),
        ([(5, 5)] * 5, "Wilson, over cases", (0.565518, 1)),
        ([(0, 1)] * 5, "Wilson, over cases", (0, 0.434482)),
        ([(1, 2), (2, 4)], "Wilson, over cases", wilson95(1, 2)),
    ],
)
def test_where_there_is_nothing_to_resample_wilson_speaks(
    cases: list[tuple[int, int]], method: str, interval: tuple[float, float]
) -> None:
    found = rate_interval(cases)
    assert found is not None
    assert found.method == method
    assert (found.low, found.high) == pytest.approx(interval, abs=1e-6)


def test_cases_that_differ_take_the_bootstrap() -> None:
    found: Any = rate_interval(PAIRS)
    assert (found.low, found.high, found.method) == (*(bootstrap_rate(PAIRS) or ()), "bootstrap over cases")


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    """Two readers of 50 texts agree on 35; chance alone would give 25: (0.7 - 0.5) / (1 - 0.5)."""
    found = cohens_kappa({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert (found.agreement, found.n) == (0.7, 50)
    assert (found.low, found.high) == pytest.approx((0.151092, 0.648908), abs=1e-6)


def test_the_interval_of_kappa_is_its_asymptotic_variance() -> None:
    """Worked out here from Fleiss, Cohen and Everitt (1969) for tables of three labels."""
    drawn = random.Random(2)
    for _ in range(20):
        pairs = {(i, j): drawn.randint(1, 20) for i in "abc" for j in "abc"}
        n = sum(pairs.values())
        share = {pair: count / n for pair, count in pairs.items()}
        first = {one: sum(share[one, other] for other in "abc") for one in "abc"}
        second = {one: sum(share[other, one] for other in "abc") for one in "abc"}
        seen = sum(share[one, one] for one in "abc")
        chance = sum(first[one] * second[one] for one in "abc")
        kappa = (seen - chance) / (1 - chance)
        diagonal = sum(share[i, i] * (1 - (first[i] + second[i]) * (1 - kappa)) ** 2 for i in "abc")
        beside = (
            sum(share[i, j] * (second[i] + first[j]) ** 2 for i, j in itertools.permutations("abc", 2))
            * (1 - kappa) ** 2
        )
        variance = (diagonal + beside - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
        spread = 1.959963984540054 * math.sqrt(variance)
        found = cohens_kappa(pairs)
        assert found is not None
        assert found.value == pytest.approx(kappa)
        assert (found.low, found.high) == pytest.approx((max(-1, kappa - spread), min(1, kappa + spread)))


def test_raters_who_always_agree_have_a_kappa_and_no_interval() -> None:
    found = cohens_kappa({("y", "y"): 3, ("n", "n"): 4, ("y", "n"): 0})
    assert found is not None
    assert (found.value, found.low, found.high, found.agreement) == (1.0, None, None, 1.0)


@pytest.mark.parametrize("pairs", [{}, {("y", "y"): 9}, {("y", "y"): 9, ("n", "n"): 0}])
def test_where_only_one_label_was_given_there_is_no_kappa(pairs: dict[tuple[str, str], int]) -> None:
    assert cohens_kappa(pairs) is None


def test_kappa_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        cohens_kappa({("y", "n"): -1, ("n", "n"): 4})


@given(st.integers(1, 6), st.data())
def test_pass_k_is_what_every_draw_of_k_attempts_gives(attempts: int, data: st.DataObject) -> None:
    passes, k = data.draw(st.integers(0, attempts)), data.draw(st.integers(1, attempts))
    marks = [True] * passes + [False] * (attempts - passes)
    draws = list(itertools.combinations(marks, k))
    assert pass_hat_k([(passes, attempts)], k) == pytest.approx(sum(map(all, draws)) / len(draws))
    assert pass_at_k([(passes, attempts)], k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_k_is_a_mean_over_the_cases_with_enough_attempts() -> None:
    cases = [(3, 5), (5, 5), (0, 5), (1, 1)]
    assert pass_hat_k(cases, 2) == pytest.approx((0.3 + 1 + 0) / 3)
    assert pass_at_k(cases, 2) == pytest.approx((0.9 + 1 + 0) / 3)
    assert pass_hat_k(cases, 1) == pass_at_k(cases, 1) == pytest.approx((0.6 + 1 + 0 + 1) / 4)
    assert pass_hat_k(cases, 6) is None
    assert pass_at_k([], 1) is None
    assert pass_hat_k(list(Counter(cases).elements()) * 10_000, 2) == pass_hat_k(cases, 2)


@pytest.mark.parametrize(("cases", "k", "message"), [([(1, 2)], 0, "at least 1"), ([(3, 2)], 1, "no share")])
def test_pass_k_refuses_what_it_cannot_draw(cases: list[tuple[int, int]], k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pass_at_k(cases, k)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("width", [1.0, 0.5, 0.2, 0.05])
def test_required_repeats_are_the_fewest_whose_interval_is_narrow_enough(width: float, share: float) -> None:
    def wide(attempts: int) -> float:
        low, high = wilson95(min(share * attempts, attempts), attempts)
        return high - low

    found = required_repeats(width, share)
    assert wide(found) <= width
    assert found == 1 or wide(found - 1) > width


def test_required_repeats_of_an_unknown_share_are_those_of_a_half() -> None:
    assert required_repeats(0.2) == 93
    assert all(required_repeats(0.2, share) <= 93 for share in (0.0, 0.1, 0.4, 0.6, 0.9, 1.0))


@pytest.mark.parametrize(("width", "share"), [(0, 0.5), (1.1, 0.5), (0.2, -0.1), (0.2, 1.1), (math.nan, 0.5)])
def test_required_repeats_refuse_what_is_no_interval(width: float, share: float) -> None:
    with pytest.raises(ValueError, match="width is above 0"):
        required_repeats(width, share)
