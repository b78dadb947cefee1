"""The system under test, as the runner sees it: one protocol, every adapter behind it.

An adapter translates its own service's errors to ``TargetError`` and never retries: when and how often
is decided in one place, ``experiments.runner.retry``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from experiments.evaluation import Citation, EvalSetup, ModelCall, Passage, ToolCall


class TargetError(Exception):
    """The target gave no usable answer. ``detail`` is one sentence that holds no secret.

    ``permanent``: asking again will not help. ``retry_after``: seconds the service asked us to wait.
    ``timed_out``: nothing came in time (never retried: the service may still be working on it).
    """

    def __init__(
        self,
        detail: str,
        *,
        permanent: bool,
        retry_after: float | None = None,
        timed_out: bool = False,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.permanent = permanent
        self.retry_after = retry_after
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target says it can do. Empty ``emittable_nodes`` means it did not say which nodes it emits."""

    version: str
    fixtures: Mapping[str, str] = field(default_factory=dict)
    breakable_tools: tuple[str, ...] = ()
    emittable_nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """A session that stands as the setup asked."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SetupFailed:
    """The target could not build the setup, and says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the target said to one turn. None means "not recorded", never zero or empty.

    ``failure``: a failure the service itself reports for this turn. ``notes``: what was replaced or cut
    in it. ``incomplete``: only a part could be read; it is kept as evidence and never graded.
    """

    text: str | None
    node: str | None = None
    citations: tuple[Citation, ...] = ()
    refusal_code: str | None = None
    tools_called: tuple[ToolCall, ...] | None = None
    model_calls: tuple[ModelCall, ...] | None = None
    context: tuple[Passage, ...] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    end_state: Mapping[str, Any] | None = None
    failure: str | None = None
    cached: bool = False
    notes: tuple[str, ...] = ()
    incomplete: bool = False


class Target(Protocol):
    """One lane's connection to the system under test. Used by one attempt at a time, in one event loop."""

    async def capabilities(self) -> Capabilities:
        """What the target can build, break and emit; TargetError when it cannot be reached."""
        ...

    async def prepare(self, setup: EvalSetup) -> Ready | SetupFailed:
        """A new session with the fixture built and the tool broken. The turns of a Replay are not sent
        here: the runner speaks them. TargetError when the target gives no usable answer."""
        ...

    async def submit(self, session_id: str, text: str, idempotency_key: str) -> Reply:
        """One turn of the conversation; TargetError when there is no usable answer."""
        ...

    async def release(self, session_id: str) -> None:
        """The session is no longer needed. TargetError is possible and means nothing."""
        ...

    async def aclose(self) -> None:
        """Close connections. Safe to call twice."""
        ...
