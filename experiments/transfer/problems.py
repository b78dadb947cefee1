"""What is wrong with a file: every problem with its file, line and path, all of them at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.evaluation.text import printable

Place = tuple[str | int, ...]
"""A place inside a document: ``("cases", 3, "sources", "required")``."""

MAX_PROBLEMS = 500
"""Problems listed for one file; whoever has more mends these first."""

_SENTENCE_LIMIT = 500


@dataclass(frozen=True)
class Problem:
    """One thing wrong. ``line`` counts from 1; ``path`` is empty for the file as a whole."""

    file: str
    line: int | None
    path: str
    sentence: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        said = f"{self.path}: {self.sentence}" if self.path else self.sentence
        return f"{where}: {said}"


class FileRefusedError(ValueError):
    """A file that cannot be taken as it is; nothing of it was. ``problems`` holds every reason."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def problem(file: str, sentence: str, *, line: int | None = None, path: Place = ()) -> Problem:
    """A problem whose texts can be shown anywhere, whatever the file held."""
    return Problem(printable(file, 300), line, path_text(path), printable(sentence, _SENTENCE_LIMIT))


def path_text(path: Place) -> str:
    """``cases[3].sources.required``"""
    said = ""
    for part in path:
        if isinstance(part, int):
            said += f"[{part}]"
        else:
            said += f".{printable(part, 80)}" if said else printable(part, 80)
    return said


def capped(problems: Sequence[Problem], file: str) -> list[Problem]:
    """At most MAX_PROBLEMS of them, with a last line that says there are more."""
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], problem(file, f"has more problems than these {MAX_PROBLEMS}")]


def file_name(path: Path) -> str:
    """How a file is named in problems: as the user wrote it."""
    return printable(str(path), 300)
