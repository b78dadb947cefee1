"""Why the attempts of one case differ, from stored evidence alone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.diagnosis import (
    Diagnosis,
    Rejudged,
    criteria_of,
    diagnose,
    expectation_of,
)
from experiments.evaluation.outcome import AttemptMark, CriterionStatus, EvaluationOutcome, Verdict
from experiments.evaluation.parting import Split, nearest_pair, normalised, reply_of, split_of
from experiments.evaluation.ports import CriterionGrader
from experiments.evaluation.results import AttemptResult
from experiments.evaluation.text import plural, printable

PREVIEW = 300
"""Characters of a distinct reply that are kept beside its attempts."""

PASS, FAIL = CriterionStatus.PASS, CriterionStatus.FAIL


class ReplyGroup(FrozenModel):
    """Attempts whose graded replies are the same, whitespace aside.

    `attempts` are their numbers, the first is the one to show ("same as 1"); `passed` and `failed` those of
    them that settled. `preview` is the normalised reply's beginning and `length` its characters; the evidence
    holds the reply itself.
    """

    attempts: tuple[int, ...]
    passed: tuple[int, ...]
    failed: tuple[int, ...]
    preview: str
    length: int

    @property
    def count(self) -> int:
        """How many attempts gave this reply."""
        return len(self.attempts)


class GridRow(FrozenModel):
    """One criterion over all attempts, in order of attempt number; None where it was not graded.

    `position` is its place in the list of criteria, from 0. It `flips` when it passed in one attempt and
    failed in another.
    """

    kind: str
    position: int
    statuses: tuple[CriterionStatus | None, ...]
    weight: float
    gate: bool
    flips: bool

    @property
    def decides(self) -> bool:
        """Whether it can settle an attempt: a weight of 0 without a gate only informs."""
        return self.weight > 0 or self.gate


class Flip(FrozenModel):
    """A criterion or an evaluator that gave both results, with the attempt numbers of each.

    Where no criterion gave both, it is one that failed in some attempts and was in error or not applicable in
    others: then `passed` is empty.
    """

    name: str
    is_criterion: bool
    passed: tuple[int, ...]
    failed: tuple[int, ...]


class Variation(FrozenModel):
    """What one case's attempts have in common and where they part.

    `attempts` are the attempt numbers in order, as the columns of `grid`, whose flipping rows come first.
    `replies` are the distinct ones in order of first attempt; `flips` come the deciding ones first. `pair` is
    the passing and the failing attempt with the nearest replies, to lay side by side, and `split` where these
    two part; both are None without evidence of either. `diagnosis` is None unless an attempt passed and
    another failed.
    """

    attempts: tuple[int, ...]
    replies: tuple[ReplyGroup, ...]
    grid: tuple[GridRow, ...]
    flips: tuple[Flip, ...]
    pair: tuple[int, int] | None
    split: Split | None
    diagnosis: Diagnosis | None

    @property
    def reply_counts(self) -> str:
        """The distinct replies in words: "3 distinct replies: ×3, ×1, ×1"."""
        if not self.replies:
            return "no replies"
        counts = sorted((group.count for group in self.replies), reverse=True)
        words = plural(len(counts), "distinct reply", "distinct replies")
        more = f" and {len(counts) - 8:,} more" if len(counts) > 8 else ""
        return f"{words}: {', '.join(f'×{count}' for count in counts[:8])}{more}"


def variation_of(
    attempts: Iterable[AttemptResult], registry: CriterionGrader, rejudged: Rejudged | None = None
) -> Variation:
    """What the attempts of one case tell about each other; they may come in any order.

    `registry` says which criterion kinds ask a judge. `rejudged` holds further results of the judge on the
    stored reply of an attempt, by attempt number.
    """
    ordered = normalised(attempts)
    passing = [attempt for attempt in ordered if attempt.mark is AttemptMark.passed]
    failing = [attempt for attempt in ordered if attempt.mark is AttemptMark.failed]
    grid = _grid(ordered)
    pair = nearest_pair(passing, failing)
    kinds = {row.kind for row in grid if row.kind in registry and "judge" in registry.needs(row.kind)}
    return Variation(
        attempts=tuple(attempt.number for attempt in ordered),
        replies=_replies(ordered),
        grid=grid,
        flips=_flips(ordered, grid),
        pair=(pair[0].number, pair[1].number) if pair else None,
        split=split_of(*pair) if pair else None,
        diagnosis=diagnose(ordered, judge_kinds=kinds, rejudged=rejudged or {}),
    )


def _replies(ordered: Sequence[AttemptResult]) -> tuple[ReplyGroup, ...]:
    groups: dict[str, list[AttemptResult]] = defaultdict(list)
    for attempt in ordered:
        if (reply := reply_of(attempt)) is not None:
            groups[reply].append(attempt)

    def marked(members: list[AttemptResult], mark: AttemptMark) -> tuple[int, ...]:
        return tuple(attempt.number for attempt in members if attempt.mark is mark)

    return tuple(
        ReplyGroup(
            attempts=tuple(attempt.number for attempt in members),
            passed=marked(members, AttemptMark.passed),
            failed=marked(members, AttemptMark.failed),
            preview=printable(reply, PREVIEW),
            length=len(reply),
        )
        for reply, members in groups.items()
    )


def _grid(ordered: Sequence[AttemptResult]) -> tuple[GridRow, ...]:
    """One row for each criterion any attempt was graded by: the nth of its kind, wherever it stood."""
    cells: dict[tuple[str, int], dict[int, Verdict]] = defaultdict(dict)
    positions: dict[tuple[str, int], int] = {}
    for column, attempt in enumerate(ordered):
        verdicts = attempt.result.verdicts if attempt.result else ()
        named = criteria_of(attempt.result) if attempt.result else iter(())
        for position, (verdict, (kind, which, *_)) in enumerate(zip(verdicts, named, strict=True)):
            cells[kind, which][column] = verdict
            positions.setdefault((kind, which), position)
    rows = []
    for key, verdicts_at in cells.items():
        found = [verdicts_at.get(column) for column in range(len(ordered))]
        statuses = tuple(verdict.status if verdict else None for verdict in found)
        rows.append(
            GridRow(
                kind=key[0],
                position=positions[key],
                statuses=statuses,
                weight=max(verdict.weight for verdict in verdicts_at.values()),
                gate=any(verdict.gate for verdict in verdicts_at.values()),
                flips=PASS in statuses and FAIL in statuses,
            )
        )
    return tuple(sorted(rows, key=lambda row: (not row.flips, not row.decides, row.position, row.kind)))


def _flips(ordered: Sequence[AttemptResult], grid: Sequence[GridRow]) -> tuple[Flip, ...]:
    evaluator = list(_evaluator(ordered))
    flipped = [row for row in grid if row.flips]
    if not evaluator and not any(row.decides for row in flipped):
        flipped += [
            row for row in grid if row.decides and FAIL in row.statuses and len(set(row.statuses)) > 1
        ]
    criteria = [
        (row.decides, Flip(name=row.kind, is_criterion=True, passed=passed, failed=failed))
        for row in flipped
        for passed, failed in [_columns(row, ordered)]
    ]
    deciding = [flip for decides, flip in criteria if decides]
    informing = [flip for decides, flip in criteria if not decides]
    return (*evaluator, *deciding, *informing)


def _columns(row: GridRow, ordered: Sequence[AttemptResult]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pairs = list(zip(row.statuses, ordered, strict=True))
    return (
        tuple(attempt.number for status, attempt in pairs if status is PASS),
        tuple(attempt.number for status, attempt in pairs if status is FAIL),
    )


def _evaluator(ordered: Sequence[AttemptResult]) -> Iterator[Flip]:
    """The evaluator of the case's expectation, when it called some attempts passed and others failed."""
    called = []
    for attempt in ordered:
        part = expectation_of(attempt.result) if attempt.result else None
        if part is not None and part.outcome is EvaluationOutcome.VERDICT:
            called.append((attempt.number, part.passed, part.evaluator))
    passed = tuple(number for number, passes, _ in called if passes)
    failed = tuple(number for number, passes, _ in called if not passes)
    if passed and failed:
        yield Flip(name=called[0][2], is_criterion=False, passed=passed, failed=failed)
