"""A pass rate over the last runs of an experiment, as points that a small drawing and a sentence share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.evaluation import percent
from experiments.selectors.figures import Rate

WIDTH, HEIGHT, INSET = 120, 28, 4


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Points from old to new in a 120 x 28 drawing whose full height is 0% to 100%; `band` is the interval.

    Runs that judged nothing have no point. `words` says the same with counts.
    """

    dots: tuple[Dot, ...]
    band: str
    words: str

    @property
    def curve(self) -> str:
        return " ".join(f"{dot.x},{dot.y}" for dot in self.dots)

    @property
    def last(self) -> Dot:
        return self.dots[-1]


def trend_of(runs: Sequence[tuple[int, Rate]]) -> Trend | None:
    """The trend over (run number, rate) pairs from old to new; None when no run judged anything."""
    points = [(number, rate, rate.share) for number, rate in runs if rate.share is not None]
    if not points:
        return None
    step = (WIDTH - 2 * INSET) / max(1, len(points) - 1)
    xs = [round(INSET + index * step, 1) for index in range(len(points))]
    if len(points) == 1:
        xs = [WIDTH / 2]
    dots = tuple(Dot(x, _y(share)) for x, (_number, _rate, share) in zip(xs, points, strict=True))
    above = [
        (x, _y(share if rate.high is None else rate.high))
        for x, (_n, rate, share) in zip(xs, points, strict=True)
    ]
    below = [
        (x, _y(share if rate.low is None else rate.low))
        for x, (_n, rate, share) in zip(xs, points, strict=True)
    ]
    band = " ".join(f"{x},{y}" for x, y in [*above, *reversed(below)])
    words = "; ".join(
        f"run {number}: {percent(share)}, {rate.passed:,} of {rate.judged:,} passed"
        for number, rate, share in points
    )
    return Trend(dots, band, f"Pass rate over {len(points)} runs: {words}" if len(points) > 1 else words)


def _y(share: float) -> float:
    return round(HEIGHT - INSET - share * (HEIGHT - 2 * INSET), 1)
