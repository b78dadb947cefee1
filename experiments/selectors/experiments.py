"""What the list of experiments shows."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.models import Experiment
from experiments.selectors.home import ExperimentLine, experiment_lines
from experiments.selectors.paging import Page, keyset


@dataclass(frozen=True, slots=True)
class ListedExperiment:
    """An experiment's setup in a line, with how its last run went."""

    line: ExperimentLine
    suite: str
    target: str
    policy: str
    rubric: str
    repeats: int
    lanes: int


@dataclass(frozen=True, slots=True)
class ExperimentsPage:
    page: Page[ListedExperiment]
    search: str


def experiments_page(*, search: str = "", before: str = "", after: str = "") -> ExperimentsPage:
    """50 experiments in the order they were made, newest first. Two queries."""
    experiments = Experiment.objects.select_related("suite", "target", "policy", "rubric")
    if search:
        experiments = experiments.filter(name__icontains=search)
    page = keyset(experiments, ["-id"], before=before, after=after)
    rows = tuple(
        ListedExperiment(
            line=line,
            suite=experiment.suite.name,
            target=experiment.target.name if experiment.target else "",
            policy=experiment.policy.name if experiment.policy else "",
            rubric=experiment.rubric.name if experiment.rubric else "",
            repeats=experiment.repeats,
            lanes=experiment.lanes,
        )
        for experiment, line in zip(page.rows, experiment_lines(list(page.rows)), strict=True)
    )
    return ExperimentsPage(Page(rows, page.before, page.after), search)
