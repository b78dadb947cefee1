"""Whether two runs may be compared: what differs between them, what that excludes and what mends it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase, asked_fingerprint, graded_fingerprint
from experiments.evaluation.outcome import SettledBy
from experiments.evaluation.policy import Policy
from experiments.evaluation.ports import CriterionGrader
from experiments.evaluation.routing import route
from experiments.evaluation.rubric import Rubric
from experiments.evaluation.settle import SettleMode
from experiments.evaluation.text import plural, printable, to_json

_NAME_LIMIT = 120
_LISTED = 5
_PLURAL = frozenset({"metric versions", "criteria", "repeats", "lanes"})


class RowKind(StrEnum):
    """How a row of the gate stands: it refuses, it is only noted, or both runs are the same in it."""

    refused = "refused"
    noted = "noted"
    same = "same"


class Mend(StrEnum):
    """What makes a refused row the same: grading the older run's stored evidence by the newer rules."""

    regrade = "re-grade"


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """What one case of a run pinned: its two fingerprints, and what of the ruler it is graded by.

    `by_rubric`: the judge grades it by the run's rubric. `by_judge`: the judge is asked about it at all.
    `metric`: the id of the metric that settles it.
    """

    asked: str
    graded: str
    by_rubric: bool = False
    by_judge: bool = False
    metric: str | None = None


