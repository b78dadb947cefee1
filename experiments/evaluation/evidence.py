"""Everything recorded about one attempt. Immutable; None means "not recorded", never zero or empty."""

import math
from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel, JsonObject, JsonValue

Tokens = Annotated[int, Field(ge=0, le=1_000_000_000_000)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class Citation(FrozenModel):
    """A source the reply cites by id; `quote` when the system says which words it took."""

    id: str
    quote: str | None = None


class Turn(FrozenModel):
    """One user turn and what came back. `failure` is what went wrong on this turn, also beside a reply."""

    prompt: str
    reply: str | None = None
    citations: tuple[Citation, ...] = ()
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    seconds: Seconds | None = None
    failure: str | None = None


class ToolCall(FrozenModel):
    """One tool the system called; `result` is whatever JSON value came back."""

    name: str
    arguments: JsonObject = {}
    result: JsonValue = None
    failed: bool = False


class ModelCall(FrozenModel):
    """One call the system made to a language model."""

    model: str | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    seconds: Seconds | None = None


class Passage(FrozenModel):
    """One retrieved text the system had before it when it answered."""

    id: str
    text: str = ""


class Evidence(FrozenModel):
    """What one attempt left: its turns in order, the graded one last, and what the target reported beside
    them.

    `tools_called`, `model_calls`, `context` and `end_state` are None when the target does not report them; an
    empty tuple says there were none. `cached` marks a reply that was not made for this attempt. `cut` notes
    texts that had to be replaced or cut, one sentence each; `retries` each call to the target that was made
    again, and why, one sentence each.
    """

    turns: tuple[Turn, ...] = ()
    node: str | None = None
    refusal_code: str | None = None
    tools_called: tuple[ToolCall, ...] | None = None
    model_calls: tuple[ModelCall, ...] | None = None
    context: tuple[Passage, ...] | None = None
    end_state: JsonObject | None = None
    cached: bool = False
    cut: tuple[str, ...] = ()
    retries: tuple[str, ...] = ()

    @property
    def final_turn(self) -> Turn | None:
        """The graded turn, or None when nothing was sent."""
        return self.turns[-1] if self.turns else None

    @property
    def reply(self) -> str | None:
        """The reply to the graded turn, or None."""
        return self.turns[-1].reply if self.turns else None

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the graded turn, in the order cited."""
        return self.turns[-1].citations if self.turns else ()

    @property
    def prompt_tokens(self) -> int | None:
        """Prompt tokens over all turns; None when any turn reported none."""
        return _total([turn.prompt_tokens for turn in self.turns])

    @property
    def completion_tokens(self) -> int | None:
        """Completion tokens over all turns; None when any turn reported none."""
        return _total([turn.completion_tokens for turn in self.turns])

    @property
    def seconds(self) -> float | None:
        """Seconds over all turns; None when any turn has no duration."""
        known = [turn.seconds for turn in self.turns if turn.seconds is not None]
        return math.fsum(known) if self.turns and len(known) == len(self.turns) else None


def _total(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if figures and len(known) == len(figures) else None
