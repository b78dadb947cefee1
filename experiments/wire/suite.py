"""The suite document ``evalsite/suite@1``: what the admin imports and exports and a repository keeps.

Source: docs/formats.md. A document is validated with the registries in the validation context, so an
unknown criterion or parameter is refused where it stands; what concerns several parts of it at once is in
``suite_rules``. ``to_cases`` and ``from_cases`` keep both fingerprints.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from experiments.evaluation.base import FrozenModel, JsonObject, check_json
from experiments.evaluation.case import (
    Behaviour,
    CriterionSpec,
    EvalCase,
    MetricRef,
    Nugget,
    SourceRoles,
)
from experiments.evaluation.criteria import CriterionParamsError, CriterionRegistry
from experiments.evaluation.setup import EvalSetup, FailingTool, Fixture, NoSetup, Replay
from experiments.evaluation.text import is_blank, is_storable

FORMAT = "evalsite/suite@1"


def _name(value: str) -> str:
    if not is_storable(value) or any(ord(character) < 32 for character in value):
        raise ValueError("must not hold control characters")
    if value != value.strip():
        raise ValueError("must not begin or end with white space")
    return value


def _not_blank(value: str) -> str:
    if is_blank(value):
        raise ValueError("must not be blank")
    return value


Key = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_name)]
SourceId = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_name)]
Sentence = Annotated[str, AfterValidator(_not_blank)]
SuiteName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]


def _some(value: Any) -> Any:
    # Before the parts are read: afterwards a list whose parts are all wrong would count as empty too.
    if isinstance(value, list | tuple) and not value:
        raise ValueError("must hold at least one")
    return value


Group = Annotated[tuple[SourceId, ...], BeforeValidator(_some)]


class Document(FrozenModel):
    """A document of ours: unknown fields are refused, values are never repeated in errors."""

    model_config = ConfigDict(hide_input_in_errors=True)


class CriterionEntry(Document):
    """A criterion as a suite writes it: ``{kind, weight?, gate?, ...the kind's own parameters}``."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1)
    weight: float | None = Field(default=None, ge=0, strict=True, allow_inf_nan=False)
    gate: bool = Field(default=False, strict=True)

    @field_validator("kind")
    @classmethod
    def _registered(cls, kind: str, info: ValidationInfo) -> str:
        registry = _registry(info)
        if registry is not None and kind not in registry:
            try:
                registry.get(kind)
            except CriterionParamsError as unknown:
                raise ValueError(unknown.problems[0][1]) from unknown
        return kind

    @model_validator(mode="after")
    def _parameters_fit(self, info: ValidationInfo) -> Self:
        check_json(self.model_extra)
        registry = _registry(info)
        if registry is not None and self.kind in registry:
            # pydantic keeps the paths of a ValidationError that is raised in here.
            registry.get(self.kind).params_model.model_validate(self.model_extra or {})
        return self

    def spec(self) -> CriterionSpec:
        return CriterionSpec(
            kind=self.kind, params=dict(self.model_extra or {}), weight=self.weight, gate=self.gate
        )

    @classmethod
    def of(cls, spec: CriterionSpec) -> Self:
        given = {**spec.params, "kind": spec.kind, "weight": spec.weight, "gate": spec.gate}
        return cls.model_validate(given)


def _registry(info: ValidationInfo) -> CriterionRegistry | None:
    return info.context.get("registry") if isinstance(info.context, dict) else None


_SHORT = ("none", "replay", "fixture", "failing_tool")


def _long_setup(value: Any) -> Any:
    """The core's form of a setup from any way a suite may write it."""
    if value is None or value == "none":
        return {"kind": "none"}
    if not isinstance(value, dict) or "kind" in value:
        return value
    named = [key for key in _SHORT if key in value]
    if len(named) != 1:
        raise ValueError(f"must name exactly one of {', '.join(_SHORT)}")
    kind, rest = named[0], {key: inner for key, inner in value.items() if key != named[0]}
    inner = value[kind]
    if kind == "none":
        return {"kind": kind, **rest}
    if kind == "replay":
        return {"kind": kind, "user_turns": inner, **rest}
    named_by = "name" if kind == "fixture" else "tool"
    long = {**(inner if isinstance(inner, dict) else {named_by: inner}), **rest, "kind": kind}
    if "then" in long:
        long["then"] = _long_setup(long["then"])
    return long


def _short_setup(setup: EvalSetup) -> Any:
    """A setup as a suite file writes it."""
    if isinstance(setup, Replay):
        return {"replay": list(setup.user_turns)}
    if isinstance(setup, Fixture):
        parameters = {"parameters": setup.parameters} if setup.parameters else {}
        return {"fixture": {"name": setup.name, **parameters}}
    if isinstance(setup, FailingTool):
        then = {} if isinstance(setup.then, NoSetup) else {"then": _short_setup(setup.then)}
        return {"failing_tool": {"tool": setup.tool, "message": setup.message, **then}}
    return "none"


SetupEntry = Annotated[EvalSetup, BeforeValidator(_long_setup), PlainSerializer(_short_setup)]


class MetricEntry(Document):
    """``{id, version?, params?}``"""

    id: Key
    version: int = Field(default=1, ge=1, strict=True)
    params: JsonObject = {}


class SourcesEntry(Document):
    """Ids by role; ``required`` holds groups, one cited source of a group is enough."""

    required: tuple[Group, ...] = ()
    acceptable: tuple[SourceId, ...] = ()
    forbidden: tuple[SourceId, ...] = ()


class NuggetEntry(Document):
    """A fact a good answer states: ``{text, vital?}``."""

    text: Sentence
    vital: bool = Field(default=True, strict=True)


class CaseEntry(Document):
    """One case as a suite writes it; see ``EvalCase`` for what each field means."""

    id: Key
    turn: Sentence
    expected: str = ""
    spec_node: Sentence | None = None
    required_phrases: tuple[Sentence, ...] = ()
    metric: MetricEntry | None = None
    setup: SetupEntry = NoSetup()
    behaviour: Behaviour | None = None
    message: Key | None = None
    sources: SourcesEntry = SourcesEntry()
    nuggets: tuple[NuggetEntry, ...] = ()
    variant_of: Key | None = None
    reference: str | None = None
    tags: tuple[Key, ...] = ()
    criteria: tuple[CriterionEntry, ...] = ()

    def value(self, messages: Mapping[str, str]) -> EvalCase:
        """The case as the core knows it, with the text of its message."""
        return EvalCase(
            id=self.id,
            turn=self.turn,
            expected=self.expected,
            spec_node=self.spec_node,
            required_phrases=self.required_phrases,
            metric=MetricRef(**self.metric.model_dump()) if self.metric else None,
            setup=self.setup,
            behaviour=self.behaviour,
            message=self.message,
            message_text=messages.get(self.message) if self.message else None,
            sources=SourceRoles(**self.sources.model_dump()),
            nuggets=tuple(Nugget(text=nugget.text, vital=nugget.vital) for nugget in self.nuggets),
            variant_of=self.variant_of,
            reference=self.reference,
            tags=self.tags,
            criteria=tuple(entry.spec() for entry in self.criteria),
        )

    @classmethod
    def of(cls, case: EvalCase) -> Self:
        """The entry that gives this case again."""
        return cls(
            id=case.id,
            turn=case.turn,
            expected=case.expected,
            spec_node=case.spec_node,
            required_phrases=case.required_phrases,
            metric=MetricEntry(**case.metric.model_dump()) if case.metric else None,
            setup=case.setup,
            behaviour=case.behaviour,
            message=case.message,
            sources=SourcesEntry(**case.sources.model_dump()),
            nuggets=tuple(NuggetEntry(text=nugget.text, vital=nugget.vital) for nugget in case.nuggets),
            variant_of=case.variant_of,
            reference=case.reference,
            tags=case.tags,
            criteria=tuple(CriterionEntry.of(spec) for spec in case.criteria),
        )


class SuiteDocument(Document):
    """A whole suite. ``criteria`` grade every case; a case adds its own."""

    format: Literal["evalsite/suite@1"]
    suite: SuiteName
    pass_score: float = Field(default=1.0, ge=0, le=1, strict=True, allow_inf_nan=False)
    criteria: tuple[CriterionEntry, ...] = ()
    messages: dict[Key, Sentence] = {}
    cases: Annotated[tuple[CaseEntry, ...], BeforeValidator(_some)]


def to_cases(document: SuiteDocument) -> tuple[EvalCase, ...]:
    """The cases in the order written. The suite's own criteria are not in them: see ``suite_criteria``."""
    return tuple(entry.value(document.messages) for entry in document.cases)


def suite_criteria(document: SuiteDocument) -> tuple[CriterionSpec, ...]:
    """The criteria that grade every case of the suite."""
    return tuple(entry.spec() for entry in document.criteria)


def from_cases(
    name: str,
    cases: Iterable[EvalCase],
    *,
    criteria: Iterable[CriterionSpec] = (),
    pass_score: float = 1.0,
    messages: Mapping[str, str] | None = None,
) -> SuiteDocument:
    """The document that gives these cases again, with the same fingerprints."""
    kept = tuple(cases)
    told = {case.message: case.message_text for case in kept if case.message and case.message_text}
    return SuiteDocument(
        format=FORMAT,
        suite=name,
        pass_score=pass_score,
        criteria=tuple(CriterionEntry.of(spec) for spec in criteria),
        messages={**told, **(messages or {})},
        cases=tuple(CaseEntry.of(case) for case in kept),
    )


def plain_suite(document: SuiteDocument) -> dict[str, Any]:
    """The document as JSON values, without what only repeats a default."""
    # pydantic's own JSON mode breaks on a lone surrogate in a key.
    plain: dict[str, Any] = _plain(document.model_dump(mode="python", exclude_defaults=True))
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value
