"""Files into the site and out of it: all or nothing, with every problem of a file at once."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.hooks import load_hooks
from experiments.mapping import case_of, criteria_of
from experiments.models import Case, Suite, User
from experiments.services.authoring import Imported, publish_corpus, publish_suite
from experiments.transfer.jsonl import read_corpus
from experiments.transfer.problems import FileRefusedError, Problem, file_name, problem
from experiments.transfer.suite_file import read_suite
from experiments.wire.suite import SuiteDocument, from_cases

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def import_suite(user: User | None, path: Path) -> tuple[Imported, tuple[Problem, ...]]:
    """Publish the suite in the file; what it changed, and what in the file is perhaps not meant.

    FileRefusedError with every problem, and nothing written, when it cannot be taken.
    """
    hooks = load_hooks()
    suite = read_suite(path, hooks.criteria, hooks.metrics)
    return publish_suite(user, suite.document), suite.warnings


def import_corpus(user: User | None, name: str, path: Path) -> Imported:
    """Publish the units in the file as the corpus ``name``; FileRefusedError, and nothing written, if not."""
    if not _NAME.fullmatch(name):
        said = f"cannot become the corpus {name}: a name is letters, digits, - and _, at most 100"
        raise FileRefusedError([problem(file_name(path), said)])
    return publish_corpus(user, name, read_corpus(path))


def suite_document(suite: Suite) -> SuiteDocument:
    """The suite as it stands, without archived cases; importing it again changes nothing."""
    cases = (
        Case.objects.filter(suite=suite, archived_at__isnull=True, current__isnull=False)
        .select_related("current")
        .order_by("position", "key")
    )
    rules = suite.current
    return from_cases(
        suite.name,
        (case_of(case.current) for case in cases if case.current),
        criteria=criteria_of(rules) if rules else (),
        pass_score=rules.pass_score if rules else 1.0,
        messages=rules.messages if rules else {},
    )
