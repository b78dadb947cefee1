"""`end-state`: what the system left behind. Counted among comparisons, not among measures."""

from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel, JsonObject
from experiments.evaluation.case import EvalCase
from experiments.evaluation.comparison import compare_end_state
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.metrics.registry import Metric
from experiments.evaluation.outcome import EvaluationResult, SettledBy
from experiments.evaluation.ports import CriterionContext


class EndStateParams(FrozenModel):
    """`expected`: the keys to compare and the value each must hold."""

    expected: Annotated[JsonObject, Field(min_length=1)]


async def end_state(
    case: EvalCase, evidence: Evidence, *, params: EndStateParams, ctx: CriterionContext
) -> EvaluationResult:
    """Only the named keys are compared; no state reported is INCONCLUSIVE."""
    return compare_end_state(params.expected, evidence)


END_STATE = Metric("end-state", 1, 1.0, end_state, EndStateParams, settles_as=SettledBy.end_state)
