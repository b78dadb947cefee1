"""Suite files in and out: YAML or JSON to a checked document, with every problem at once."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from experiments.evaluation.criteria import CriterionRegistry
from experiments.evaluation.metrics import MetricRegistry
from experiments.evaluation.text import to_json
from experiments.transfer.problems import FileRefusedError, Place, Problem, capped, file_name, problem
from experiments.transfer.reading import read_document
from experiments.transfer.trees import Tree, read_tree
from experiments.wire import suite as wire
from experiments.wire.suite import CaseEntry, SuiteDocument, plain_suite
from experiments.wire.suite_rules import Finding, suite_findings, suite_warnings


@dataclass(frozen=True)
class SuiteFile:
    """A suite that may be used, and what in it is perhaps not meant."""

    document: SuiteDocument
    warnings: tuple[Problem, ...]


def read_suite(path: Path, criteria: CriterionRegistry, metrics: MetricRegistry) -> SuiteFile:
    """The suite in the file; FileRefusedError with every problem, each with its line and path."""
    return parse_suite(read_document(path), file_name(path), criteria, metrics)


def parse_suite(text: str, file: str, criteria: CriterionRegistry, metrics: MetricRegistry) -> SuiteFile:
    """The suite in a text; ``file`` is how problems name it and tells JSON from YAML."""
    tree = read_tree(text, file)
    if not isinstance(tree.value, dict):
        raise FileRefusedError([problem(file, "is no suite: its top level must be a mapping", line=1)])
    problems: list[Problem] = []
    document: SuiteDocument | None = None
    context = {"registry": criteria}
    try:
        document = SuiteDocument.model_validate(tree.value, context=context)
    except ValidationError as refused:
        problems += [_shape_problem(details, tree, file) for details in refused.errors(include_url=False)]
    entries = dict(enumerate(document.cases)) if document else _right_cases(tree.value, context)
    findings = suite_findings(
        entries,
        _list(tree.value, "cases"),
        messages=_mapping(tree.value, "messages"),
        graded_by_suite=bool(_list(tree.value, "criteria")),
        metrics=metrics,
    )
    problems += [_placed(finding, tree, file) for finding in findings]
    if problems or document is None:
        problems.sort(key=lambda one: one.line or 0)
        raise FileRefusedError(capped(problems, file))
    warnings = [_placed(finding, tree, file) for finding in suite_warnings(entries, metrics)]
    return SuiteFile(document, tuple(capped(warnings, file)))


def suite_yaml(document: SuiteDocument) -> str:
    """The suite as the YAML a repository keeps; reading it gives the same document."""
    return yaml.dump(
        plain_suite(document),
        Dumper=_SuiteDumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )


class _SuiteDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and quotes line breaks that YAML would fold."""

    def text(self, value: str) -> yaml.ScalarNode:
        style = '"' if _FOLDED.search(value) else "|" if "\n" in value else None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_FOLDED = re.compile("[\r\x85\u2028\u2029\ufeff]")
_SuiteDumper.add_representer(str, _SuiteDumper.text)


def suite_json(document: SuiteDocument) -> str:
    """The suite as JSON on one line."""
    return to_json(plain_suite(document)) + "\n"


def _list(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _right_cases(value: dict[str, Any], context: dict[str, Any]) -> dict[int, CaseEntry]:
    """The cases whose own shape is right, by place."""
    right: dict[int, CaseEntry] = {}
    for place, case in enumerate(_list(value, "cases")):
        try:
            right[place] = CaseEntry.model_validate(case, context=context)
        except ValidationError:
            continue
    return right


def _placed(finding: Finding, tree: Tree, file: str) -> Problem:
    path, sentence = finding
    return problem(file, sentence, line=tree.line(path), path=path)


def _shape_problem(details: ErrorDetails, tree: Tree, file: str) -> Problem:
    path: Place = tuple(details["loc"])
    real = tree.real_path(path, keep_last=details["type"] == "missing")
    return problem(file, shape_sentence(details), line=tree.line(real), path=real)


_FIELDS = sorted(
    {
        name
        for model in vars(wire).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name in model.model_fields
    }
)

_SENTENCES = {
    "missing": "is required",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "tuple_type": "must be a list",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "union_tag_not_found": "must name its kind",
    "string_unicode": "must not hold broken characters",
}


def shape_sentence(details: ErrorDetails) -> str:
    """One of pydantic's findings in the words of this product."""
    kind, given = details["type"], details.get("input")
    if kind == "extra_forbidden":
        name = str(details["loc"][-1])
        close = [one for one in get_close_matches(name, _FIELDS, n=1, cutoff=0.75) if one != name]
        return f"unknown field; did you mean {close[0]}?" if close else "unknown field"
    if kind == "string_type":
        scalar = isinstance(given, bool | int | float)
        return "must be text; put it in quotes" if scalar else "must be text"
    if kind == "literal_error" and details["loc"] == ("format",):
        return f"must be {wire.FORMAT}"
    return _SENTENCES.get(kind, details["msg"].removeprefix("Value error, ").removeprefix("Input "))
