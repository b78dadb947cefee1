"""docs/criteria.md says what the registry does."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.evaluation.case import Behaviour, CriterionSpec, Nugget
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.outcome import CriterionStatus
from experiments.evaluation.ports import CriterionContext, JudgeRequest, JudgeResult
from tests.evaluation.criteria.helpers import LabellingJudge, TextCorpus, case, replied

PAGE = (Path(__file__).parents[3] / "docs" / "criteria.md").read_text(encoding="utf-8")
ENTRIES = {
    found[1]: found[2]
    for found in re.finditer(r"^### `([^`]+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


REPLY = "The refund is “due” by article 5."
LAW = TextCorpus({"law": "", "law/art:5": "A fee is due.", "a": "", "b": ""})
CASE = case(required=[["a"]], forbidden=["b"]).model_copy(
    update={
        "behaviour": Behaviour.answer,
        "message": "m",
        "message_text": "the refund",
        "nuggets": (Nugget(text="A fee is due."),),
    }
)


class FirstLabel(LabellingJudge):
    """A judge that answers with the first label it may give."""

    async def label(self, request: JudgeRequest) -> JudgeResult:
        return JudgeResult(label=request.allowed_labels[0])


class AlwaysDutch:
    def detect(self, sentence: str) -> str | None:
        return "nl"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_every_kind_is_documented_and_nothing_else_is() -> None:
    assert sorted(ENTRIES) == list(builtin_registry())


@pytest.mark.parametrize("kind", list(builtin_registry()))
def test_an_entry_names_every_parameter_with_its_default(kind: str) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`(.*?)`|required) \|", ENTRIES[kind], re.MULTILINE))
    fields = builtin_registry().get(kind).params_model.model_fields
    assert set(rows) == set(fields)
    for name, field in fields.items():
        if field.is_required():
            assert rows[name] == ""
        else:
            default = field.default
            assert yaml.safe_load(rows[name]) == (list(default) if isinstance(default, tuple) else default)


@pytest.mark.parametrize("kind", list(builtin_registry()))
def test_the_example_of_an_entry_can_be_used_and_says_what_its_data_hold(kind: str) -> None:
    (example,) = blocks(ENTRIES[kind], "yaml")
    entry: dict[str, Any] = yaml.safe_load(example)
    weight, gate = entry.pop("weight", None), entry.pop("gate", False)
    spec = CriterionSpec(kind=entry.pop("kind"), params=entry, weight=weight, gate=gate)
    assert spec.kind == kind
    builtin_registry().validate(spec)
    evidence = replied(REPLY, ["a"], prompt_tokens=1, completion_tokens=1, seconds=1.0)
    context = CriterionContext(
        judge=FirstLabel(), detector=AlwaysDutch(), corpus=LAW, variants={"v": replied(REPLY, ["b"])}
    )
    found = asyncio.run(builtin_registry().evaluate(spec, CASE, evidence, context))
    assert found.status in (CriterionStatus.PASS, CriterionStatus.FAIL)
    assert re.search(rf"Data:\s+`{{{', '.join(f'{name}[^`]*?' for name in found.data)}}}`", ENTRIES[kind])


@pytest.mark.parametrize("kind", list(builtin_registry()))
def test_an_entry_says_when_the_kind_applies_and_where_its_rule_comes_from(kind: str) -> None:
    for name in ("Applies", "Source"):
        assert re.search(rf"^{name}: [^\n]{{6,}}", ENTRIES[kind], re.MULTILINE), name


@pytest.mark.parametrize("kind", list(builtin_registry()))
def test_an_entry_says_which_service_the_kind_cannot_do_without(kind: str) -> None:
    said = {"judge": "judge", "detector": "language detector", "corpus": "corpus"}
    applies = ENTRIES[kind].split("Applies:")[1].split("Source:")[0]
    for service, name in said.items():
        assert (f"without a {name}" in applies) is (service in builtin_registry().needs(kind))


def test_the_kind_of_the_page_works_as_it_stands() -> None:
    (source,) = blocks(PAGE, "python")
    names: dict[str, Any] = {}
    exec(compile(source, "docs/criteria.md", "exec"), names)
    registry = builtin_registry()
    for kind in names["CRITERIA"]:
        registry.register(kind)
    spec = CriterionSpec(kind="custom.thanks")
    statuses = [
        asyncio.run(registry.evaluate(spec, case(), replied(reply), CriterionContext())).status
        for reply in ("Dank u wel", "Tot ziens", None)
    ]
    assert statuses == [CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR]
