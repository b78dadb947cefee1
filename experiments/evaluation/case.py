"""One thing to test, and the two fingerprints that say when two versions of it are the same."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel, JsonObject
from experiments.evaluation.setup import EvalSetup, NoSetup
from experiments.evaluation.text import sha256_of


class Behaviour(StrEnum):
    """What the assistant should do with the graded turn."""

    answer = "answer"
    refuse = "refuse"
    abstain = "abstain"


class MetricRef(FrozenModel):
    """A metric by name and version; `params` are the metric's own and part of the case."""

    id: Annotated[str, Field(min_length=1)]
    version: Annotated[int, Field(ge=1)] = 1
    params: JsonObject = {}


class SourceRoles(FrozenModel):
    """The roles of sources for one case, as ids that are paths (`gdpr/art:17/par:1`).

    `required` holds groups: a group is covered when any of its sources is cited.
    """

    required: tuple[tuple[str, ...], ...] = ()
    acceptable: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


class Nugget(FrozenModel):
    """A fact a good answer states; only vital ones count in coverage."""

    text: str
    vital: bool = True


class CriterionSpec(FrozenModel):
    """A criterion by kind, with the kind's parameters.

    `weight` None means the kind's default; 0 is informational. A failed gate fails the attempt at any score.
    """

    kind: Annotated[str, Field(min_length=1)]
    params: JsonObject = {}
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    gate: bool = False


class EvalCase(FrozenModel):
    """One thing to test.

    `id` is the stable key, `turn` the graded user turn, `expected` one sentence on what a correct answer
    does. The expectation is `spec_node`, `required_phrases` or `metric`; several may be set and routing
    picks one. `message` is the code of the project message a refusal must give and `message_text` its text;
    `variant_of` the id of the base case; `reference` the reference answer that metrics read.
    """

    id: Annotated[str, Field(min_length=1)]
    turn: str
    expected: str = ""
    spec_node: str | None = None
    required_phrases: tuple[str, ...] = ()
    metric: MetricRef | None = None
    setup: EvalSetup = NoSetup()
    behaviour: Behaviour | None = None
    message: str | None = None
    message_text: str | None = None
    sources: SourceRoles = SourceRoles()
    nuggets: tuple[Nugget, ...] = ()
    variant_of: str | None = None
    reference: str | None = None
    tags: tuple[str, ...] = ()
    criteria: tuple[CriterionSpec, ...] = ()


Case = EvalCase


def asked_fingerprint(case: EvalCase) -> str:
    """sha256 of what the system is asked: turn, setup and the base case it is a variant of."""
    return sha256_of(
        {"turn": case.turn, "setup": case.setup.model_dump(mode="python"), "variant_of": case.variant_of}
    )


def graded_fingerprint(case: EvalCase) -> str:
    """sha256 of what the reply is graded by: expectation, expected outcome, behaviour, sources, criteria ...

    The order of sources within a role means nothing to any criterion, so it does not enter the hash: a
    decision and its undoing give the same fingerprint.
    """
    return sha256_of(
        {
            "expected": case.expected,
            "spec_node": case.spec_node,
            "required_phrases": case.required_phrases,
            "metric": case.metric.model_dump() if case.metric else None,
            "behaviour": case.behaviour,
            "message": case.message,
            "message_text": case.message_text,
            "sources": {
                "required": sorted(sorted(set(group)) for group in case.sources.required),
                "acceptable": sorted(set(case.sources.acceptable)),
                "forbidden": sorted(set(case.sources.forbidden)),
            },
            "nuggets": [nugget.model_dump() for nugget in case.nuggets],
            "reference": case.reference,
            "criteria": [spec.model_dump() for spec in case.criteria],
        }
    )
