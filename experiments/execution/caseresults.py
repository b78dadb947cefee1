"""A case's row in a grading, computed from its attempts: never incremented, so that it cannot drift.

`recompute` first locks the rows in order of id and reads the attempts in later statements. Under READ
COMMITTED each statement sees what was committed before it began: of two groups that finish attempts of one
case, whoever gets the lock second reads the other's attempt as well.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from experiments.evaluation import AttemptMark, Cause, EvalCase, EvaluationOutcome, SettledBy, collapse
from experiments.execution import sql
from experiments.mapping import search_of
from experiments.models import CaseCriterion

CaseOf = Callable[[int], EvalCase]
"""The case of a case version's id."""

REASON_LIMIT = 2000
"""Characters of a reason that a list keeps; the whole of it is in the result."""

LETTERS = {
    "P": AttemptMark.passed,
    "F": AttemptMark.failed,
    "U": AttemptMark.undecided,
    "I": AttemptMark.inconclusive,
    "E": AttemptMark.evaluator_failed,
    "S": AttemptMark.not_reached,
    "N": AttemptMark.not_reached,
}
_OUTCOME_LETTERS = {
    EvaluationOutcome.UNDECIDED.value: "U",
    EvaluationOutcome.INCONCLUSIVE.value: "I",
    EvaluationOutcome.FAILED.value: "E",
}
COUNTS = ("passed", "failed", "undecided", "inconclusive", "evaluator_failed", "setup_failed", "no_reply")
"""The columns of a case result that count its attempts by how they ended."""
_TOLD_FIRST = "FUIESNP"
"""Whose reason a list shows: the first failed attempt's; without one the first undecided one's, and so on."""


class DoneAttempt(NamedTuple):
    """What a case's row needs of one finished attempt; the last six are None when it was not reached."""

    case_id: int
    number: int
    failure_cause: str
    failure_detail: str
    seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    outcome: str | None
    passed: bool | None
    settled_by: str | None
    evaluator: str | None
    reason: str | None

    @property
    def letter(self) -> str:
        """Its letter in the strip (see `CaseResult.strip`)."""
        if self.outcome is None:
            return "S" if self.failure_cause == Cause.SETUP_FAILED.value else "N"
        if self.outcome == EvaluationOutcome.VERDICT.value:
            return "P" if self.passed else "F"
        return _OUTCOME_LETTERS[self.outcome]


class CriterionCount(NamedTuple):
    """How one criterion went over a case's attempts."""

    case_id: int
    position: int
    kind: str
    passes: int
    fails: int
    errors: int
    not_applicable: int


class CaseRow(NamedTuple):
    """A case result as it stands, locked."""

    id: int
    case_id: int
    graded_version_id: int
    requested: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The columns of a case result that attempts decide."""

    verdict: str = ""
    passed: int = 0
    failed: int = 0
    undecided: int = 0
    inconclusive: int = 0
    evaluator_failed: int = 0
    setup_failed: int = 0
    no_reply: int = 0
    strip: str = ""
    settled_by: str = ""
    decided_by: str = ""
    reason: str = ""
    mean_seconds: float | None = None
    tokens: int | None = None
    search: str = ""


def figures_of(
    requested: int, done: Sequence[DoneAttempt], criteria: Sequence[CriterionCount], case: EvalCase
) -> Figures:
    """What a case's row says when exactly the attempts `done` are in. Their order means nothing."""
    letters = {attempt.number: attempt.letter for attempt in done}
    strip = "".join(letters.get(number, ".") for number in range(1, max([requested, *letters]) + 1))
    if not done:
        return Figures(strip=strip, search=search_of(case))
    count = Counter(letters.values())
    told = min(done, key=lambda attempt: (_TOLD_FIRST.index(attempt.letter), attempt.number))
    graded = told if told.settled_by else next((a for a in done if a.settled_by), told)
    reason = (told.reason if told.outcome else told.failure_detail) or ""
    seconds = [attempt.seconds for attempt in done if attempt.seconds is not None]
    used = [n for a in done for n in (a.prompt_tokens, a.completion_tokens) if n is not None]
    return Figures(
        verdict=collapse(LETTERS[letter] for letter in count).value,
        passed=count["P"],
        failed=count["F"],
        undecided=count["U"],
        inconclusive=count["I"],
        evaluator_failed=count["E"],
        setup_failed=count["S"],
        no_reply=count["N"],
        strip=strip,
        settled_by=graded.settled_by or "",
        decided_by=_decided_by(graded, criteria),
        reason=reason,
        mean_seconds=math.fsum(seconds) / len(seconds) if seconds else None,
        tokens=sum(used) if used else None,
        search=search_of(case, reason),
    )


def _decided_by(graded: DoneAttempt, criteria: Sequence[CriterionCount]) -> str:
    """The evaluator that settled it; under criteria the first one that failed an attempt."""
    if graded.settled_by == SettledBy.criteria.value:
        return next((criterion.kind for criterion in criteria if criterion.fails), graded.evaluator or "")
    return graded.evaluator or ""


