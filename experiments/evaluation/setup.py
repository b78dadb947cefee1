"""What is arranged before the graded turn is sent: a closed union, told apart by `kind`."""

from typing import Annotated, Literal

from pydantic import Field

from experiments.evaluation.base import FrozenModel, JsonObject


class NoSetup(FrozenModel):
    """The graded turn opens the conversation."""

    kind: Literal["none"] = "none"


class Replay(FrozenModel):
    """The user turns really sent one by one before the graded turn: the only setup that walks a path."""

    kind: Literal["replay"] = "replay"
    user_turns: Annotated[tuple[str, ...], Field(min_length=1)]


class Fixture(FrozenModel):
    """A state the system puts itself into, by name: seeded, so it proves no path to that state."""

    kind: Literal["fixture"] = "fixture"
    name: str
    parameters: JsonObject = {}


class FailingTool(FrozenModel):
    """The system's `tool` answers every call with the error `message`; `then` is arranged after that."""

    kind: Literal["failing_tool"] = "failing_tool"
    tool: str
    message: str
    then: "EvalSetup" = NoSetup()


EvalSetup = Annotated[NoSetup | Replay | Fixture | FailingTool, Field(discriminator="kind")]
FailingTool.model_rebuild()


def layers(setup: EvalSetup) -> tuple[EvalSetup, ...]:
    """The setup and everything it wraps, outermost first."""
    found: list[EvalSetup] = [setup]
    while isinstance(found[-1], FailingTool):
        found.append(found[-1].then)
    return tuple(found)


def walks(setup: EvalSetup) -> bool:
    """Whether the setup proves that its state can be reached: a `Replay`, also inside `FailingTool`."""
    return isinstance(layers(setup)[-1], Replay)


def is_seeded(setup: EvalSetup) -> bool:
    """Whether the setup is or wraps a `Fixture`."""
    return isinstance(layers(setup)[-1], Fixture)
