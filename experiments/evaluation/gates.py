"""What must hold for a run to be accepted: pure gates, each with a sentence. Pages, API and CLI read them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.collapse import CaseVerdict
from experiments.evaluation.comparing import CaseAggregate, Conclusion, RunComparison
from experiments.evaluation.outcome import reaches
from experiments.evaluation.report import AttemptCounts
from experiments.evaluation.text import percent, plural, printable

_NAMED = 5

Share = Annotated[float, Field(ge=0, le=1)]


class CasesGate(FrozenModel):
    """No case FAILED or VARIED. The gate when none is named."""

    kind: Literal["cases"] = "cases"


class RateGate(FrozenModel):
    """Passed / judged attempts is at least this share."""

    kind: Literal["rate"] = "rate"
    at_least: Share


class CoverageGate(FrozenModel):
    """Judged / planned attempts is at least this share."""

    kind: Literal["coverage"] = "coverage"
    at_least: Share


class KOfNGate(FrozenModel):
    """Every case passes at least `k` of `n` attempts; of another number of attempts, at least that share."""

    kind: Literal["k_of_n"] = "k_of_n"
    k: Annotated[int, Field(ge=1)]
    n: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.k > self.n:
            raise ValueError(f"no case passes {self.k} of {self.n} attempts")
        return self


class CriticalTagsGate(FrozenModel):
    """Every case that carries any of these tags is PASSED, and each tag stands on a case."""

    kind: Literal["critical_tags"] = "critical_tags"
    tags: Annotated[tuple[str, ...], Field(min_length=1)]


class RegressionGate(FrozenModel):
    """The comparison with the baseline is allowed and states no regression."""

    kind: Literal["regression"] = "regression"


class CostGate(FrozenModel):
    """The run, judge included, cost at most this much in the currency of its prices."""

    kind: Literal["cost"] = "cost"
    at_most: Annotated[float, Field(ge=0, allow_inf_nan=False)]


RunGate = Annotated[
    CasesGate | RateGate | CoverageGate | KOfNGate | CriticalTagsGate | RegressionGate | CostGate,
    Field(discriminator="kind"),
]
"""Any gate, as stored or sent: told apart by `kind`."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run cost. `unknown_calls` reported no usage, so that the amount is a floor when above 0."""

    amount: float
    currency: str = ""
    unknown_calls: int = 0


@dataclass(frozen=True, kw_only=True)
class GateFacts:
    """What gates are checked against.

    `planned` counts the attempts of the run, also those that have not ended. `tags` maps a case id to its
    tags. `comparison` is the run (B) against its baseline (A); `cost` None means that no price is set.
    """

    counts: AttemptCounts
    cases: Sequence[CaseAggregate]
    planned: int
    tags: Mapping[str, Iterable[str]] | None = None
    comparison: RunComparison | None = None
    cost: Cost | None = None


class GateOutcome(FrozenModel):
    """Whether one gate holds, and why in a sentence. `figure` is the number it rests on, None without one."""

    kind: str
    holds: bool
    figure: float | None
    sentence: str


def default_gate() -> tuple[RunGate, ...]:
    """The gates of a run that names none: no FAILED and no VARIED case."""
    return (CasesGate(),)


def check_gates(gates: Sequence[RunGate], facts: GateFacts) -> tuple[GateOutcome, ...]:
    """The outcome of each gate, in order; of the default gate when none is named.

    A run in which nothing was judged never holds: that outcome (kind `judged`) then stands first.
    """
    outcomes = [_check(gate, facts) for gate in gates or default_gate()]
    if not facts.counts.judged:
        attempts = plural(facts.planned, "planned attempt")
        outcomes.insert(0, _outcome("judged", False, 0, f"Nothing was judged of {attempts}."))
    return tuple(outcomes)


def all_hold(outcomes: Iterable[GateOutcome]) -> bool:
    """Whether every gate holds."""
    return all(outcome.holds for outcome in outcomes)


def _check(gate: RunGate, facts: GateFacts) -> GateOutcome:
    match gate:
        case CasesGate():
            return _cases(facts)
        case RateGate():
            return _rate(gate, facts)
        case CoverageGate():
            return _coverage(gate, facts)
        case KOfNGate():
            return _k_of_n(gate, facts)
        case CriticalTagsGate():
            return _critical(gate, facts)
        case RegressionGate():
            return _regression(facts)
        case CostGate():
            return _cost(gate, facts)


def _outcome(kind: str, holds: bool, figure: float | None, sentence: str) -> GateOutcome:
    return GateOutcome(kind=kind, holds=holds, figure=figure, sentence=sentence)


