"""One line of an evidence file: one attempt of one case that already happened.

``{case, attempt, turns: [{prompt, reply, citations, prompt_tokens, completion_tokens, seconds, failure}],
node?, refusal_code?, tools_called?, model_calls?, context?, end_state?, cached?, failure?}``. Null means not
recorded. A field that is nearly one of these is refused as a misspelling; any other is left out and named
(``left_out``), since such files often carry a log's own columns. Source: docs/formats.md.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from experiments.evaluation.base import FrozenModel, JsonObject
from experiments.evaluation.evidence import (
    Citation,
    Evidence,
    ModelCall,
    Passage,
    Seconds,
    Tokens,
    ToolCall,
    Turn,
)
from experiments.evaluation.outcome import Cause, Failure, failure_of
from experiments.wire.body import CitationBody, ModelCallBody, PassageBody, ToolCallBody

_CLOSE = 0.8


class _Loose(FrozenModel):
    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    @model_validator(mode="after")
    def _no_misspelling(self) -> Self:
        for name in self.model_extra or ():
            close = get_close_matches(name, type(self).model_fields, n=1, cutoff=_CLOSE)
            if close:
                raise ValueError(f"unknown field {name[:80]}; did you mean {close[0]}?")
        return self


class TurnLine(_Loose):
    """One user turn and what came back; ``failure`` may stand beside a reply."""

    prompt: str | None = None
    reply: str | None = None
    citations: tuple[CitationBody, ...] | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    seconds: Seconds | None = None
    failure: str | None = None

    def value(self) -> Turn:
        cited: tuple[Citation, ...] = tuple(citation.value() for citation in self.citations or ())
        return Turn(
            prompt=self.prompt or "",
            reply=self.reply,
            citations=cited,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=self.seconds,
            failure=self.failure,
        )


class FailureLine(_Loose):
    """Why the system was not reached."""

    kind: Literal["NOT_REACHED"] = "NOT_REACHED"
    cause: Cause
    detail: str | None = None


class EvidenceLine(_Loose):
    """One attempt. Without ``failure`` it must say what its turns were."""

    case: str = Field(min_length=1, max_length=200)
    attempt: int = Field(default=1, ge=1, le=1_000_000, strict=True)
    turns: tuple[TurnLine, ...] | None = None
    node: str | None = None
    refusal_code: str | None = None
    tools_called: tuple[ToolCallBody, ...] | None = None
    model_calls: tuple[ModelCallBody, ...] | None = None
    context: tuple[PassageBody, ...] | None = None
    end_state: JsonObject | None = None
    cached: bool = Field(default=False, strict=True)
    failure: FailureLine | None = None

    @model_validator(mode="after")
    def _something_happened(self) -> Self:
        if self.turns is None and self.failure is None:
            raise ValueError("turns is required unless failure says why there are none")
        return self

    def evidence(self) -> Evidence:
        """What the attempt left, as the core reads it."""
        tools: tuple[ToolCall, ...] | None = _values(self.tools_called)
        calls: tuple[ModelCall, ...] | None = _values(self.model_calls)
        passages: tuple[Passage, ...] | None = _values(self.context)
        return Evidence(
            turns=tuple(turn.value() for turn in self.turns or ()),
            node=self.node,
            refusal_code=self.refusal_code,
            tools_called=tools,
            model_calls=calls,
            context=passages,
            end_state=self.end_state,
            cached=self.cached,
        )

    def attempt_failure(self) -> Failure | None:
        """The failure the line records, or the one its turns show (a blank reply is NO_REPLY), or None."""
        if self.failure is not None:
            return Failure(cause=self.failure.cause, detail=self.failure.detail or "")
        return failure_of(self.evidence())

    def left_out(self) -> Iterator[str]:
        """Names of fields that mean nothing here: ``model``, ``turns.latency``."""
        yield from self.model_extra or ()
        for turn in self.turns or ():
            yield from (f"turns.{name}" for name in turn.model_extra or ())


def _values(bodies: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if bodies is None else tuple(body.value() for body in bodies)
