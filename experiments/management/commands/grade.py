"""``manage.py grade SUITE EVIDENCE``: grade what already happened, without database or network."""

import asyncio
import io
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand

from experiments.evaluation.settle import SettleMode
from experiments.evaluation.text import printable
from experiments.hooks import HooksError, load_hooks
from experiments.management.files import write_whole
from experiments.transfer.jsonl import read_corpus, read_evidence
from experiments.transfer.offline import OfflineGrading, grade_evidence, ruler_for
from experiments.transfer.problems import FileRefusedError, Problem
from experiments.transfer.report_text import report_text
from experiments.transfer.suite_file import read_suite
from experiments.wire.corpus import MemoryCorpus

T = TypeVar("T")

GATE_FAILED = 100
REFUSED = 1
_SHOWN = 10


class Command(BaseCommand):
    """Exit codes: 0 the gate holds, 100 it fails, 1 refused or broken.

    The gate: something was judged, and no case FAILED or VARIED.
    """

    help = "Grade an evidence file by a suite and write the record JSON, without database or network."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("suite", type=Path, help="suite file (YAML or JSON)")
        parser.add_argument("evidence", type=Path, help="evidence file (JSONL)")
        parser.add_argument("--corpus", type=Path, help="corpus file (JSONL) for criteria that look ids up")
        parser.add_argument("--json", type=Path, dest="out", metavar="OUT", help="write the record here")
        parser.add_argument(
            "--settle",
            choices=[mode.value for mode in SettleMode],
            help="what settles an attempt; by default criteria when the suite has any, else the expectation",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # The record is UTF-8 whatever the terminal's locale says.
            sys.stdout.reconfigure(encoding="utf-8")
        try:
            code = self._grade(options)
        except (KeyboardInterrupt, asyncio.CancelledError):
            self._say("Stopped; nothing was written.")
            code = REFUSED
        except BrokenPipeError:
            # The reader has gone; a second error while Python closes standard output helps nobody.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = REFUSED
        if code:
            sys.exit(code)

    def _grade(self, options: dict[str, Any]) -> int:
        try:
            graded = self._graded(options)
        except (FileRefusedError, HooksError) as refused:
            self._say(str(refused))
            return REFUSED
        text, record = report_text(graded.record), graded.record.json_text()
        out: Path | None = options["out"]
        if out is None:
            self.stdout.write(record, ending="")
            self.stderr.write(text, ending="", style_func=str)
        else:
            try:
                write_whole(out, record)
            except OSError as broken:
                self._say(f"{out}: cannot be written: {broken.strerror}")
                return REFUSED
            self.stdout.write(text, ending="")
        self.stdout.flush()
        if not graded.gate_holds:
            nothing = not graded.record.report.judged
            self._say("Gate: nothing was judged." if nothing else "Gate: a case failed or varied.")
            return GATE_FAILED
        return 0

    def _graded(self, options: dict[str, Any]) -> OfflineGrading:
        """The grading; FileRefusedError with the problems of all files together."""
        hooks = load_hooks()
        problems: list[Problem] = []
        suite = _read(
            lambda path: read_suite(path, hooks.criteria, hooks.metrics), options["suite"], problems
        )
        evidence = _read(read_evidence, options["evidence"], problems)
        units = _read(read_corpus, options["corpus"], problems) if options["corpus"] else None
        if problems or suite is None or evidence is None:
            raise FileRefusedError(problems)
        for warning in suite.warnings:
            self._say(f"{warning}")
        mode = SettleMode(options["settle"]) if options["settle"] else None
        ruler = ruler_for(suite.document, hooks, mode)
        corpus = MemoryCorpus(units) if units is not None else None
        graded = asyncio.run(grade_evidence(suite.document, evidence, ruler, corpus, hooks.services))
        self._name("Fields of the evidence that mean nothing here", sorted(evidence.left_out))
        self._name("Evidence of no case in the suite, not graded", graded.unknown_cases)
        self._name("Cases of the suite without evidence", graded.without_evidence)
        return graded

    def _name(self, what: str, names: Sequence[str]) -> None:
        if names:
            shown = ", ".join(printable(name, 100) for name in names[:_SHOWN])
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            self._say(f"{what} ({len(names):,}): {shown}{more}")

    def _say(self, sentence: str) -> None:
        self.stderr.write(printable(sentence), style_func=str)


def _read(reader: Callable[[Path], T], path: Path, problems: list[Problem]) -> T | None:
    """What the reader finds in the file; its problems join the others'."""
    try:
        return reader(path)
    except FileRefusedError as refused:
        problems += refused.problems
        return None