def recompute(
    run_id: int, grading_id: int, case_ids: Iterable[int], case_of: CaseOf
) -> list[tuple[str, str]]:
    """Bring the rows of these cases up to date with their attempts, inside the caller's transaction: the
    verdicts before and after, a pair for each row."""
    cases = sorted(set(case_ids))
    if not cases:
        return []
    locked = _lock(grading_id, cases)
    done, criteria = read_attempts(run_id, grading_id, cases), read_criteria(run_id, grading_id, cases)
    after = [
        figures_of(row.requested, done[row.case_id], criteria[row.case_id], case_of(row.graded_version_id))
        for row in locked
    ]
    _write(locked, after)
    _write_criteria(locked, criteria)
    return [(row.verdict, figures.verdict) for row, figures in zip(locked, after, strict=True)]


def _lock(grading_id: int, cases: Sequence[int]) -> list[CaseRow]:
    found, params = sql.each_case("experiments_caseresult", f"grading_id = {grading_id:d}", cases)
    ids = [row[0] for row in sql.fetch(f"SELECT c.id FROM {found} c", params)]
    if not ids:
        return []
    rows = sql.fetch(
        "SELECT c.id, c.case_id, c.graded_version_id, c.requested, c.verdict FROM experiments_caseresult c"
        f" WHERE c.id IN ({sql.marks(ids)}) ORDER BY c.id {sql.dialect().no_key_update.format('c')}",
        ids,
    )
    return [CaseRow(*row) for row in rows]


def _done_attempts(run_id: int, cases: Sequence[int]) -> tuple[str, list[object]]:
    return sql.each_case("experiments_attempt", f"run_id = {run_id:d} AND counts AND state = 'done'", cases)


def read_attempts(run_id: int, grading_id: int, cases: Sequence[int]) -> dict[int, list[DoneAttempt]]:
    """The finished attempts that count, by case id, in order of number."""
    found: defaultdict[int, list[DoneAttempt]] = defaultdict(list)
    attempts, params = _done_attempts(run_id, cases)
    for row in sql.fetch(
        f"""
        SELECT a.case_id, a.number, a.failure_cause, substr(a.failure_detail, 1, {REASON_LIMIT}),
            a.seconds, a.prompt_tokens, a.completion_tokens,
            r.outcome, r.passed, r.settled_by, r.evaluator, substr(r.reason, 1, {REASON_LIMIT})
        FROM {attempts} a
        LEFT JOIN experiments_result r ON r.attempt_id = a.id AND r.grading_id = %s
        ORDER BY a.case_id, a.number
        """,
        [*params, grading_id],
    ):
        found[row[0]].append(DoneAttempt(*row))
    return found


def read_criteria(run_id: int, grading_id: int, cases: Sequence[int]) -> dict[int, list[CriterionCount]]:
    """How each criterion went over the finished attempts that count, by case id, in order of position."""
    found: defaultdict[int, list[CriterionCount]] = defaultdict(list)
    attempts, params = _done_attempts(run_id, cases)
    for row in sql.fetch(
        f"""
        SELECT a.case_id, v.position, min(v.kind),
            count(*) FILTER (WHERE v.status = 'pass'), count(*) FILTER (WHERE v.status = 'fail'),
            count(*) FILTER (WHERE v.status = 'error'), count(*) FILTER (WHERE v.status = 'not_applicable')
        FROM {attempts} a
        JOIN experiments_result r ON r.attempt_id = a.id AND r.grading_id = %s
        JOIN experiments_criterionverdict v ON v.result_id = r.id
        GROUP BY a.case_id, v.position ORDER BY a.case_id, v.position
        """,
        [*params, grading_id],
    ):
        found[row[0]].append(CriterionCount(*row))
    return found


_FIGURES = (
    ("id", "bigint"),
    *((name, "text") for name in ("verdict", "strip", "settled_by", "decided_by", "reason", "search")),
    *((name, "integer") for name in COUNTS),
    ("mean_seconds", "double precision"),
    ("tokens", "bigint"),
)


def _write(locked: Sequence[CaseRow], after: Sequence[Figures]) -> None:
    if not locked:
        return
    names = [name for name, _ in _FIGURES]
    query, params = sql.source(
        _FIGURES,
        [
            (row.id, *(getattr(figures, name) for name in names[1:]))
            for row, figures in zip(locked, after, strict=True)
        ],
    )
    named, ids = sql.named("experiments_caseresult.id", [row.id for row in locked])
    sql.execute(
        f"WITH v({', '.join(names)}) AS ({query}) UPDATE experiments_caseresult"
        f" SET {', '.join(f'{name} = v.{name}' for name in names[1:])} FROM v"
        f" WHERE experiments_caseresult.id = v.id AND {named}",
        [*params, *ids],
    )


def _write_criteria(locked: Sequence[CaseRow], criteria: dict[int, list[CriterionCount]]) -> None:
    sql.insert(
        CaseCriterion,
        [
            {
                "case_result_id": row.id,
                "position": counted.position,
                "kind": counted.kind,
                "passes": counted.passes,
                "fails": counted.fails,
                "errors": counted.errors,
                "not_applicable": counted.not_applicable,
            }
            for row in locked
            for counted in criteria[row.case_id]
        ],
        conflict="ON CONFLICT (case_result_id, position) DO UPDATE SET kind = excluded.kind,"
        " passes = excluded.passes, fails = excluded.fails, errors = excluded.errors,"
        " not_applicable = excluded.not_applicable",
    )
