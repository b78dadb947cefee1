"""Which evaluator settles a case by its expectation, and asking that one."""

from collections.abc import Awaitable, Callable, Mapping

from experiments.evaluation.case import EvalCase
from experiments.evaluation.comparison import compare_spec_node, contains_all
from experiments.evaluation.context import EvalContext
from experiments.evaluation.judging import grade_by_judge
from experiments.evaluation.outcome import EvaluationResult, SettledBy
from experiments.evaluation.text import is_blank

END_STATE_METRIC = "end-state"


def phrases_of(case: EvalCase) -> tuple[str, ...]:
    """The required phrases that say anything: a blank one occurs in every reply and is left out."""
    return tuple(phrase for phrase in case.required_phrases if not is_blank(phrase))


def route(case: EvalCase) -> SettledBy:
    """Tested in this order: spec node, required phrases, metric; anything else goes to the judge."""
    if case.spec_node is not None and not is_blank(case.spec_node):
        return SettledBy.spec_node
    if phrases_of(case):
        return SettledBy.contains_all
    if case.metric is not None:
        return SettledBy.end_state if case.metric.id == END_STATE_METRIC else SettledBy.metric
    return SettledBy.judge


Evaluate = Callable[[EvalContext], Awaitable[EvaluationResult]]


class EvaluatorRouter:
    """Sends each attempt to the evaluator its case is settled by."""

    def __init__(
        self, evaluators: Mapping[SettledBy, Evaluate], choose: Callable[[EvalCase], SettledBy]
    ) -> None:
        self._evaluators = dict(evaluators)
        self._choose = choose

    @classmethod
    def by_expectation(cls) -> "EvaluatorRouter":
        """The product's routing: see `route`."""
        return cls(
            {
                SettledBy.spec_node: _by_node,
                SettledBy.contains_all: _by_phrases,
                SettledBy.metric: _by_metric,
                SettledBy.end_state: _by_metric,
                SettledBy.judge: grade_by_judge,
            },
            route,
        )

    async def evaluate(self, ctx: EvalContext) -> EvaluationResult:
        """The result of the evaluator the case is routed to. Raises whatever that evaluator raises."""
        return await self._evaluators[self._choose(ctx.case)](ctx)


async def _by_node(ctx: EvalContext) -> EvaluationResult:
    return compare_spec_node(ctx.case.spec_node or "", ctx.evidence)


async def _by_phrases(ctx: EvalContext) -> EvaluationResult:
    return contains_all(phrases_of(ctx.case), ctx.evidence)


async def _by_metric(ctx: EvalContext) -> EvaluationResult:
    ref = ctx.case.metric
    if ref is None:
        raise ValueError("the case names no metric")
    return await ctx.metrics.evaluate(ref, ctx.case, ctx.evidence, ctx.services)