def _cases(facts: GateFacts) -> GateOutcome:
    bad = [case for case in facts.cases if case.verdict in (CaseVerdict.FAILED, CaseVerdict.VARIED)]
    if not bad:
        sentence = f"None of {plural(len(facts.cases), 'case')} failed or varied."
        return _outcome("cases", True, 0, sentence)
    failed = sum(case.verdict is CaseVerdict.FAILED for case in bad)
    sentence = (
        f"{failed:,} of {plural(len(facts.cases), 'case')} failed and {len(bad) - failed:,} varied: "
        f"{_named(case.case for case in bad)}."
    )
    return _outcome("cases", False, len(bad), sentence)


def _rate(gate: RateGate, facts: GateFacts) -> GateOutcome:
    counts = facts.counts
    if not counts.judged:
        sentence = f"No rate: nothing was judged; {percent(gate.at_least)} is asked."
        return _outcome("rate", False, None, sentence)
    rate = counts.passed / counts.judged
    sentence = (
        f"{counts.passed:,} of {plural(counts.judged, 'judged attempt')} passed ({percent(rate)}), "
        f"{percent(gate.at_least)} is asked; {counts.judged:,} of {facts.planned:,} counted."
    )
    return _outcome("rate", reaches(rate, gate.at_least), rate, sentence)


def _coverage(gate: CoverageGate, facts: GateFacts) -> GateOutcome:
    judged, planned = facts.counts.judged, facts.planned
    if not planned:
        return _outcome("coverage", False, None, "No attempt was planned: there is no coverage.")
    share = judged / planned
    sentence = (
        f"{judged:,} of {plural(planned, 'attempt')} were judged ({percent(share)}), "
        f"{percent(gate.at_least)} is asked."
    )
    return _outcome("coverage", reaches(share, gate.at_least), share, sentence)


def _k_of_n(gate: KOfNGate, facts: GateFacts) -> GateOutcome:
    short = [case for case in facts.cases if case.passed * gate.n < gate.k * case.total or not case.total]
    asked = f"{gate.k} of {gate.n} attempts"
    if not short:
        return _outcome(
            "k_of_n", True, 0, f"Each of {plural(len(facts.cases), 'case')} passed {asked} or more."
        )
    worst = _named(f"{case.case} ({case.passed:,} of {case.total:,})" for case in short)
    sentence = f"{len(short):,} of {plural(len(facts.cases), 'case')} passed fewer than {asked}: {worst}."
    return _outcome("k_of_n", False, len(short), sentence)


def _critical(gate: CriticalTagsGate, facts: GateFacts) -> GateOutcome:
    wanted, tags = set(gate.tags), facts.tags or {}
    carried = {case.case: wanted.intersection(tags.get(case.case, ())) for case in facts.cases}
    critical = [case for case in facts.cases if carried[case.case]]
    absent = [tag for tag in dict.fromkeys(gate.tags) if not any(tag in has for has in carried.values())]
    if absent:
        return _outcome("critical_tags", False, None, f"No case carries the critical tag {_named(absent)}.")
    bad = [case for case in critical if case.verdict is not CaseVerdict.PASSED]
    if not bad:
        sentence = f"All {plural(len(critical), 'critical case')} passed."
        return _outcome("critical_tags", True, 0, sentence)
    named = _named(f"{case.case} ({_WORDS[case.verdict]})" for case in bad)
    sentence = f"{len(bad):,} of {plural(len(critical), 'critical case')} did not pass: {named}."
    return _outcome("critical_tags", False, len(bad), sentence)


def _regression(facts: GateFacts) -> GateOutcome:
    found = facts.comparison
    if found is None:
        return _outcome("regression", False, None, "There is no baseline to compare with.")
    holds = found.conclusion not in (Conclusion.regression, Conclusion.not_comparable)
    return _outcome("regression", holds, found.difference, found.sentence)


def _cost(gate: CostGate, facts: GateFacts) -> GateOutcome:
    cost = facts.cost
    if cost is None:
        return _outcome("cost", False, None, "No price is set: what the run cost cannot be told.")
    floor = "at least " if cost.unknown_calls else ""
    spent, limit = _money(cost.amount, cost.currency), _money(gate.at_most, cost.currency)
    sentence = f"The run cost {floor}{spent}, {limit} is allowed."
    if cost.unknown_calls:
        sentence += f" {plural(cost.unknown_calls, 'call')} reported no usage."
    return _outcome("cost", reaches(gate.at_most, cost.amount), cost.amount, sentence)


_WORDS = {
    CaseVerdict.PASSED: "passed",
    CaseVerdict.FAILED: "failed",
    CaseVerdict.VARIED: "varied",
    CaseVerdict.UNDECIDED: "undecided",
    CaseVerdict.NO_RESULT: "no result",
}


def _money(amount: float, currency: str) -> str:
    return f"{amount:,.2f} {printable(currency, 10)}".rstrip()


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _NAMED
    shown = ", ".join(printable(name, 120) for name in listed[:_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown
