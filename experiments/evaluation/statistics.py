"""Intervals and tests. Exact ones are computed with whole numbers; libraries are loaded where they are used.

Why the exact tests are not scipy's is in docs/decisions/statistics.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Z95 = 1.959963984540054
"""The two-sided 95% point of the normal distribution."""

SWEEP_RATE = 0.8
RESAMPLES = 10_000
SEED = 20_240_229
_WHOLE_NUMBERS = 2_000
"""Up to this many changed cases the sign test adds whole numbers; they grow with the square of it."""


def wilson95(passes: float, attempts: int) -> tuple[float, float]:
    """Wilson's 95% interval on `passes` of `attempts` (>= 1), for attempts that are independent.

    Source: E. B. Wilson, 1927, without continuity correction. Raises `ValueError` outside 0 <= passes <=
    attempts.
    """
    if attempts < 1 or not 0 <= passes <= attempts:
        raise ValueError(f"{passes} of {attempts} is no share")
    share, z2 = passes / attempts, Z95 * Z95
    centre = share + z2 / (2 * attempts)
    spread = Z95 * math.sqrt(share * (1 - share) / attempts + z2 / (4 * attempts * attempts))
    low, high = (centre - spread) / (1 + z2 / attempts), (centre + spread) / (1 + z2 / attempts)
    return (0.0 if passes == 0 else max(0.0, low)), (1.0 if passes == attempts else min(1.0, high))


def sign_test(worse: int, better: int) -> float:
    """Exact two-sided p that `worse` against `better` comes of even chances; ties are dropped before."""
    n, fewer = worse + better, min(worse, better)
    if fewer < 0:
        raise ValueError("counts are not negative")
    if n > _WHOLE_NUMBERS:
        from scipy.special import bdtr  # type: ignore[import-untyped]

        return min(1.0, 2 * float(bdtr(fewer, n, 0.5)))
    tail, term = 0, 1
    for i in range(fewer + 1):
        tail += term
        term = term * (n - i) // (i + 1)
    return min(1.0, 2 * tail / 2**n) if n else 1.0


def fisher_two_sided(passed_a: int, failed_a: int, passed_b: int, failed_b: int) -> float:
    """Fisher's exact p: the sum of the tables with the same margins that are no likelier than this one."""
    if min(passed_a, failed_a, passed_b, failed_b) < 0:
        raise ValueError("counts are not negative")
    in_a, in_b, passed = passed_a + failed_a, passed_b + failed_b, passed_a + passed_b
    ways = [
        math.comb(in_a, k) * math.comb(in_b, passed - k)
        for k in range(max(0, passed - in_b), min(in_a, passed) + 1)
    ]
    observed = math.comb(in_a, passed_a) * math.comb(in_b, passed_b)
    return sum(way for way in ways if way <= observed) / math.comb(in_a + in_b, passed)


def clean_sweep_floor(repeats: int) -> float:
    """The lowest pass rate that `repeats` passes of `repeats` do not rule out, one-sided 95%, exact.

    For independent attempts of one case; no claim about all clean sweeps of a run at once.
    """
    if repeats < 1:
        raise ValueError("a sweep has at least one attempt")
    return float(0.05 ** (1 / repeats))


def sweep_chance(repeats: int, rate: float = SWEEP_RATE) -> float:
    """How likely a case that passes at `rate` passes all of `repeats` independent attempts."""
    return float(rate**repeats)


@dataclass(frozen=True)
class Interval:
    """A 95% interval on a rate, and what it was taken from."""

    low: float
    high: float
    method: str


def bootstrap_rate(cases: Iterable[tuple[int, int]]) -> tuple[float, float] | None:
    """95% interval of a run's rate: percentiles of 10,000 resamples of its cases, the same every time.

    `cases` holds (passes, judged) of each case; those with nothing judged are left out. Attempts of one
    case are correlated, so cases are drawn and not attempts: as multinomial counts over the distinct pairs,
    which costs the same for 60 cases and for 60,000. None without any judged case.
    """
    counts = Counter((passes, judged) for passes, judged in cases if judged > 0)
    if not counts:
        return None
    import numpy as np

    pairs = sorted(counts)
    sizes = np.array([counts[pair] for pair in pairs], dtype=float)
    draws = np.random.default_rng(SEED).multinomial(int(sizes.sum()), sizes / sizes.sum(), RESAMPLES)
    passes, judged = np.array(pairs, dtype=float).T
    low, high = np.percentile((draws @ passes) / (draws @ judged), [2.5, 97.5])
    return float(low), float(high)


def bootstrap_difference(differences: Mapping[Fraction, int]) -> tuple[float, float] | None:
    """95% interval of the mean of paired differences: percentiles of 10,000 resamples of the cases.

    `differences` maps each distinct difference to the number of cases that have it; cases are drawn as
    multinomial counts over these. Exchanging the two sides gives exactly the negated interval. None without
    cases.
    """
    counts = {difference: count for difference, count in differences.items() if count}
    if not counts:
        return None
    import numpy as np

    ordered = sorted(counts.items())
    mirrored = sorted((-difference, count) for difference, count in ordered)
    # The draws depend on the order of the values. Drawing for one of the two orientations and turning the
    # interval round for the other makes A against B the mirror of B against A.
    sign, drawn = (1.0, ordered) if ordered >= mirrored else (-1.0, mirrored)
    values = np.array([float(difference) for difference, _ in drawn])
    sizes = np.array([count for _, count in drawn], dtype=float)
    cases = int(sizes.sum())
    draws = np.random.default_rng(SEED).multinomial(cases, sizes / sizes.sum(), RESAMPLES)
    ends = sorted(sign * float(end) for end in np.percentile((draws @ values) / cases, [2.5, 97.5]))
    return ends[0], ends[1]


