"""Why the attempts of one case differ: what the case page shows above the attempts themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.evaluation import AttemptMark, percent
from experiments.evaluation.results import AttemptResult
from experiments.evaluation.statistics import wilson95
from experiments.evaluation.variation import ReplyGroup, Variation, variation_of
from experiments.hooks import load_hooks
from experiments.selectors.differing import Difference, difference

JUDGED = (AttemptMark.passed, AttemptMark.failed, AttemptMark.undecided)


@dataclass(frozen=True, slots=True)
class AttemptLink:
    """One line of the list of attempts.

    `same_as`: the earlier attempt that gave the same reply, None when this is the first of its kind; `times`:
    how many gave it.
    """

    number: int
    letter: str
    seconds: float | None
    tokens: int | None
    same_as: int | None
    times: int
    is_left: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One criterion in one attempt; an empty status when it was not graded."""

    number: int
    status: str


@dataclass(frozen=True, slots=True)
class GridLine:
    kind: str
    cells: tuple[Cell, ...]
    flips: bool
    decides: bool


@dataclass(frozen=True, slots=True)
class Cited:
    """A source one side cites; `only` when the other side does not."""

    id: str
    only: bool


@dataclass(frozen=True, slots=True)
class VariedView:
    """What stands above the attempts.

    `range` is the interval of the true pass rate in words, "" when nothing was judged. `source` and `why` are
    the diagnosis, "" unless attempts both passed and failed. `difference` is of the replies of the attempts
    `left` and `right`; None when one of them has none.
    """

    replies: str
    range: str
    source: str
    why: str
    split: str
    flips: tuple[str, ...]
    attempts: tuple[AttemptLink, ...]
    grid: tuple[GridLine, ...]
    left: int | None
    right: int | None
    difference: Difference | None
    left_cites: tuple[Cited, ...]
    right_cites: tuple[Cited, ...]


def varied_view(
    attempts: Sequence[AttemptResult],
    letters: str,
    tokens: Sequence[int | None],
    chosen: tuple[int | None, int | None],
) -> VariedView | None:
    """What the attempts (in order of number, with their letters and tokens) tell about each other; None for
    fewer than two. `chosen` are the attempts to set side by side; by default a passing and a failing one with
    the nearest replies, else the first two that differ."""
    if len(attempts) < 2:
        return None
    found = variation_of(attempts, load_hooks().criteria)
    left, right = _sides(found, chosen)
    replies = {attempt.number: _reply(attempt) for attempt in attempts}
    cites = {attempt.number: _cites(attempt) for attempt in attempts}
    here, there = replies.get(left or 0), replies.get(right or 0)
    same = {number: group for group in found.replies for number in group.attempts}
    return VariedView(
        replies=found.reply_counts,
        range=_range(attempts),
        source=found.diagnosis.source.value if found.diagnosis else "",
        why=found.diagnosis.sentence if found.diagnosis else "",
        split=found.split.sentence if found.split else "",
        flips=tuple(flip.name for flip in found.flips),
        attempts=tuple(
            AttemptLink(
                number=attempt.number,
                letter=letter,
                seconds=attempt.seconds,
                tokens=used,
                same_as=_same_as(same, attempt.number),
                times=same[attempt.number].count if attempt.number in same else 0,
                is_left=attempt.number == left,
                is_right=attempt.number == right,
            )
            for attempt, letter, used in zip(attempts, letters, tokens, strict=True)
        ),
        grid=tuple(
            GridLine(
                row.kind,
                tuple(
                    Cell(number, status.value if status else "")
                    for number, status in zip(found.attempts, row.statuses, strict=True)
                ),
                row.flips,
                row.decides,
            )
            for row in found.grid
        ),
        left=left,
        right=right,
        difference=None if here is None or there is None else difference(here, there),
        left_cites=_cited(cites.get(left or 0, ()), cites.get(right or 0, ())),
        right_cites=_cited(cites.get(right or 0, ()), cites.get(left or 0, ())),
    )


def _sides(found: Variation, chosen: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    firsts = [group.attempts[0] for group in found.replies]
    default = found.pair or (firsts[0] if firsts else None, firsts[1] if len(firsts) > 1 else None)
    left = chosen[0] if chosen[0] in found.attempts else default[0]
    right = chosen[1] if chosen[1] in found.attempts else default[1]
    if right is None:
        right = next((number for number in found.attempts if number != left), None)
    return left, right


def _reply(attempt: AttemptResult) -> str | None:
    return attempt.evidence.reply if attempt.evidence else None


def _cites(attempt: AttemptResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.id for each in attempt.evidence.citations)) if attempt.evidence else ()


def _cited(mine: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[Cited, ...]:
    return tuple(Cited(each, each not in theirs) for each in mine)


def _same_as(groups: dict[int, ReplyGroup], number: int) -> int | None:
    group = groups.get(number)
    return None if group is None or group.attempts[0] == number else group.attempts[0]


def _range(attempts: Sequence[AttemptResult]) -> str:
    judged = [attempt.mark for attempt in attempts if attempt.mark in JUDGED]
    if not judged:
        return ""
    low, high = wilson95(judged.count(AttemptMark.passed), len(judged))
    return f"{percent(low, 0)} and {percent(high, 0)}"
