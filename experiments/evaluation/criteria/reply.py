"""Criteria over the text of the final reply: reply.contains, reply.not_contains, reply.max_length."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import Builtin, CriterionKind, error, missing_reply, outcome
from experiments.evaluation.criteria.patterns import UserPattern, occurs
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext

_MAX_SUBSTRING = 10_000
_SHOWN = 3
_SHOWN_CHARACTERS = 80


def _require_substring(value: str) -> str:
    # Not StringConstraints: pydantic reads no length off a text with a lone surrogate.
    if not 0 < len(value) <= _MAX_SUBSTRING:
        raise ValueError(f"must have 1 to {_MAX_SUBSTRING:,} characters")
    return value


Substring = Annotated[str, AfterValidator(_require_substring)]


class ContainsParams(FrozenModel):
    """Patterns to look for. Insensitive (the default): casefold for substrings, IGNORECASE for regex."""

    model_config = ConfigDict(hide_input_in_errors=True)

    substrings: tuple[Substring, ...] = Field(default=(), max_length=200)
    regex: tuple[UserPattern, ...] = Field(default=(), max_length=50)
    case_sensitive: bool = Field(default=False, strict=True)

    @model_validator(mode="after")
    def _something_to_look_for(self) -> "ContainsParams":
        if not self.substrings and not self.regex:
            raise ValueError("substrings or regex must hold at least one pattern")
        return self


class MaxLengthParams(FrozenModel):
    """``max``: Unicode code points."""

    model_config = ConfigDict(hide_input_in_errors=True)

    max: int = Field(ge=0, strict=True)


class PatternTimeoutError(Exception):
    """A user's pattern took too long on this reply; the message names the pattern."""


def _split(params: ContainsParams, reply: str) -> tuple[list[str], list[str]]:
    """The patterns that occur in the reply, and those that do not, each in the order written."""
    occurring: list[str] = []
    absent: list[str] = []
    sensitive = params.case_sensitive
    text = reply if sensitive else reply.casefold()
    for substring in params.substrings:
        found = (substring if sensitive else substring.casefold()) in text
        (occurring if found else absent).append(substring)
    for pattern in params.regex:
        try:
            found = occurs(pattern, reply, case_sensitive=sensitive)
        except TimeoutError as slow:
            raise PatternTimeoutError(f"the pattern {_quoted(pattern)} took too long on this reply") from slow
        (occurring if found else absent).append(pattern)
    return occurring, absent


def _quoted(pattern: str) -> str:
    shown = pattern if len(pattern) <= _SHOWN_CHARACTERS else pattern[: _SHOWN_CHARACTERS - 1] + "…"
    return f"“{shown}”"


def _named(patterns: list[str]) -> str:
    named = ", ".join(_quoted(pattern) for pattern in patterns[:_SHOWN])
    return named if len(patterns) <= _SHOWN else f"{named} and {len(patterns) - _SHOWN} more"


async def contains(
    case: EvalCase, evidence: Evidence, *, params: ContainsParams, ctx: CriterionContext
) -> Verdict:
    """Passes when every pattern occurs in the final reply; no white space is normalised."""
    if evidence.reply is None:
        return missing_reply()
    try:
        _, absent = _split(params, evidence.reply)
    except PatternTimeoutError as slow:
        return error(str(slow))
    if absent:
        return outcome(passed=False, detail=f"the reply lacks {_named(absent)}", data={"missing": absent})
    return outcome(passed=True, detail="every pattern occurs", data={"missing": []})


async def not_contains(
    case: EvalCase, evidence: Evidence, *, params: ContainsParams, ctx: CriterionContext
) -> Verdict:
    """Passes when no pattern occurs in the final reply."""
    if evidence.reply is None:
        return missing_reply()
    try:
        occurring, _ = _split(params, evidence.reply)
    except PatternTimeoutError as slow:
        return error(str(slow))
    if occurring:
        return outcome(passed=False, detail=f"the reply holds {_named(occurring)}", data={"found": occurring})
    return outcome(passed=True, detail="no pattern occurs", data={"found": []})


async def max_length(
    case: EvalCase, evidence: Evidence, *, params: MaxLengthParams, ctx: CriterionContext
) -> Verdict:
    """Passes when the final reply has at most ``max`` code points."""
    if evidence.reply is None:
        return missing_reply()
    length = len(evidence.reply)
    return outcome(
        passed=length <= params.max,
        detail=f"{length} characters, at most {params.max} allowed",
        data={"length": length, "max": params.max},
    )


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (
        Builtin("reply.contains", ContainsParams, contains),
        Builtin("reply.not_contains", ContainsParams, not_contains),
        Builtin("reply.max_length", MaxLengthParams, max_length),
    )