def rate_interval(cases: Iterable[tuple[int, int]]) -> Interval | None:
    """The 95% interval to print beside a run's rate, or None when nothing was judged.

    A bootstrap over cases. Where every case has the same share there is nothing to resample, and the
    bootstrap would claim certainty: then Wilson's interval is taken, on the attempts of a single case or on
    one attempt for each of several.
    """
    counted = [(passes, judged) for passes, judged in cases if judged > 0]
    if not counted:
        return None
    passes, judged = sum(p for p, _ in counted), sum(j for _, j in counted)
    if len(counted) == 1:
        return Interval(*wilson95(passes, judged), method="Wilson, over the attempts of one case")
    if all(p * judged == passes * j for p, j in counted):
        size = len(counted)
        return Interval(*wilson95(min(passes / judged * size, size), size), method="Wilson, over cases")
    low, high = bootstrap_rate(counted) or (0.0, 1.0)
    return Interval(low, high, method="bootstrap over cases")


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two raters over `n` items, and the share of items on which they agree.

    `low` to `high` is its 95% interval (asymptotic; Fleiss, Cohen and Everitt, 1969). It is None where the
    formula gives an interval without width, as for raters who always agree: that is no certainty.
    """

    value: float
    low: float | None
    high: float | None
    agreement: float
    n: int


def cohens_kappa(pairs: Mapping[tuple[str, str], int]) -> Kappa | None:
    """Kappa from (first rater's label, second rater's label) with the number of items that got them.

    None without items, or where both raters gave every item one and the same label: chance alone would agree.
    """
    if any(count < 0 for count in pairs.values()):
        raise ValueError("counts are not negative")
    n = sum(pairs.values())
    labels = sorted({label for pair, count in pairs.items() if count for label in pair})
    if len(labels) < 2:
        return None
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa as kappa_of

    table = np.array([[pairs.get((row, column), 0) for column in labels] for row in labels])
    found = kappa_of(table)
    low, high = max(-1.0, float(found.kappa_low)), min(1.0, float(found.kappa_upp))
    certain = not high - low > 1e-9
    return Kappa(
        value=float(found.kappa),
        low=None if certain else low,
        high=None if certain else high,
        agreement=float(np.trace(table)) / n,
        n=n,
    )


def pass_hat_k(cases: Iterable[tuple[int, int]], k: int) -> float | None:
    """pass^k: the chance that `k` attempts of a case all pass, as the mean over cases.

    `cases` holds (passes, attempts) of each; the estimate C(passes, k) / C(attempts, k) is unbiased (Yao et
    al., tau-bench, 2024). Cases with fewer than `k` attempts are left out; None when that is all of them.
    """
    return _mean_over_draws(cases, k, lambda passes, attempts: Fraction(*_ways(passes, attempts, k)))


def pass_at_k(cases: Iterable[tuple[int, int]], k: int) -> float | None:
    """pass@k: the chance that any of `k` attempts of a case passes, as the mean over cases.

    As `pass_hat_k`, with 1 - C(fails, k) / C(attempts, k) (Chen et al., 2021).
    """
    return _mean_over_draws(
        cases, k, lambda passes, attempts: 1 - Fraction(*_ways(attempts - passes, attempts, k))
    )


def _ways(of: int, attempts: int, k: int) -> tuple[int, int]:
    return math.comb(of, k), math.comb(attempts, k)


def _mean_over_draws(
    cases: Iterable[tuple[int, int]], k: int, chance: Callable[[int, int], Fraction]
) -> float | None:
    if k < 1:
        raise ValueError("k is at least 1")
    counts = Counter((passes, attempts) for passes, attempts in cases)
    for passes, attempts in counts:
        if not 0 <= passes <= attempts:
            raise ValueError(f"{passes} of {attempts} is no share")
    drawn = {pair: count for pair, count in counts.items() if pair[1] >= k}
    if not drawn:
        return None
    return float(sum(chance(*pair) * count for pair, count in drawn.items()) / sum(drawn.values()))


def required_repeats(width: float, share: float = 0.5) -> int:
    """The fewest attempts of one case whose Wilson 95% interval is at most `width` wide (0 < width <= 1).

    For a case that passes at `share`; 0.5 is the widest, so it is enough whatever the share.
    """
    if not (0 < width <= 1 and 0 <= share <= 1):
        raise ValueError("width is above 0 and at most 1, share from 0 to 1")

    def fits(attempts: int) -> bool:
        low, high = wilson95(min(share * attempts, attempts), attempts)
        return high - low <= width

    enough = 1
    while not fits(enough):
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if fits(middle) else (middle, enough)
    return enough
