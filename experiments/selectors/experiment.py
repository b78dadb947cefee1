"""What the page of one experiment shows: its setup and history. What a run would do is the plan's to say."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.models import Experiment, Run
from experiments.selectors.figures import RunLine, lines_of
from experiments.selectors.paging import Page, keyset
from experiments.selectors.trend import Trend, trend_of

HISTORY = 20


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion every case of the suite has, as the author wrote it."""

    kind: str
    params: str
    weight: float | None
    gate: bool


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """`live` are runs that move now: a start beside them is possible, and the page says so."""

    experiment: Experiment
    criteria: tuple[Criterion, ...]
    pass_score: float | None
    history: Page[RunLine]
    live: tuple[RunLine, ...]
    trend: Trend | None


def find_experiment(experiment_id: int) -> Experiment:
    """The experiment with everything its setup names. Raises `Experiment.DoesNotExist`."""
    return Experiment.objects.select_related(
        "suite__current",
        "rubric__current__rubric",
        "policy__current__policy",
        "target",
        "judge",
        "corpus__current__corpus",
        "baseline",
    ).get(pk=experiment_id)


def experiment_page(experiment: Experiment, *, before: str = "", after: str = "") -> ExperimentPage:
    """Two queries beside the one that found the experiment."""
    runs = Run.objects.filter(experiment=experiment).select_related("experiment", "started_by")
    page = keyset(runs, ["-id"], before=before, after=after, size=HISTORY)
    lines = lines_of(page.rows)
    version = experiment.suite.current
    ended = [(line.id, line.rate) for line in reversed(lines) if not line.is_live]
    return ExperimentPage(
        experiment=experiment,
        criteria=tuple(_criterion(spec) for spec in (version.criteria if version else [])),
        pass_score=version.pass_score if version else None,
        history=Page(lines, page.before, page.after),
        live=tuple(line for line in lines if line.is_live),
        trend=trend_of(ended),
    )


def _criterion(spec: dict[str, object]) -> Criterion:
    params = spec.get("params")
    weight = spec.get("weight")
    return Criterion(
        kind=str(spec.get("kind", "")),
        params=", ".join(f"{name} {value}" for name, value in params.items())
        if isinstance(params, dict)
        else "",
        weight=float(weight) if isinstance(weight, int | float) else None,
        gate=bool(spec.get("gate")),
    )
