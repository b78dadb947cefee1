"""Figures that several pages show, read from what a grading stores and never counted again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from experiments.evaluation import AttemptCounts, CaseVerdict, ExperimentReport
from experiments.models import Grading, Run, RunState
from experiments.selectors.words import VERDICTS, Word

RUNNING = (RunState.RUNNING, RunState.STOPPING)


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How many cases have a verdict."""

    verdict: CaseVerdict
    count: int

    @property
    def word(self) -> Word:
        return VERDICTS[self.verdict]


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """The case verdicts of one grading. `cases` is every case, those without an attempt yet included."""

    cases: int
    passed: int
    failed: int
    varied: int
    undecided: int
    no_result: int

    @classmethod
    def of(cls, grading: Grading, run: Run) -> CaseCounts:
        return cls(
            cases=run.requested // run.repeats,
            passed=grading.passed_cases,
            failed=grading.failed_cases,
            varied=grading.varied_cases,
            undecided=grading.undecided_cases,
            no_result=grading.no_result_cases,
        )

    @property
    def waiting(self) -> int:
        """Cases without a verdict yet."""
        known = self.passed + self.failed + self.varied + self.undecided + self.no_result
        return max(0, self.cases - known)

    @property
    def by_verdict(self) -> tuple[VerdictCount, ...]:
        return (
            VerdictCount(CaseVerdict.PASSED, self.passed),
            VerdictCount(CaseVerdict.FAILED, self.failed),
            VerdictCount(CaseVerdict.VARIED, self.varied),
            VerdictCount(CaseVerdict.UNDECIDED, self.undecided),
            VerdictCount(CaseVerdict.NO_RESULT, self.no_result),
        )

    @property
    def seen(self) -> tuple[VerdictCount, ...]:
        """The verdicts that at least one case has."""
        return tuple(part for part in self.by_verdict if part.count)

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """For one bar of all of them: (CSS class, count)."""
        return (*((part.word.css, part.count) for part in self.by_verdict), ("is-pending", self.waiting))

    @property
    def largest(self) -> int:
        return max(part.count for part in self.by_verdict)


@dataclass(frozen=True, slots=True)
class Rate:
    """A pass rate with everything that must stand beside it.

    `share` is passed / judged, None when nothing was judged; `low` and `high` are its stored 95% interval;
    `total` counts the attempts that ended. `coverage` is the sentence with the counts.
    """

    share: float | None
    passed: int
    judged: int
    total: int
    low: float | None
    high: float | None
    coverage: str

    @classmethod
    def of(cls, report: ExperimentReport, grading: Grading) -> Rate:
        return cls(
            share=report.pass_rate,
            passed=report.passed,
            judged=report.judged,
            total=report.total,
            low=grading.rate_low,
            high=grading.rate_high,
            coverage=report.coverage,
        )


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a list."""

    id: int
    experiment_id: int
    experiment: str
    state: str
    started_by: str
    started: datetime
    ended: datetime | None
    seconds: float | None
    requested: int
    finished: int
    repeats: int
    target: str
    cases: CaseCounts
    rate: Rate
    is_baseline: bool

    @property
    def is_live(self) -> bool:
        return self.state in RUNNING


def run_line(run: Run, grading: Grading) -> RunLine:
    """A run with its current grading; `run.experiment` and `run.started_by` must be loaded."""
    started = run.started_at or run.created_at
    return RunLine(
        id=run.pk,
        experiment_id=run.experiment_id,
        experiment=run.experiment.name,
        state=run.state,
        started_by=run.started_by.get_username() if run.started_by else "evalsite",
        started=started,
        ended=run.finished_at,
        seconds=(run.finished_at - started).total_seconds() if run.finished_at else None,
        requested=run.requested,
        finished=run.finished,
        repeats=run.repeats,
        target=" ".join(filter(None, (run.target_name, run.target_version))),
        cases=CaseCounts.of(grading, run),
        rate=Rate.of(report_of(run, grading), grading),
        is_baseline=run.experiment.baseline_id == run.pk,
    )


def report_of(run: Run, grading: Grading) -> ExperimentReport:
    """The report over a grading's stored counts. Page and record take it from here, so they cannot differ."""
    started = run.started_at or run.created_at
    return ExperimentReport.build(
        AttemptCounts.model_validate(grading.totals or {}),
        repeats=run.repeats,
        # What the flag asks is whether any case swept clean; without a passed case none can have.
        clean_sweeps=None if grading.passed_cases else 0,
        lanes=run.lanes,
        wall_seconds=(run.finished_at - started).total_seconds() if run.finished_at else None,
    )


def lines_of(runs: Iterable[Run]) -> tuple[RunLine, ...]:
    """Lines for runs of any number, with one query for their gradings."""
    runs = list(runs)
    gradings = {
        grading.run_id: grading
        for grading in Grading.objects.filter(run__in=[run.pk for run in runs], is_current=True)
    }
    return tuple(run_line(run, gradings[run.pk]) for run in runs if run.pk in gradings)
