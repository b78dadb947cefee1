"""The source of a difference between attempts of one case: judge, infrastructure, system or not diagnosed."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import (
    AttemptMark,
    CriterionStatus,
    EvaluationOutcome,
    EvaluationResult,
    SettledBy,
)
from experiments.evaluation.parting import cited_by, reply_of
from experiments.evaluation.results import AttemptResult
from experiments.evaluation.text import is_blank, plural, printable, squeeze, to_json


class Source(StrEnum):
    """Where a difference between passing and failing attempts comes from, in order of precedence."""

    judge = "judge"
    infrastructure = "infrastructure"
    system = "system"
    not_diagnosed = "not diagnosed"


class Diagnosis(FrozenModel):
    """The source of the difference, and the evidence for it in one sentence."""

    source: Source
    sentence: str


Rejudged = Mapping[int, Sequence[EvaluationResult]]
"""Results of judging an attempt's stored reply again, by attempt number."""


def diagnose(
    attempts: Sequence[AttemptResult], *, judge_kinds: Collection[str], rejudged: Rejudged
) -> Diagnosis | None:
    """Why some attempts (`parting.normalised`) passed and others failed; None unless both happened.

    In this precedence: the same reply got both results from a judge; recorded failures stand on one side
    only; what the system gave differs; else it is not diagnosed. `judge_kinds` are the criterion kinds that
    ask a judge.
    """
    passing = [attempt for attempt in attempts if attempt.mark is AttemptMark.passed]
    failing = [attempt for attempt in attempts if attempt.mark is AttemptMark.failed]
    if not (passing and failing):
        return None
    said = _by_judge(attempts, judge_kinds, {}) or _by_judge(attempts, judge_kinds, rejudged)
    if said:
        return Diagnosis(source=Source.judge, sentence=said)
    if said := _by_failures(passing, failing):
        return Diagnosis(source=Source.infrastructure, sentence=said)
    settled = [attempt for attempt in attempts if attempt.mark in (AttemptMark.passed, AttemptMark.failed)]
    if said := _by_system(settled):
        steady = _steady(attempts, judge_kinds, rejudged)
        return Diagnosis(source=Source.system, sentence=f"{said}{steady}")
    return Diagnosis(source=Source.not_diagnosed, sentence=_nothing(settled))


def expectation_of(result: EvaluationResult) -> EvaluationResult | None:
    """The part of a result that the case's expectation settled, in any mode; None when it had none."""
    if result.expectation is not None:
        return result.expectation
    return None if result.settled_by is SettledBy.criteria else result


def criteria_of(result: EvaluationResult) -> Iterator[tuple[str, int, CriterionStatus, bool]]:
    """(kind, which of that kind, status, whether it can settle anything) of each criterion, in order."""
    seen: dict[str, int] = defaultdict(int)
    for verdict in result.verdicts:
        seen[verdict.kind] += 1
        yield verdict.kind, seen[verdict.kind], verdict.status, verdict.weight > 0 or verdict.gate


_Voices = dict[tuple[str, int], bool]


class _Said(NamedTuple):
    """One call of a judge: on which attempt, what it said, and the hash of its prompt where it is known."""

    attempt: int
    passed: bool
    prompt: str


def _voices(result: EvaluationResult, judge_kinds: Collection[str]) -> _Voices:
    """What each judge-graded evaluator that can settle anything said: passed or failed."""
    found: _Voices = {}
    part = expectation_of(result)
    if part is not None and part.settled_by is SettledBy.judge and part.outcome is EvaluationOutcome.VERDICT:
        found[part.evaluator, 0] = part.passed
    for kind, which, status, counts in criteria_of(result):
        if counts and kind in judge_kinds and status in (CriterionStatus.PASS, CriterionStatus.FAIL):
            found[kind, which] = status is CriterionStatus.PASS
    return found


def _heard(
    attempts: Sequence[AttemptResult], judge_kinds: Collection[str], rejudged: Rejudged
) -> Iterator[tuple[str, list[_Said]]]:
    """For each reply and each judge: its name, and what was heard of it every time it was asked."""
    heard: dict[tuple[str, tuple[str, int]], list[_Said]] = defaultdict(list)
    for attempt in attempts:
        reply = reply_of(attempt)
        if reply is None or attempt.result is None:
            continue
        for result in (attempt.result, *rejudged.get(attempt.number, ())):
            for judge, passed in _voices(result, judge_kinds).items():
                prompt = result.judge_use.prompt_hash if result.judge_use and not judge[1] else ""
                heard[reply, judge].append(_Said(attempt.number, passed, prompt))
    for (_, (name, _)), said in heard.items():
        yield name, said


