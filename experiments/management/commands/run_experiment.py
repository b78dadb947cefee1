"""``manage.py run_experiment NAME``: start a run, watch it to its end, say whether the gate holds."""

from __future__ import annotations

import io
import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from experiments.evaluation.text import printable
from experiments.execution.local import LocalDriver, worker_listens
from experiments.management.files import write_whole
from experiments.models import Experiment, Grading, Run, RunState
from experiments.services.runs import RunRefused, start_run, stop_run
from experiments.transfer.report_text import report_text
from experiments.transfer.run_record import record_of

GATE_FAILED = 100
REFUSED = 1
LOOK_SECONDS = 0.2
LINE_SECONDS = 5.0
"""Without a terminal a line is written so often at most."""
MOVING = (RunState.RUNNING, RunState.STOPPING)


class Command(BaseCommand):
    """Exit codes: 0 the gate holds, 100 it fails, 1 refused, stopped or broken.

    The gate: something was judged, and no case FAILED or VARIED.
    """

    help = "Start a run of an experiment and show its progress until it ends."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the experiment's name")
        parser.add_argument("--json", type=Path, dest="out", metavar="OUT", help="write the record here")
        parser.add_argument(
            "--local",
            action="store_true",
            help="drive the run in this process even if workers listen (the default without one)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Marks and bars are UTF-8 whatever the terminal's locale says.
            sys.stdout.reconfigure(encoding="utf-8")
        code = self._run(options["name"], options["out"], options["local"])
        if code:
            sys.exit(code)

    def _run(self, name: str, out: Path | None, local: bool) -> int:
        experiment = Experiment.objects.filter(name=name).first()
        if experiment is None:
            return self._refuse([f"There is no experiment {printable(name, 100)}."])
        try:
            run = start_run(None, experiment)
        except RunRefused as refused:
            return self._refuse([refusal.sentence for refusal in refused.refusals])
        driver = LocalDriver(run.pk) if local or not worker_listens() else None
        where = "in this process" if driver else "by the workers"
        self.stdout.write(f"Run {run.number}: {run.requested} attempts, {run.lanes} lanes, driven {where}.")
        self.stdout.flush()
        if driver:
            driver.start()
        try:
            self._watch(run)
        except KeyboardInterrupt:
            # A second one. Calls in flight are abandoned; by their leases the attempts come back to the run.
            self.stderr.write(f"Run {run.number} is left as it is.", style_func=str)
            self.stderr.flush()
            os._exit(REFUSED)
        finally:
            if driver:
                driver.close()
        return self._report(run, out)

    def _refuse(self, sentences: list[str]) -> int:
        for sentence in sentences:
            self.stderr.write(printable(sentence), style_func=str)
        return REFUSED

    # -- watching -------------------------------------------------------------------------------------------

    def _watch(self, run: Run) -> None:
        """Until the run has ended. The first Ctrl-C stops it and waits for the calls in flight; a second one
        leaves the run as it is."""
        try:
            self._follow(run)
        except KeyboardInterrupt:
            self.stderr.write("Stopping: attempts in flight finish, the rest is cancelled.", style_func=str)
            stop_run(None, run)
            self._follow(run)

    def _follow(self, run: Run) -> None:
        console = Console(file=sys.stdout) if sys.stdout.isatty() else None
        if console is None:
            self._follow_in_lines(run)
            return
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
        ) as progress:
            task = progress.add_task("", total=run.requested)
            while self._refresh(run):
                _show(progress, task, run)
                time.sleep(LOOK_SECONDS)
            _show(progress, task, run)

    def _follow_in_lines(self, run: Run) -> None:
        said, at = -1, 0.0
        while moving := self._refresh(run):
            if run.finished != said and time.monotonic() - at >= LINE_SECONDS:
                said, at = run.finished, time.monotonic()
                self.stdout.write(f"{run.finished} of {run.requested} attempts; {_cases(run)}")
                self.stdout.flush()
            time.sleep(LOOK_SECONDS)
        if not moving:
            self.stdout.write(f"{run.finished} of {run.requested} attempts; {run.get_state_display()}.")

    def _refresh(self, run: Run) -> bool:
        """Whether the run still moves. What keeps it waiting is said once."""
        before = run.last_error
        run.refresh_from_db(fields=["state", "finished", "last_error", "finished_at"])
        if run.last_error and run.last_error != before:
            self.stderr.write(printable(run.last_error), style_func=str)
        return run.state in MOVING

    # -- the end --------------------------------------------------------------------------------------------

    def _report(self, run: Run, out: Path | None) -> int:
        run.refresh_from_db()
        record = record_of(run)
        self.stdout.write(report_text(record), ending="")
        if out is not None:
            try:
                write_whole(out, record.json_text())
            except OSError as broken:
                return self._refuse([f"{out}: cannot be written: {broken.strerror}"])
        if run.state != RunState.FINISHED:
            return self._refuse([f"Run {run.number} is {run.get_state_display()}."])
        grading = Grading.objects.get(run=run, is_current=True)
        if not grading.counted:
            self.stderr.write("Gate: nothing was judged.", style_func=str)
            return GATE_FAILED
        if grading.failed_cases or grading.varied_cases:
            self.stderr.write("Gate: a case failed or varied.", style_func=str)
            return GATE_FAILED
        return 0


def _show(progress: Progress, task: TaskID, run: Run) -> None:
    progress.update(task, completed=run.finished, description=f"run {run.number}, {_cases(run)}")


def _cases(run: Run) -> str:
    """How the cases stand now."""
    grading = Grading.objects.get(run=run, is_current=True)
    counts = (
        (grading.passed_cases, "passed"),
        (grading.failed_cases, "failed"),
        (grading.varied_cases, "varied"),
        (grading.undecided_cases, "undecided"),
        (grading.no_result_cases, "without result"),
    )
    return ", ".join(f"{count} {words}" for count, words in counts if count) or "no case yet"
