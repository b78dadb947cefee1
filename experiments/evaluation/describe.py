"""Which evaluator will settle a case, said to its author in one sentence."""

from enum import StrEnum

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase
from experiments.evaluation.outcome import SettledBy
from experiments.evaluation.routing import phrases_of, route
from experiments.evaluation.settle import SettleMode
from experiments.evaluation.text import is_blank, plural, printable


class SettlingGroup(StrEnum):
    """The four ways a page counts cases by."""

    comparison = "comparison"
    metric = "metric"
    criteria = "criteria"
    judge = "judge"


GROUPS = {
    SettledBy.spec_node: SettlingGroup.comparison,
    SettledBy.contains_all: SettlingGroup.comparison,
    SettledBy.end_state: SettlingGroup.comparison,
    SettledBy.metric: SettlingGroup.metric,
    SettledBy.judge: SettlingGroup.judge,
    SettledBy.criteria: SettlingGroup.criteria,
}


class Settling(FrozenModel):
    """How a case will be settled.

    `by` holds one part, or expectation and criteria in mode `both`; `groups` the same as pages count them.
    `unused` names the expectations that are given and not used, `warnings` whatever else an author should
    know.
    """

    by: tuple[SettledBy, ...]
    groups: tuple[SettlingGroup, ...]
    sentence: str
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def describe_settling(
    case: EvalCase, mode: SettleMode, suite_criteria: tuple[CriterionSpec, ...] = ()
) -> Settling:
    """Who settles the case in this mode, with the suite's criteria added to its own."""
    expected_by, criteria = route(case), suite_criteria + case.criteria
    given = _given(case)
    if mode is SettleMode.criteria:
        by: tuple[SettledBy, ...] = (SettledBy.criteria,)
        sentence, unused = f"Settled by {_criteria(criteria)}.", tuple(given.values())
    else:
        unused = tuple(name for part, name in given.items() if part is not expected_by)
        by, said = (expected_by,), _expectation(case, expected_by)
        if mode is SettleMode.both:
            by = (expected_by, SettledBy.criteria)
            said = f"{said} and by {_criteria(criteria)}; it passes only when both pass"
        sentence = f"Settled by {said}."
    if unused:
        sentence += f" Not used: {', '.join(unused)}."
    groups = tuple(GROUPS[part] for part in by)
    warnings = _warnings(case, mode, criteria)
    return Settling(by=by, groups=groups, sentence=sentence, unused=unused, warnings=warnings)


def _given(case: EvalCase) -> dict[SettledBy, str]:
    """The expectations a case states, in routing order, by their names in a suite."""
    given = {}
    if not is_blank(case.spec_node):
        given[SettledBy.spec_node] = "spec node"
    if phrases_of(case):
        given[SettledBy.contains_all] = "required phrases"
    if case.metric is not None:
        is_state = case.metric.id == "end-state"
        given[SettledBy.end_state if is_state else SettledBy.metric] = (
            f"metric {printable(case.metric.id, 100)}"
        )
    return given


def _expectation(case: EvalCase, by: SettledBy) -> str:
    if by is SettledBy.spec_node:
        return f"comparing the spec node with {printable(case.spec_node or '', 100)}"
    if by is SettledBy.contains_all:
        count = len(phrases_of(case))
        return f"looking for {plural(count, 'required phrase')} in the reply"
    if by is SettledBy.judge:
        return "the judge, who grades the reply against the expected outcome"
    metric = f"{printable(case.metric.id, 100)} v{case.metric.version}" if case.metric else ""
    return "comparing the end state" if by is SettledBy.end_state else f"the metric {metric}"


def _criteria(criteria: tuple[CriterionSpec, ...]) -> str:
    if not criteria:
        return "criteria, of which it has none"
    kinds = [printable(spec.kind, 80) for spec in criteria]
    return f"{plural(len(kinds), 'criterion', 'criteria')} ({', '.join(dict.fromkeys(kinds))})"


def _warnings(case: EvalCase, mode: SettleMode, criteria: tuple[CriterionSpec, ...]) -> tuple[str, ...]:
    found = []
    by = route(case)
    if mode is not SettleMode.criteria:
        if by is SettledBy.judge and is_blank(case.expected):
            found.append("The judge gets no expected outcome to grade against.")
        if case.metric is not None and case.metric.id in _READS_REFERENCE and is_blank(case.reference):
            found.append(
                f"{case.metric.id} reads the reference answer, and the case has none: it is inconclusive."
            )
    if mode is not SettleMode.expectation and not criteria:
        found.append("The case has no criteria: every attempt is inconclusive.")
    if mode is SettleMode.expectation and criteria:
        found.append("Criteria are not read when expectations settle.")
    return tuple(found)


_READS_REFERENCE = frozenset({"exact-match", "token-f1"})
