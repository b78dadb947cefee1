"""Every reason not to start a run, all at once, before anything is asked."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase, MetricRef
from experiments.evaluation.comparison import node_satisfies
from experiments.evaluation.contradiction import case_contradictions
from experiments.evaluation.metrics import MetricParamsError, MetricRegistry
from experiments.evaluation.outcome import SettledBy
from experiments.evaluation.policy import Policy
from experiments.evaluation.ports import CriterionGrader
from experiments.evaluation.routing import route
from experiments.evaluation.rubric import Rubric, RubricKind
from experiments.evaluation.settle import SettleMode
from experiments.evaluation.setup import FailingTool, Fixture, layers
from experiments.evaluation.text import plural, printable

MIN_LANES, MAX_LANES = 1, 512
JUDGE = "judge"


class Refusal(FrozenModel):
    """`code` is stable, `where` names the case or part of the experiment, `sentence` says what to mend."""

    code: str
    where: str
    sentence: str


class CanDo(Protocol):
    """What a target said it can do. Empty `emittable_nodes`: it did not say which nodes it emits."""

    @property
    def fixtures(self) -> Collection[str]: ...
    @property
    def breakable_tools(self) -> Collection[str]: ...
    @property
    def emittable_nodes(self) -> Collection[str]: ...


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A run as it would start.

    `target_named` says whether the experiment has a target; `capabilities` is None when it could not be
    asked, and `target_problem` then says why. `services` holds the names of the `CriterionContext` services
    at hand. `accept_missing_services`: the operator accepts that evaluations without their service end as
    errors.
    """

    cases: tuple[EvalCase, ...]
    settle_mode: SettleMode
    registry: CriterionGrader
    metrics: MetricRegistry
    lanes: int
    repeats: int
    criteria: tuple[CriterionSpec, ...] = ()
    rubric: Rubric | None = None
    policy: Policy | None = None
    target_named: bool = True
    capabilities: CanDo | None = None
    target_problem: str = ""
    services: frozenset[str] = frozenset()
    accept_missing_services: bool = False


def preflight(plan: Plan) -> tuple[Refusal, ...]:
    """Every refusal of this plan, the experiment's own first, then case by case; none means it may start."""
    return (
        *_experiment(plan),
        *_duplicates(plan),
        *_criteria(plan),
        *(refusal for case in plan.cases for refusal in _case(case, plan)),
    )


def _experiment(plan: Plan) -> Iterator[Refusal]:
    def refuse(code: str, where: str, sentence: str) -> Refusal:
        return Refusal(code=code, where=where, sentence=sentence)

    if not plan.cases:
        yield refuse("no_cases", "cases", "The experiment has no cases.")
    if not MIN_LANES <= plan.lanes <= MAX_LANES:
        yield refuse("lanes", "lanes", f"Lanes are {MIN_LANES} to {MAX_LANES}, not {plan.lanes}.")
    if plan.repeats < 1:
        yield refuse("repeats", "repeats", f"Repeats are at least 1, not {plan.repeats}.")
    if plan.policy is None:
        yield refuse("no_policy", "policy", "The experiment names no policy.")
    if plan.rubric is None:
        yield refuse("no_rubric", "rubric", "The experiment names no rubric.")
    elif plan.rubric.kind is not RubricKind.grade:
        name = printable(plan.rubric.name, 100)
        yield refuse(
            "rubric_gives_no_grade", "rubric", f"{name} is a label rubric; a grade rubric is needed."
        )
    if not plan.target_named:
        yield refuse("no_target", "target", "The experiment names no target.")
    elif plan.capabilities is None:
        said = plan.target_problem or "it gave no answer"
        said = printable(said, 500).rstrip(".")
        end = "" if said.endswith(("?", "!", "…")) else "."
        yield refuse("target_unreachable", "target", f"The target cannot say what it can do: {said}{end}")


def _duplicates(plan: Plan) -> Iterator[Refusal]:
    for case_id, count in Counter(case.id for case in plan.cases).items():
        if count > 1:
            sentence = f"{count} cases have this id; an id names one case."
            yield Refusal(code="duplicate_case", where=_where(case_id), sentence=sentence)


def _criteria(plan: Plan) -> Iterator[Refusal]:
    if plan.settle_mode is not SettleMode.expectation:
        for index, spec in enumerate(plan.criteria):
            yield from _criterion(spec, f"criteria[{index}]", plan)


