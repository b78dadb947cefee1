"""Criteria over all turns of an attempt: usage.max_tokens, run.no_failure."""

from collections.abc import Iterable

from pydantic import ConfigDict, Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import Builtin, CriterionKind, NoParams, error, outcome
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext

_SHOWN_CHARACTERS = 200


class MaxTokensParams(FrozenModel):
    """``max``: prompt and completion tokens of all turns together."""

    model_config = ConfigDict(hide_input_in_errors=True)

    max: int = Field(ge=0, strict=True)


async def max_tokens(
    case: EvalCase, evidence: Evidence, *, params: MaxTokensParams, ctx: CriterionContext
) -> Verdict:
    """Passes when all turns together used at most ``max`` tokens; usage missing on any turn is an error."""
    total = 0
    for number, turn in enumerate(evidence.turns, start=1):
        if turn.prompt_tokens is None or turn.completion_tokens is None:
            return error(f"no usage recorded for turn {number}")
        total += turn.prompt_tokens + turn.completion_tokens
    return outcome(
        passed=total <= params.max,
        detail=f"{total} tokens, at most {params.max} allowed",
        data={"tokens": total, "max": params.max},
    )


async def no_failure(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when no turn recorded a failure."""
    failed = [
        {"turn": number, "failure": turn.failure[:_SHOWN_CHARACTERS]}
        for number, turn in enumerate(evidence.turns, start=1)
        if turn.failure is not None
    ]
    if not failed:
        return outcome(passed=True, detail="no turn recorded a failure", data={"failures": []})
    first = failed[0]
    return outcome(
        passed=False, detail=f"turn {first['turn']} failed: {first['failure']}", data={"failures": failed}
    )


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (
        Builtin("usage.max_tokens", MaxTokensParams, max_tokens),
        Builtin("run.no_failure", NoParams, no_failure),
    )
