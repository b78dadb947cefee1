"""What a suite must keep beyond the shape of its parts: rules over several fields or cases at once.

Each rule yields ``(path, sentence)`` and looks only at cases whose own shape is right, so that one file's
problems all come at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.evaluation.case import Behaviour, MetricRef
from experiments.evaluation.contradiction import case_contradictions
from experiments.evaluation.metrics import MetricParamsError, MetricRegistry
from experiments.evaluation.text import is_blank
from experiments.wire.suite import CaseEntry

Finding = tuple[tuple[str | int, ...], str]


def suite_findings(
    entries: Mapping[int, CaseEntry],
    raw_cases: Sequence[Any],
    *,
    messages: Mapping[str, Any],
    graded_by_suite: bool,
    metrics: MetricRegistry,
) -> Iterator[Finding]:
    """Every reason to refuse the suite, beyond the shape of its parts.

    ``entries``: the cases whose shape is right, by place. ``raw_cases``: every case as written, so that ids
    and references are checked in a case with another mistake too. ``graded_by_suite``: the suite has criteria
    of its own.
    """
    texts = [_texts(case) for case in raw_cases]
    yield from _duplicates([case.get("id") for case in texts])
    known = {case["id"] for case in texts if "id" in case}
    variants = {case["id"] for case in texts if "id" in case and "variant_of" in case}
    for place, case in enumerate(texts):
        for path, sentence in _reference_findings(case, known, variants, messages):
            yield ("cases", place, *path), sentence
    for place, entry in entries.items():
        for path, sentence in _case_findings(entry, graded_by_suite, metrics):
            yield ("cases", place, *path), sentence


def _texts(case: Any) -> dict[str, str]:
    """The fields of a case as written that hold text, whatever else is wrong with it."""
    fields = case.items() if isinstance(case, dict) else ()
    return {key: value for key, value in fields if isinstance(value, str)}


def suite_warnings(entries: Mapping[int, CaseEntry], metrics: MetricRegistry) -> Iterator[Finding]:
    """What is allowed and perhaps not meant."""
    for place, entry in entries.items():
        named = [
            name
            for name, given in (
                ("spec_node", entry.spec_node),
                ("required_phrases", entry.required_phrases),
                ("metric", entry.metric),
            )
            if given
        ]
        for unused in named[1:]:
            yield ("cases", place, unused), f"is not used: {named[0]} settles the case"
        if entry.behaviour is Behaviour.refuse and entry.message is None:
            yield ("cases", place, "behaviour"), "refuse without a message: no refusal code is checked"
        if entry.metric and metrics.find(MetricRef(**entry.metric.model_dump())) is None:
            said = f"no metric registered for {entry.metric.id} v{entry.metric.version}"
            yield ("cases", place, "metric"), f"{said}: attempts will be inconclusive"


def _duplicates(ids: Sequence[str | None]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for place, one in enumerate(ids):
        if one is not None and first.setdefault(one, place) != place:
            yield ("cases", place, "id"), f"the id {one} is taken by cases[{first[one]}]"


def _reference_findings(
    case: Mapping[str, str], known: set[str], variants: set[str], messages: Mapping[str, Any]
) -> Iterator[Finding]:
    base, message = case.get("variant_of"), case.get("message")
    if base is not None:
        if base == case.get("id"):
            yield ("variant_of",), "a case cannot be a variant of itself"
        elif base not in known:
            yield ("variant_of",), f"no case {base} in this suite"
        elif base in variants:
            yield ("variant_of",), f"{base} is itself a variant"
    if message is not None and message not in messages:
        yield ("message",), f"no message {message} among the suite's messages"


def _case_findings(entry: CaseEntry, graded_by_suite: bool, metrics: MetricRegistry) -> Iterator[Finding]:
    for field, sentence in case_contradictions(entry.turn, entry.expected, entry.required_phrases):
        name, _, index = field.partition("[")
        yield ((name, int(index.rstrip("]"))) if index else (name,)), sentence
    if not (graded_by_suite or entry.criteria or _has_expectation(entry)):
        yield (), "nothing settles this case: no expectation, no expected outcome and no criterion"
    yield from _metric_findings(entry, metrics)


def _has_expectation(entry: CaseEntry) -> bool:
    named = (entry.spec_node, entry.required_phrases, entry.metric)
    return any(named) or not is_blank(entry.expected)


def _metric_findings(entry: CaseEntry, metrics: MetricRegistry) -> Iterator[Finding]:
    if entry.metric is None:
        return
    ref = MetricRef(**entry.metric.model_dump())
    if metrics.find(ref) is not None:
        try:
            metrics.validate(ref)
        except MetricParamsError as refused:
            for path, sentence in refused.problems:
                said = sentence.removeprefix("Value error, ").removeprefix("Input ")
                yield ("metric", *path), _WORDS.get(sentence, said)


_WORDS = {"Field required": "is required", "Extra inputs are not permitted": "unknown parameter"}
