"""JSONL files of evidence and corpora: every line checked, every problem at once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Failure
from experiments.evaluation.ports import CorpusUnit
from experiments.transfer.problems import (
    MAX_PROBLEMS,
    FileRefusedError,
    Place,
    Problem,
    capped,
    file_name,
    problem,
)
from experiments.transfer.reading import read_lines
from experiments.transfer.suite_file import shape_sentence
from experiments.wire.body import BodyError, read_json
from experiments.wire.corpus import UnitLine, corpus_findings
from experiments.wire.evidence import EvidenceLine

Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True)
class RecordedAttempt:
    """One attempt of an evidence file: what it left, and the failure it ended with if it did."""

    case: str
    number: int
    evidence: Evidence
    failure: Failure | None


@dataclass(frozen=True)
class EvidenceFile:
    """The attempts of a file in its order; ``left_out`` counts, by name, fields that mean nothing to us."""

    attempts: tuple[RecordedAttempt, ...]
    left_out: Mapping[str, int]


def read_evidence(path: Path) -> EvidenceFile:
    """Every attempt in the file; FileRefusedError with every line that cannot be taken."""
    name, problems = file_name(path), list[Problem]()
    attempts: list[RecordedAttempt] = []
    left_out: Counter[str] = Counter()
    first: dict[tuple[str, int], int] = {}
    for number, line in _lines(path, EvidenceLine, problems):
        key = (line.case, line.attempt)
        if first.setdefault(key, number) != number:
            said = f"attempt {line.attempt} of case {line.case} stands in line {first[key]} already"
            problems.append(problem(name, said, line=number, path=("attempt",)))
            continue
        left_out.update(set(line.left_out()))
        attempts.append(RecordedAttempt(line.case, line.attempt, line.evidence(), line.attempt_failure()))
    _refuse_if_any(problems, name)
    if not attempts:
        raise FileRefusedError([problem(name, "is empty")])
    return EvidenceFile(tuple(attempts), left_out)


def read_corpus(path: Path) -> tuple[CorpusUnit, ...]:
    """The units in the file, in its order; FileRefusedError with every problem."""
    name, problems = file_name(path), list[Problem]()
    units: dict[int, CorpusUnit] = {number: line.value() for number, line in _lines(path, UnitLine, problems)}
    if not problems:
        # Only among whole units: a unit on a refused line would be missed as a parent too.
        problems += [
            problem(name, sentence, line=line, path=(field,))
            for line, field, sentence in corpus_findings(units)
        ]
    _refuse_if_any(problems, name)
    if not units:
        raise FileRefusedError([problem(name, "is empty")])
    return tuple(units.values())


def _refuse_if_any(problems: list[Problem], name: str) -> None:
    if problems:
        raise FileRefusedError(capped(sorted(problems, key=lambda one: one.line or 0), name))


def _lines(path: Path, model: type[Line], problems: list[Problem]) -> Iterator[tuple[int, Line]]:
    """The lines that are right, with their numbers; what is wrong with the others goes into ``problems``."""
    name = file_name(path)
    for number, text in read_lines(path):
        if isinstance(text, Problem):
            problems.append(text)
            continue
        try:
            value = read_json(text)
            if not isinstance(value, dict):
                raise BodyError("is not a JSON object")
            yield number, model.model_validate(value)
        except BodyError as broken:
            problems.append(problem(name, f"the line {broken}", line=number))
        except ValidationError as refused:
            for details in refused.errors(include_url=False):
                place: Place = tuple(details["loc"])
                problems.append(problem(name, shape_sentence(details), line=number, path=place))
        if len(problems) > 2 * MAX_PROBLEMS:
            return
