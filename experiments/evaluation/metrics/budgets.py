"""`latency-budget` and `token-budget`: exactly on budget scores 0.5 and passes, twice the budget scores 0."""

from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.metrics.registry import Metric, Missing, Score
from experiments.evaluation.ports import CriterionContext

THRESHOLD = 0.5


class LatencyParams(FrozenModel):
    """`budget` in seconds, above 0."""

    budget: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TokenParams(FrozenModel):
    """`budget` in tokens, prompt and completion together, above 0."""

    budget: Annotated[int, Field(gt=0)]


def budget_score(used: float, budget: float) -> float:
    """1 when nothing is used, 0.5 on budget, 0 at twice the budget and beyond."""
    return max(0.0, 1.0 - used / (2.0 * budget))


async def latency(
    case: EvalCase, evidence: Evidence, *, params: LatencyParams, ctx: CriterionContext
) -> Score | Missing:
    """The seconds of the graded turn against the budget."""
    seconds = evidence.final_turn.seconds if evidence.final_turn else None
    if seconds is None:
        return Missing("no duration recorded for the graded turn")
    return Score(
        budget_score(seconds, params.budget), f"{seconds:.3g} s of a budget of {params.budget:.3g} s"
    )


async def tokens(
    case: EvalCase, evidence: Evidence, *, params: TokenParams, ctx: CriterionContext
) -> Score | Missing:
    """Prompt and completion tokens of all turns against the budget."""
    prompt, completion = evidence.prompt_tokens, evidence.completion_tokens
    if prompt is None or completion is None:
        return Missing("no token usage recorded on at least one turn")
    used = prompt + completion
    return Score(budget_score(used, params.budget), f"{used:,} tokens of a budget of {params.budget:,}")


LATENCY_BUDGET = Metric("latency-budget", 1, THRESHOLD, latency, LatencyParams)
TOKEN_BUDGET = Metric("token-budget", 1, THRESHOLD, tokens, TokenParams)
