"""Criteria and messages as an author types them, read by the rules a suite file is read by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from experiments.admin import notation
from experiments.evaluation import CriterionSpec, FrozenModel
from experiments.hooks import load_hooks
from experiments.transfer.suite_file import shape_sentence
from experiments.wire.suite import CriterionEntry, Key, Sentence

_CRITERIA = TypeAdapter(tuple[CriterionEntry, ...])
_MESSAGES = TypeAdapter(dict[Key, Sentence])


def shown_criteria(criteria: tuple[CriterionSpec, ...]) -> str:
    """Criteria as the list a suite file holds, without what only repeats a default."""
    return notation.show_document(
        [
            {
                "kind": spec.kind,
                **spec.params,
                **({} if spec.weight is None else {"weight": _short(spec.weight)}),
                **({"gate": True} if spec.gate else {}),
            }
            for spec in criteria
        ]
    )


def _short(weight: float) -> float | int:
    return int(weight) if weight.is_integer() else weight


def read_criteria(text: str) -> tuple[tuple[CriterionSpec, ...], list[str]]:
    """The criteria in a text, or every reason why it holds none."""
    try:
        written = notation.read_document(text, of=list)
        entries = _CRITERIA.validate_python(written, context={"registry": load_hooks().criteria})
    except notation.NotationError as refused:
        return (), [str(refused)]
    except ValidationError as refused:
        return (), [
            in_criteria(tuple(details["loc"]), shape_sentence(details), written)
            for details in refused.errors(include_url=False)
        ]
    return tuple(entry.spec() for entry in entries), []


def read_messages(text: str) -> tuple[dict[str, str], list[str]]:
    """The messages by code in a text, or every reason why it holds none."""
    try:
        return _MESSAGES.validate_python(notation.read_document(text, of=dict)), []
    except notation.NotationError as refused:
        return {}, [str(refused)]
    except ValidationError as refused:
        problems = refused.errors(include_url=False)
        return {}, [f"{details['loc'][0]}: {shape_sentence(details)}" for details in problems]


def in_criteria(place: tuple[str | int, ...], sentence: str, criteria: list[Any]) -> str:
    """Names the entry, its kind and the parameter: `2. reply.max_length, max: is required`."""
    index = place[0] if place and isinstance(place[0], int) else None
    given = criteria[index] if index is not None and index < len(criteria) else None
    kind = str(given.get("kind", "")) if isinstance(given, Mapping) else ""
    number = f"{index + 1}. " if index is not None else ""
    named = ", ".join(part for part in (kind, ".".join(str(part) for part in place[1:])) if part)
    return f"{number}{named}: {sentence}" if named else f"{number}{sentence}"


@dataclass(frozen=True)
class KindLine:
    """A kind an author can use, with its parameters as `name` or `name (default)`."""

    name: str
    parameters: tuple[str, ...]
    needs: tuple[str, ...]


def known_kinds() -> Iterator[KindLine]:
    """Every registered kind, the team's own too."""
    registry = load_hooks().criteria
    for name in registry:
        yield KindLine(
            name, tuple(_parameters(registry.get(name).params_model)), tuple(sorted(registry.needs(name)))
        )


def known_metrics() -> Iterator[KindLine]:
    """Every registered metric with its parameters."""
    for metric in load_hooks().metrics:
        name = f"{metric.id} v{metric.version}"
        yield KindLine(name, tuple(_parameters(metric.params_model)), tuple(sorted(metric.needs)))


def _parameters(model: type[FrozenModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if field.is_required():
            yield name
        else:
            default = field.get_default(call_default_factory=True)
            yield f"{name} ({_default(default)})"


def _default(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return notation.show_value([str(item) for item in value])
    return notation.show_value(
        value if isinstance(value, bool | int | float) or value is None else str(value)
    )
