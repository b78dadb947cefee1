"""Intervals and tests against golden values, scipy and simulation."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    bootstrap_rate,
    clean_sweep_floor,
    fisher_two_sided,
    rate_interval,
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
