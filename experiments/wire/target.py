"""The target contract's bodies (``docs/target-contract.md``) and how a target is configured.

``GET /capabilities``, ``POST /prepare``, ``POST /submit``, ``POST /release``. Token counts are tokens,
durations seconds. None means the service did not say; it is never read as zero.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from experiments.evaluation.base import FrozenModel, JsonObject
from experiments.evaluation.evidence import Tokens
from experiments.evaluation.setup import EvalSetup, FailingTool, Fixture
from experiments.wire.body import Body, CitationBody, ModelCallBody, PassageBody, ToolCallBody
from experiments.wire.fields import BaseUrl, Seconds
from experiments.wire.secrets import SecretRef


class CapabilitiesBody(Body):
    """``GET /capabilities``: the service's version and what it can build, break and report."""

    version: str = Field(min_length=1, max_length=200)
    fixtures: dict[str, str] = {}
    breakable_tools: tuple[str, ...] = ()
    emittable_nodes: tuple[str, ...] = ()


class NoneSetupBody(Body):
    kind: Literal["none"] = "none"


class FixtureBody(Body):
    kind: Literal["fixture"] = "fixture"
    name: str
    parameters: JsonObject = {}


class FailingToolBody(Body):
    """Break ``tool`` so that it answers ``message``, then build ``then``."""

    kind: Literal["failing_tool"] = "failing_tool"
    tool: str
    message: str = ""
    then: "SetupBody" = NoneSetupBody()


SetupBody = Annotated[NoneSetupBody | FixtureBody | FailingToolBody, Field(discriminator="kind")]


class PrepareRequest(Body):
    """``POST /prepare``."""

    setup: SetupBody


class PrepareReply(Body):
    """Either ``session_id`` or ``failed`` (the reason); both or neither breaks the contract."""

    session_id: str | None = Field(default=None, min_length=1, max_length=1000)
    failed: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "PrepareReply":
        if (self.session_id is None) == (self.failed is None):
            raise ValueError("exactly one of session_id and failed is wanted")
        return self


class SubmitRequest(Body):
    """``POST /submit``; the same ``idempotency_key`` may arrive twice after a crash."""

    session_id: str
    text: str
    idempotency_key: str


class UsageBody(Body):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None


class SubmitReply(Body):
    """What the service said to one turn. ``reply`` may be null: that is NO_REPLY, decided by the runner."""

    reply: str | None = None
    node: str | None = None
    citations: tuple[CitationBody, ...] | None = None
    refusal_code: str | None = None
    tools_called: tuple[ToolCallBody, ...] | None = None
    model_calls: tuple[ModelCallBody, ...] | None = None
    context: tuple[PassageBody, ...] | None = None
    usage: UsageBody | None = None
    end_state: JsonObject | None = None
    failure: str | None = None
    cached: bool = False


class ReleaseRequest(Body):
    """``POST /release``, optional: the session is no longer needed."""

    session_id: str


def prepare_request(setup: EvalSetup) -> PrepareRequest:
    """The ``/prepare`` body of a setup.

    The turns of a Replay are sent one by one through ``/submit``, so here a Replay is "none", also
    inside a FailingTool.
    """
    return PrepareRequest(setup=_setup_body(setup))


def _setup_body(setup: EvalSetup) -> NoneSetupBody | FixtureBody | FailingToolBody:
    if isinstance(setup, Fixture):
        return FixtureBody(name=setup.name, parameters=setup.parameters)
    if isinstance(setup, FailingTool):
        return FailingToolBody(tool=setup.tool, message=setup.message, then=_setup_body(setup.then))
    return NoneSetupBody()


class ContractHttpConfig(FrozenModel):
    """A service that implements the target contract over HTTP.

    ``token``: sent as ``Authorization: Bearer``, by reference only. ``total_seconds`` bounds one request,
    ``max_reply_bytes`` one response body.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    adapter: Literal["contract_http"] = "contract_http"
    url: BaseUrl
    token: SecretRef | None = None
    connect_seconds: Seconds = 5.0
    read_seconds: Seconds = 60.0
    total_seconds: Seconds = 120.0
    max_reply_bytes: int = Field(default=4 * 1024 * 1024, ge=1024, le=64 * 1024 * 1024)


TargetConfig = ContractHttpConfig
"""Every adapter's configuration, told apart by ``adapter``; a second adapter makes it a union."""

_ADAPTERS: dict[str, type[TargetConfig]] = {"contract_http": ContractHttpConfig}


def target_config(data: dict[str, Any]) -> TargetConfig:
    """The stored configuration as a value; ValueError (pydantic's is one) with the reason otherwise."""
    adapter = data.get("adapter", "contract_http")
    model = _ADAPTERS.get(adapter) if isinstance(adapter, str) else None
    if model is None:
        raise ValueError(f"unknown adapter; known: {', '.join(sorted(_ADAPTERS))}")
    return model.model_validate(data)