def case_facts(
    case: EvalCase,
    mode: SettleMode,
    registry: CriterionGrader,
    criteria: tuple[CriterionSpec, ...] = (),
) -> CaseFacts:
    """The facts of a case that is settled in this mode, with the suite's criteria added to its own."""
    by = None if mode is SettleMode.criteria else route(case)
    specs = () if mode is SettleMode.expectation else criteria + case.criteria
    judged = any(spec.kind in registry and "judge" in registry.needs(spec.kind) for spec in specs)
    measured = by in (SettledBy.metric, SettledBy.end_state) and case.metric is not None
    return CaseFacts(
        asked=asked_fingerprint(case),
        graded=graded_fingerprint(case),
        by_rubric=by is SettledBy.judge,
        by_judge=by is SettledBy.judge or judged,
        metric=case.metric.id if measured and case.metric else None,
    )


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Everything one grading of one run pinned that decides whether it can be compared.

    `criteria` are the suite's, with the weight of the kind where the suite names none (see
    `CriterionRegistry.weight`); those of a case are in its graded fingerprint. `metric_versions` holds the
    metrics that settle a case, by id. `cases` is keyed by case id and holds every planned case. An empty
    `judge_model` is no judge.
    """

    settle_mode: SettleMode
    cases: Mapping[str, CaseFacts]
    policy: Policy | None = None
    rubric: Rubric | None = None
    judge_model: str = ""
    metric_versions: Mapping[str, int] = field(default_factory=dict)
    criteria: tuple[CriterionSpec, ...] = ()
    pass_score: float = 1.0
    corpus: str = ""
    corpus_version: int | None = None
    target: str = ""
    target_version: str = ""
    repeats: int = 1
    lanes: int = 1


class GateRow(FrozenModel):
    """One thing two runs pinned. `a` and `b` are short texts of it, `sentence` says what a difference means.

    `cases` counts the shared cases that rest on it; `mend` is the action that makes the row the same, None
    where only a new run could.
    """

    name: str
    kind: RowKind
    a: str
    b: str
    sentence: str
    cases: int
    mend: Mend | None = None


class Gate(FrozenModel):
    """The comparability of two runs, row by row. Comparable when no row refuses.

    `shared` counts the cases both runs asked alike, `unpaired` those with the same id and another question;
    `only_a` and `only_b` the rest.
    """

    rows: tuple[GateRow, ...]
    comparable: bool
    shared: int
    only_a: int
    only_b: int
    unpaired: int

    @property
    def refused(self) -> tuple[GateRow, ...]:
        """The rows that forbid a comparison."""
        return tuple(row for row in self.rows if row.kind is RowKind.refused)

    @property
    def noted(self) -> tuple[GateRow, ...]:
        """The rows that differ and forbid nothing."""
        return tuple(row for row in self.rows if row.kind is RowKind.noted)

    @property
    def mendable(self) -> bool:
        """Whether re-grading alone would make the runs comparable."""
        return not self.comparable and all(row.mend for row in self.refused)

    @property
    def overlap(self) -> str:
        """Which cases there are to compare: "58 shared, 2 only in B"."""
        beside = (
            (self.only_a, "only in A"),
            (self.only_b, "only in B"),
            (self.unpaired, "asked differently"),
        )
        return ", ".join([f"{self.shared:,} shared", *(f"{n:,} {words}" for n, words in beside if n)])


@dataclass(frozen=True)
class Pairing:
    """The case ids of two runs, sorted. `regraded` are the shared ones with other graded fingerprints."""

    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    unpaired: tuple[str, ...]
    regraded: tuple[str, ...]


def pair(a: RunFacts, b: RunFacts) -> Pairing:
    """Which cases belong together: the same id, asked with the same fingerprint."""
    both = sorted(a.cases.keys() & b.cases.keys())
    alike = [case for case in both if a.cases[case].asked == b.cases[case].asked]
    kept = set(alike)
    return Pairing(
        shared=tuple(alike),
        only_a=tuple(sorted(a.cases.keys() - b.cases.keys())),
        only_b=tuple(sorted(b.cases.keys() - a.cases.keys())),
        unpaired=tuple(case for case in both if case not in kept),
        regraded=tuple(case for case in alike if a.cases[case].graded != b.cases[case].graded),
    )


def comparability(a: RunFacts, b: RunFacts, pairing: Pairing | None = None) -> Gate:
    """The gate between two runs, one row for each thing they pinned. `pairing` saves pairing them again."""
    pairing = pairing or pair(a, b)
    rows = (*_refusing(a, b, pairing), *_noting(a, b, pairing))
    return Gate(
        rows=rows,
        comparable=all(row.kind is not RowKind.refused for row in rows),
        shared=len(pairing.shared),
        only_a=len(pairing.only_a),
        only_b=len(pairing.only_b),
        unpaired=len(pairing.unpaired),
    )


def _refusing(a: RunFacts, b: RunFacts, pairing: Pairing) -> Iterator[GateRow]:
    shared = len(pairing.shared)
    by_criteria = shared if {a.settle_mode, b.settle_mode} != {SettleMode.expectation} else 0

    def using(test: Callable[[CaseFacts], bool]) -> int:
        return sum(test(a.cases[case]) or test(b.cases[case]) for case in pairing.shared)

    def row(name: str, cases: int, does: str, words: Callable[[RunFacts], str], same: bool) -> GateRow:
        return _refusal(name, words(a), words(b), same, cases, f"{_cases(cases)} {does}")

    other_rules = f"{_cases(shared)} answered under other rules; only a new run can mend that"
    policies = _version_of(a.policy), _version_of(b.policy)
    yield _refusal("policy", *policies, a.policy == b.policy, shared, other_rules, mend=None)
    graded, judged = using(lambda case: case.by_rubric), using(lambda case: case.by_judge)
    yield row("rubric", graded, "graded by it", lambda run: _version_of(run.rubric), a.rubric == b.rubric)
    same_judge = a.judge_model == b.judge_model
    yield row("judge model", judged, "judged by it", lambda run: run.judge_model or "none", same_judge)
    yield _metrics(a, b, using)
    criteria, same_criteria = (
        _criteria(a.criteria, b.criteria),
        _canonical(a.criteria) == _canonical(b.criteria),
    )
    settled = f"{_cases(by_criteria)} settled by criteria"
    yield _refusal("criteria", *criteria, same_criteria, by_criteria, settled)
    same_score = a.pass_score == b.pass_score
    yield row("pass score", by_criteria, "settled by it", lambda run: f"{run.pass_score:g}", same_score)
    same_mode = a.settle_mode == b.settle_mode
    yield row("settle mode", shared, "settled by it", lambda run: f"by {run.settle_mode}", same_mode)
    same_corpus = (a.corpus, a.corpus_version) == (b.corpus, b.corpus_version)
    yield row(
        "corpus", shared, "looked up in it", lambda run: _named(run.corpus, run.corpus_version), same_corpus
    )
    yield _expectations(pairing)


def _noting(a: RunFacts, b: RunFacts, pairing: Pairing) -> Iterator[GateRow]:
    shared = len(pairing.shared)
    yield _note("target", _target(a), _target(b), shared, "the target is what the comparison is about")
    yield _note(
        "repeats", str(a.repeats), str(b.repeats), shared, "pass shares of fewer attempts are less certain"
    )
    yield _note("lanes", str(a.lanes), str(b.lanes), shared, "durations may differ for that alone")
    alike = not (pairing.only_a or pairing.only_b or pairing.unpaired)
    beside = [
        (len(pairing.only_a), "only in A"),
        (len(pairing.only_b), "only in B"),
        (len(pairing.unpaired), "with the same id and another question"),
    ]
    said = ", ".join(f"{count:,} {words}" for count, words in beside if count)
    yield GateRow(
        name="case set",
        kind=RowKind.same if alike else RowKind.noted,
        a=plural(len(a.cases), "case"),
        b=plural(len(b.cases), "case"),
        sentence=f"{shared:,} shared, {said}: only shared cases are compared."
        if said
        else f"The same {plural(shared, 'case')}.",
        cases=shared,
    )


def _refusal(
    name: str, a: str, b: str, same: bool, cases: int, excludes: str, mend: Mend | None = Mend.regrade
) -> GateRow:
    a, b = printable(a, _NAME_LIMIT), printable(b, _NAME_LIMIT)
    if same:
        sentence = _same(name, a)
    elif a == b:
        sentence = f"The {name} {_differ(name)} in wording, both are called {a}; {excludes}."
    else:
        sentence = f"The {name} {_differ(name)}, {a} / {b}; {excludes}."
    return GateRow(
        name=name,
        kind=RowKind.same if same else RowKind.refused,
        a=a,
        b=b,
        sentence=sentence,
        cases=cases,
        mend=None if same else mend,
    )


def _note(name: str, a: str, b: str, cases: int, meaning: str) -> GateRow:
    a, b = printable(a, _NAME_LIMIT), printable(b, _NAME_LIMIT)
    same = a == b
    sentence = _same(name, a) if same else f"The {name} {_differ(name)}, {a} / {b}; {meaning}."
    return GateRow(
        name=name, kind=RowKind.same if same else RowKind.noted, a=a, b=b, sentence=sentence, cases=cases
    )


def _same(name: str, value: str) -> str:
    return f"No {name} on either side." if value == "none" else f"Same {name}: {value}."


def _differ(name: str) -> str:
    return "differ" if name in _PLURAL else "differs"


def _metrics(a: RunFacts, b: RunFacts, using: Callable[[Callable[[CaseFacts], bool]], int]) -> GateRow:
    """A metric that only one run used refuses nothing: what settles a case is in its graded fingerprint."""
    changed = {
        metric
        for metric in a.metric_versions.keys() & b.metric_versions.keys()
        if a.metric_versions[metric] != b.metric_versions[metric]
    }
    named = changed or a.metric_versions.keys() | b.metric_versions.keys()
    cases = using(lambda case: case.metric in named)

    def words(run: RunFacts) -> str:
        return _list(f"{m} v{v}" for m, v in sorted(run.metric_versions.items()) if m in named) or "none"

    return _refusal(
        "metric versions", words(a), words(b), not changed, cases, f"{_cases(cases)} measured by it"
    )


def _expectations(pairing: Pairing) -> GateRow:
    changed, shared = len(pairing.regraded), len(pairing.shared)
    if not changed:
        sentence = "Every shared case is graded by the same expectation, sources and criteria."
    else:
        sentence = (
            f"{_cases(changed)} graded by another expectation, sources or criteria: "
            f"{_list(pairing.regraded)}."
        )
    return GateRow(
        name="expectations",
        kind=RowKind.refused if changed else RowKind.same,
        a=f"{shared - changed:,} of {shared:,} alike",
        b=f"{shared - changed:,} of {shared:,} alike",
        sentence=sentence,
        cases=changed,
        mend=Mend.regrade if changed else None,
    )


def _criteria(a: tuple[CriterionSpec, ...], b: tuple[CriterionSpec, ...]) -> tuple[str, str]:
    """The criteria of each side in words; where the sides differ, only those the other does not have."""
    here, there = _canonical(a), _canonical(b)
    if here == there:
        words = _list(spec.kind for spec in a) or "none"
        return words, words

    def words_of(specs: tuple[CriterionSpec, ...], others: list[str]) -> str:
        return _list(_spec(spec) for spec in specs if to_json(spec.model_dump()) not in others) or "no other"

    return words_of(a, there), words_of(b, here)


def _spec(spec: CriterionSpec) -> str:
    given = [f"{name} {to_json(value)}" for name, value in sorted(spec.params.items())]
    given += [] if spec.weight is None else [f"weight {spec.weight:g}"]
    given += ["gate"] if spec.gate else []
    return f"{spec.kind} ({', '.join(given)})" if given else spec.kind


def _canonical(criteria: tuple[CriterionSpec, ...]) -> list[str]:
    """The criteria as comparable texts. Their order settles nothing, so it is no difference."""
    return sorted(to_json(spec.model_dump()) for spec in criteria)


def _target(run: RunFacts) -> str:
    return f"{run.target} {run.target_version}".strip() or "none"


def _version_of(named: Policy | Rubric | None) -> str:
    return "none" if named is None else _named(named.name, named.version)


def _named(name: str, version: int | None) -> str:
    return f"{name} v{version}" if name and version is not None else name or "none"


def _cases(count: int) -> str:
    return f"{plural(count, 'shared case is', 'shared cases are')}"


def _list(texts: Iterable[str]) -> str:
    names = list(texts)
    more = len(names) - _LISTED
    shown = ", ".join(printable(name, 60) for name in names[:_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown
