"""Criteria over all turns of an attempt: usage.max_tokens, usage.max_seconds, run.no_failure."""

import math
from collections.abc import Iterable

from pydantic import ConfigDict, Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import Builtin, CriterionKind, NoParams, error, outcome
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict, reaches
from experiments.evaluation.ports import CriterionContext

_SHOWN_CHARACTERS = 200


class MaxTokensParams(FrozenModel):
    """``max``: prompt and completion tokens of all turns together."""

    model_config = ConfigDict(hide_input_in_errors=True)

    max: int = Field(ge=0, strict=True)


class MaxSecondsParams(FrozenModel):
    """``max``: seconds of all turns together."""

    model_config = ConfigDict(hide_input_in_errors=True)

    max: float = Field(ge=0, strict=True, allow_inf_nan=False)


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


async def max_seconds(
    case: EvalCase, evidence: Evidence, *, params: MaxSecondsParams, ctx: CriterionContext
) -> Verdict:
    """Passes when all turns together took at most ``max`` seconds; a turn without a duration is an error."""
    if not evidence.turns:
        return error("no turn was recorded")
    for number, turn in enumerate(evidence.turns, start=1):
        if turn.seconds is None:
            return error(f"no duration recorded for turn {number}")
    total = math.fsum(turn.seconds or 0.0 for turn in evidence.turns)
    return outcome(
        passed=reaches(params.max, total),
        detail=f"{total:g} seconds, at most {params.max:g} allowed",
        data={"seconds": total, "max": params.max},
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
        Builtin("usage.max_seconds", MaxSecondsParams, max_seconds),
        Builtin("run.no_failure", NoParams, no_failure),
    )