def _by_judge(attempts: Sequence[AttemptResult], judge_kinds: Collection[str], rejudged: Rejudged) -> str:
    for name, said in _heard(attempts, judge_kinds, rejudged):
        if len({one.passed for one in said}) < 2:
            continue
        judge = printable(name, 100)
        # The prompt also holds the citations and the earlier turns.
        shown = len({one.prompt for one in said if one.prompt}) > 1
        beside = " It was shown other citations or earlier turns with it." if shown else ""
        if rejudged:
            asked = {one.attempt for one in said}
            passes = f"{sum(one.passed for one in said):,} of {plural(len(said), 'time')}"
            return f"Judged again by {judge}, the same reply ({numbers(asked)}) passed {passes}.{beside}"
        sides = [numbers({one.attempt for one in said if one.passed is wanted}) for wanted in (True, False)]
        return (
            f"{judge} gave the same reply both results: passed in {sides[0]}, failed in {sides[1]}.{beside}"
        )
    return ""


def _steady(attempts: Sequence[AttemptResult], judge_kinds: Collection[str], rejudged: Rejudged) -> str:
    """What supports that it is not the judge: replies it was asked about more than once."""
    again = [said for _, said in _heard(attempts, judge_kinds, rejudged) if len(said) > 1]
    if not again:
        return ""
    times = plural(sum(len(said) - 1 for said in again), "time")
    return f" The judge is steady: asked about a reply again {times}, it never changed its result."


def _by_failures(passing: Sequence[AttemptResult], failing: Sequence[AttemptResult]) -> str:
    """A call that was made again and then answered left no failure; a turn that records one did."""
    sides = [[attempt for attempt in side if _failure(attempt.evidence)] for side in (passing, failing)]
    if bool(sides[0]) == bool(sides[1]):
        return ""
    (side, troubled), words, others = (
        ((passing, sides[0]), "passing", "failing")
        if sides[0]
        else ((failing, sides[1]), "failing", "passing")
    )
    first = troubled[0]
    return (
        f"{len(troubled):,} of {plural(len(side), f'{words} attempt')} recorded a failure or a time-out, no "
        f"{others} one did (attempt {first.number}: “{printable(_failure(first.evidence), 120)}”)."
    )


def _failure(evidence: Evidence | None) -> str:
    """The first failure any turn recorded; empty when none did."""
    failures = (turn.failure for turn in (evidence.turns if evidence else ()))
    return next((squeeze(failure[:400]) for failure in failures if failure and not is_blank(failure)), "")


_ASPECTS: tuple[tuple[str, Callable[[Evidence], Any]], ...] = (
    ("citations differ", lambda e: cited_by(e.turns[-1]) if e.turns else None),
    ("earlier turns differ", lambda e: [(t.reply, cited_by(t)) for t in e.turns[:-1]]),
    ("token usage differs", lambda e: _usage(e)),
    ("retrieved context differs", lambda e: e.context),
    (
        "tool calls differ",
        lambda e: None if e.tools_called is None else to_json([c.model_dump() for c in e.tools_called]),
    ),
    ("spec nodes differ", lambda e: e.node or ""),
    ("refusal codes differ", lambda e: e.refusal_code or ""),
    ("end states differ", lambda e: to_json(e.end_state)),
)
"""What a target gives beside the text of its reply; None is not recorded, which is no difference.

Durations are not among it: they always differ.
"""


def _usage(evidence: Evidence) -> list[tuple[int, int]] | None:
    """Tokens in and out of each turn; None when any turn reported none."""
    used = [
        (turn.prompt_tokens, turn.completion_tokens)
        for turn in evidence.turns
        if turn.prompt_tokens is not None and turn.completion_tokens is not None
    ]
    return used if len(used) == len(evidence.turns) else None


def _by_system(settled: Sequence[AttemptResult]) -> str:
    replies = {key for attempt in settled if (key := reply_of(attempt)) is not None}
    if len(replies) > 1:
        return f"Replies differ: {len(replies):,} distinct in {plural(len(settled), 'settled attempt')}."
    known = [attempt.evidence for attempt in settled if attempt.evidence is not None]
    for words, aspect in _ASPECTS:
        values = [value for evidence in known if (value := aspect(evidence)) is not None]
        if any(value != values[0] for value in values):
            return f"The replies are the same, but their {words}."
    return ""


def _nothing(settled: Sequence[AttemptResult]) -> str:
    missing = [attempt.number for attempt in settled if attempt.evidence is None]
    if missing:
        return f"There is no evidence of {numbers(missing)} any more, and what is left does not tell."
    return "Everything recorded but durations is the same on both sides: nothing tells why they differ."


def numbers(attempts: Collection[int], most: int = 8) -> str:
    """Attempt numbers in words: "attempt 2", "attempts 1, 3 and 5"."""
    shown = [f"{number:,}" for number in sorted(attempts)[:most]]
    if len(attempts) > most:
        shown = [*shown, f"{len(attempts) - most:,} more"]
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)
    return f"attempt{'s' if len(attempts) != 1 else ''} {listed}"
