"""What the home page shows: the runs that move now, then every experiment with how its last runs went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Max, Window
from django.db.models.functions import RowNumber

from experiments.models import Experiment, Grading, Run
from experiments.selectors.figures import RUNNING, Rate, RunLine, lines_of, report_of, run_line
from experiments.selectors.trend import Trend, trend_of

TREND_RUNS = 10
SHOWN_EXPERIMENTS = 50
SHOWN_RUNNING = 20


@dataclass(frozen=True, slots=True)
class ExperimentLine:
    """An experiment with its last ended run, or none, and the pass rate of the runs up to it."""

    id: int
    name: str
    last: RunLine | None
    trend: Trend | None


@dataclass(frozen=True, slots=True)
class HomePage:
    """`more_experiments`: there are experiments beyond the ones listed."""

    running: tuple[RunLine, ...]
    experiments: tuple[ExperimentLine, ...]
    more_experiments: bool


def running_lines() -> tuple[RunLine, ...]:
    """The runs that move now, newest first."""
    runs = Run.objects.filter(state__in=RUNNING).select_related("experiment", "started_by").order_by("-id")
    return lines_of(runs[:SHOWN_RUNNING])


def home_page() -> HomePage:
    """Four queries, whatever the number of experiments and runs."""
    # The experiment that ran last comes first; one that never ran comes last.
    experiments = list(
        Experiment.objects.annotate(latest=Max("runs__id")).order_by(
            F("latest").desc(nulls_last=True), "name"
        )[: SHOWN_EXPERIMENTS + 1]
    )
    shown = experiments[:SHOWN_EXPERIMENTS]
    return HomePage(
        running=running_lines(),
        experiments=experiment_lines(shown),
        more_experiments=len(experiments) > SHOWN_EXPERIMENTS,
    )


def experiment_lines(experiments: Sequence[Experiment]) -> tuple[ExperimentLine, ...]:
    """Lines for these experiments in their order, with one query for their last ended runs."""
    history = _last_gradings([experiment.pk for experiment in experiments])
    return tuple(_line(experiment, history[experiment.pk]) for experiment in experiments)


def _last_gradings(experiment_ids: list[int]) -> dict[int, list[Grading]]:
    """The current gradings of each experiment's last ended runs, newest first."""
    ranked = (
        Grading.objects.filter(is_current=True, run__experiment__in=experiment_ids)
        .exclude(run__state__in=RUNNING)
        .annotate(
            rank=Window(RowNumber(), partition_by=F("run__experiment_id"), order_by=F("run_id").desc()),
        )
        .filter(rank__lte=TREND_RUNS)
        .select_related("run__experiment", "run__started_by")
        .order_by("-run_id")
    )
    found: dict[int, list[Grading]] = defaultdict(list)
    for grading in ranked:
        found[grading.run.experiment_id].append(grading)
    return found


def _line(experiment: Experiment, newest_first: list[Grading]) -> ExperimentLine:
    rates = [
        (grading.run_id, Rate.of(report_of(grading.run, grading), grading))
        for grading in reversed(newest_first)
    ]
    return ExperimentLine(
        id=experiment.pk,
        name=experiment.name,
        last=run_line(newest_first[0].run, newest_first[0]) if newest_first else None,
        trend=trend_of(rates),
    )