def _case(case: EvalCase, plan: Plan) -> Iterator[Refusal]:
    where = _where(case.id)
    for field, sentence in case_contradictions(case.turn, case.expected, case.required_phrases):
        code = "turn_is_expected" if field == "turn" else "phrase_forbidden"
        yield Refusal(code=code, where=f"{where} {field}", sentence=f"{_capital(printable(sentence, 500))}.")
    if plan.capabilities is not None:
        yield from _setup(case, where, plan.capabilities)
    if plan.settle_mode is not SettleMode.criteria:
        yield from _expectation(case, where, plan)
    if plan.settle_mode is not SettleMode.expectation:
        for index, spec in enumerate(case.criteria):
            yield from _criterion(spec, f"{where} criteria[{index}]", plan)


def _setup(case: EvalCase, where: str, can: CanDo) -> Iterator[Refusal]:
    for layer in layers(case.setup):
        if isinstance(layer, Fixture) and layer.name not in can.fixtures:
            sentence = f"The target has no fixture {_quoted(layer.name)}{_known(can.fixtures)}."
            yield Refusal(code="unknown_fixture", where=f"{where} setup", sentence=sentence)
        if isinstance(layer, FailingTool) and layer.tool not in can.breakable_tools:
            sentence = f"The target cannot break the tool {_quoted(layer.tool)}{_known(can.breakable_tools)}."
            yield Refusal(code="tool_not_breakable", where=f"{where} setup", sentence=sentence)


def _expectation(case: EvalCase, where: str, plan: Plan) -> Iterator[Refusal]:
    by = route(case)
    if by is SettledBy.spec_node and plan.capabilities is not None:
        nodes, wanted = plan.capabilities.emittable_nodes, case.spec_node or ""
        if nodes and not any(node_satisfies(wanted, node) for node in nodes):
            sentence = f"The target never emits the spec node {_quoted(wanted)}{_known(nodes)}."
            yield Refusal(code="node_not_emittable", where=f"{where} spec_node", sentence=sentence)
    if by in (SettledBy.metric, SettledBy.end_state) and case.metric is not None:
        yield from _metric(case.metric, f"{where} metric", plan)
    if by is SettledBy.judge:
        yield from _missing({JUDGE}, "the judge settles this case", where, plan)


def _metric(ref: MetricRef, where: str, plan: Plan) -> Iterator[Refusal]:
    metric = plan.metrics.find(ref)
    if metric is None:
        known = _known([f"{each.id} v{each.version}" for each in plan.metrics])
        sentence = f"No metric is registered for {_quoted(ref.id)} v{ref.version}{known}."
        yield Refusal(code="unregistered_metric", where=where, sentence=sentence)
        return
    try:
        plan.metrics.validate(ref)
    except MetricParamsError as refused:
        yield Refusal(
            code="metric_params", where=where, sentence=f"{_capital(printable(str(refused), 1000))}."
        )
    yield from _missing(metric.needs, f"the metric {metric.id} needs it", where, plan)


def _criterion(spec: CriterionSpec, where: str, plan: Plan) -> Iterator[Refusal]:
    known = spec.kind in plan.registry
    try:
        plan.registry.validate(spec)
    except ValueError as refused:
        code = "criterion_params" if known else "unregistered_criterion"
        yield Refusal(code=code, where=where, sentence=f"{_capital(printable(str(refused), 1000))}.")
    if known:
        yield from _missing(
            plan.registry.needs(spec.kind), f"the criterion {spec.kind} needs it", where, plan
        )


def _missing(needed: Collection[str], why: str, where: str, plan: Plan) -> Iterator[Refusal]:
    if plan.accept_missing_services:
        return
    for service in sorted(set(needed) - plan.services):
        sentence = f"No {service.replace('_', ' ')} is configured, and {why}."
        yield Refusal(code="missing_service", where=where, sentence=sentence)


def _where(case_id: str) -> str:
    return f"case {printable(case_id, 200)}"


def _quoted(text: str) -> str:
    return f"“{printable(text, 200)}”"


def _known(names: Collection[str]) -> str:
    shown = [printable(name, 80) for name in sorted(names)[:8]]
    if not shown:
        return " (it names none)"
    more = plural(len(names) - len(shown), "more", "more")
    return f" (known: {', '.join(shown)}{f' and {more}' if len(names) > len(shown) else ''})"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:].rstrip(".")
