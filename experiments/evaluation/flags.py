"""What a run's figures do not say by themselves: named flags, each with its figure and a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.outcome import SLACK
from experiments.evaluation.statistics import SWEEP_RATE, clean_sweep_floor, sweep_chance
from experiments.evaluation.text import percent, plural

MAX_WITHOUT_EVIDENCE = 0.10
MAX_UNDECIDED = 0.20
SATURATED = 0.85
LEAST_SWEEP_CHANCE = 0.01
_MORE_REPEATS = (20, 50, 100)


class Flag(FrozenModel):
    """`name` is stable, `figure` the number it rests on, `sentence` what it means."""

    name: str
    figure: float
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The figures flags are raised from; None is not known and raises none."""

    total: int
    judged: int
    without_evidence: int
    undecided: int
    scored: int = 0
    walked: int = 0
    seeded: int = 0
    cached: int = 0
    unknown_usage: int = 0
    judge_unknown_calls: int = 0
    busy_seconds: float = 0.0
    repeats: int | None = None
    clean_sweeps: int | None = None
    lanes: int | None = None
    wall_seconds: float | None = None
    human_reviews: int = 0


def flags_of(facts: Facts) -> tuple[Flag, ...]:
    """Every flag these figures raise, the failing clauses of `is_trustworthy` first."""
    return (
        *_distrust(facts),
        *_reachability(facts),
        *_repeats(facts),
        *_lanes(facts),
        *_judge(facts),
        *_usage(facts),
    )


def is_trustworthy(facts: Facts) -> bool:
    """Something was run and judged, at most 10% of it without evidence and at most 20% of that undecided."""
    return not any(_distrust(facts))


def _distrust(facts: Facts) -> Iterator[Flag]:
    if not facts.total:
        yield Flag(name="no attempts", figure=0, sentence="No attempt has ended: there is nothing to report.")
        return
    if not facts.judged:
        sentence = f"None of {plural(facts.total, 'attempt')} was judged: there is no pass rate."
        yield Flag(name="nothing judged", figure=0, sentence=sentence)
    lost = facts.without_evidence / facts.total
    if lost > MAX_WITHOUT_EVIDENCE + SLACK:
        sentence = (
            f"{facts.without_evidence:,} of {plural(facts.total, 'attempt')} ({percent(lost)}) say nothing "
            f"about the system; above {MAX_WITHOUT_EVIDENCE:.0%} the rate cannot be trusted."
        )
        yield Flag(name="without evidence", figure=lost, sentence=sentence)
    unsure = facts.undecided / facts.judged if facts.judged else 0.0
    if unsure > MAX_UNDECIDED + SLACK:
        sentence = (
            f"The judge would not commit on {facts.undecided:,} of {plural(facts.judged, 'judged attempt')} "
            f"({percent(unsure)}); above {MAX_UNDECIDED:.0%} the rate cannot be trusted."
        )
        yield Flag(name="undecided", figure=unsure, sentence=sentence)


def _reachability(facts: Facts) -> Iterator[Flag]:
    if not facts.judged:
        return
    if facts.seeded == facts.judged:
        sentence = "Every judged attempt began from a seeded state: nothing shows that a user can get there."
        yield Flag(name="entirely seeded", figure=facts.seeded, sentence=sentence)
    elif not facts.walked:
        sentence = "No judged attempt walked a path: no conversation was replayed before the graded turn."
        yield Flag(name="no path walked", figure=0, sentence=sentence)


def _repeats(facts: Facts) -> Iterator[Flag]:
    n = facts.repeats
    if not n or facts.clean_sweeps == 0:
        return
    floor = clean_sweep_floor(n)
    more = next((size for size in _MORE_REPEATS if size > n), None)
    then = f": {more} repeats show {clean_sweep_floor(more):.0%}" if more else ""
    sentence = f"{n} of {n} passed can still mean a true rate of {floor:.0%}{then} (one case, one-sided 95%)."
    yield Flag(name="clean sweep", figure=floor, sentence=sentence)
    chance = sweep_chance(n)
    if chance >= LEAST_SWEEP_CHANCE - SLACK:
        attempts = plural(n, "attempt")
        sentence = (
            f"A case that passes {SWEEP_RATE * 10:.0f} in 10 passes all {attempts} in {chance:.0%} of runs."
        )
        yield Flag(name="sweep by chance", figure=chance, sentence=sentence)


def _lanes(facts: Facts) -> Iterator[Flag]:
    if not facts.lanes or not facts.wall_seconds or not facts.total:
        return
    used = facts.busy_seconds / facts.wall_seconds / facts.lanes
    lanes = plural(facts.lanes, "lane was", "lanes were")
    if used >= SATURATED - SLACK:
        sentence = f"{lanes} busy {min(used, 1):.0%} of the time: more lanes would end the run sooner."
        yield Flag(name="lanes saturated", figure=used, sentence=sentence)
    else:
        sentence = f"{lanes} busy {used:.0%} of the time: more lanes would not end the run sooner."
        yield Flag(name="lanes not saturated", figure=used, sentence=sentence)


def _judge(facts: Facts) -> Iterator[Flag]:
    if facts.scored and not facts.human_reviews:
        sentence = "Agreement between the judge and people is unmeasured: no attempt was reviewed (n = 0)."
        yield Flag(name="judge agreement unmeasured", figure=0, sentence=sentence)


def _usage(facts: Facts) -> Iterator[Flag]:
    if facts.unknown_usage:
        turns = plural(facts.unknown_usage, "turn")
        sentence = f"Token totals of the system are a floor: {turns} reported no usage."
        yield Flag(name="token floor", figure=facts.unknown_usage, sentence=sentence)
    if facts.judge_unknown_calls:
        calls = plural(facts.judge_unknown_calls, "call")
        sentence = f"Token totals of the judge are a floor: {calls} reported no usage."
        yield Flag(name="judge token floor", figure=facts.judge_unknown_calls, sentence=sentence)
    if facts.cached:
        replies = plural(facts.cached, "reply", "replies")
        sentence = f"{replies} came from a cache: repeats of a case are then not independent."
        yield Flag(name="cached replies", figure=facts.cached, sentence=sentence)
