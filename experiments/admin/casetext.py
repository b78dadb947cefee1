"""A case as the texts of a form, as a suite entry, and findings about an entry at their form fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from experiments.admin import notation
from experiments.admin.criteriatext import in_criteria, shown_criteria
from experiments.evaluation import EvalCase, FailingTool, Fixture, Replay, layers
from experiments.evaluation.text import printable

_KIND_FIELDS = {"replay": "replay", "fixture": "fixture", "failing_tool": "failing_tools"}


def plain_entry(case: EvalCase) -> dict[str, Any]:
    """A stored case as the entry of a suite file."""
    plain = case.model_dump(exclude={"message_text"})
    plain["criteria"] = [
        {**spec.params, "kind": spec.kind, "weight": spec.weight, "gate": spec.gate} for spec in case.criteria
    ]
    return plain


def shown_case(case: EvalCase) -> dict[str, Any]:
    """A case as the texts of the form's fields; what no page can hold (NUL, lone surrogates) as U+FFFD."""
    parts = layers(case.setup)
    start = parts[-1]
    texts = {
        "turn": case.turn,
        "expected": case.expected,
        "behaviour": case.behaviour or "",
        "message": case.message or "",
        "tags": notation.show_tags(case.tags),
        "spec_node": case.spec_node or "",
        "required_phrases": notation.show_lines(case.required_phrases),
        "metric_id": case.metric.id if case.metric else "",
        "metric_version": case.metric.version if case.metric else "",
        "metric_params": notation.show_document(case.metric.params) if case.metric else "",
        "start": start.kind,
        "replay": notation.show_lines(start.user_turns) if isinstance(start, Replay) else "",
        "fixture": start.name if isinstance(start, Fixture) else "",
        "fixture_parameters": notation.show_document(start.parameters) if isinstance(start, Fixture) else "",
        "failing_tools": notation.show_tools(
            [(part.tool, part.message) for part in parts if isinstance(part, FailingTool)]
        ),
        "variant_of": case.variant_of or "",
        "required_sources": notation.show_groups(case.sources.required),
        "acceptable_sources": notation.show_lines(case.sources.acceptable),
        "forbidden_sources": notation.show_lines(case.sources.forbidden),
        "nuggets": notation.show_nuggets([nugget.model_dump() for nugget in case.nuggets]),
        "reference": case.reference or "",
        "criteria": shown_criteria(case.criteria),
    }
    return {name: printable(text) if isinstance(text, str) else text for name, text in texts.items()}


def placed(path: tuple[str | int, ...], sentence: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """The field a finding belongs to, and the sentence with the place inside that field."""
    head, rest = (str(path[0]), path[1:]) if path else ("", ())
    if head.startswith("required_phrases"):
        return "required_phrases", sentence
    if head == "id":
        return "key", sentence
    if head == "criteria":
        return "criteria", in_criteria(rest, sentence, entry["criteria"])
    if head == "sources" and rest:
        number = next((part + 1 for part in rest[1:2] if isinstance(part, int)), None)
        return f"{rest[0]}_sources", f"line {number}: {sentence}" if number else sentence
    if head == "setup":
        field = next((_KIND_FIELDS[str(part)] for part in reversed(rest) if part in _KIND_FIELDS), "start")
        return ("fixture_parameters" if "parameters" in rest else field), sentence
    if head == "metric":
        within = ".".join(str(part) for part in rest[1:])
        field = {"id": "metric_id", "version": "metric_version"}.get(
            str(rest[0]) if rest else "", "metric_params"
        )
        return field, f"{within}: {sentence}" if within else sentence
    numbered = next((part + 1 for part in rest[:1] if isinstance(part, int)), None)
    return head, f"line {numbered}: {sentence}" if numbered else sentence


def as_far_as_readable(entry: Mapping[str, Any]) -> EvalCase:
    """A case from the parts of an entry that stand on their own, for a preview of a form with mistakes."""
    kept: dict[str, Any] = {"id": entry.get("id") or "new", "turn": str(entry.get("turn") or "")}
    for name in ("expected", "spec_node", "required_phrases", "metric", "setup", "reference"):
        try:
            EvalCase.model_validate({**kept, name: entry.get(name)})
        except ValidationError:
            continue
        kept[name] = entry.get(name)
    return EvalCase.model_validate(kept)
