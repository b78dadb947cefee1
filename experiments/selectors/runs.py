"""What the list of runs shows."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.models import Experiment, Run, RunState
from experiments.selectors.figures import RunLine, lines_of
from experiments.selectors.paging import Page, keyset


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, newest first; `experiment` is the one they are narrowed to. A filter may be why none is."""

    page: Page[RunLine]
    experiment: Experiment | None
    state: str

    @property
    def filtered(self) -> bool:
        return bool(self.experiment or self.state)


def runs_page(
    *, experiment: Experiment | None = None, state: str = "", before: str = "", after: str = ""
) -> RunsPage:
    """50 runs of all experiments or of one, in one state or any. Two queries."""
    runs = Run.objects.select_related("experiment", "started_by")
    if experiment is not None:
        runs = runs.filter(experiment=experiment)
    if state in RunState.values:
        runs = runs.filter(state=state)
    page = keyset(runs, ["-id"], before=before, after=after)
    return RunsPage(Page(lines_of(page.rows), page.before, page.after), experiment, state)
