"""Every JSON example of docs/target-contract.md is read by the wire model it is an example of."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluation.base import FrozenModel
from experiments.wire import target
from experiments.wire.body import Body

DOCUMENT = (Path(__file__).parents[2] / "docs" / "target-contract.md").read_text()
EXAMPLES = re.findall(r"<!-- body: (\w+) -->\n```json\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_is_read_whole_by_its_model(name: str, example: str) -> None:
    model: type[FrozenModel] = getattr(target, name)
    given = json.loads(example)
    read = model.read(example) if issubclass(model, Body) else model.model_validate(given)
    assert _only(read.model_dump(mode="json"), given) == given, "no field of an example is unknown"


def _only(read: Any, given: Any) -> Any:
    """``read`` without the fields that ``given`` leaves to their defaults."""
    if isinstance(given, dict) and isinstance(read, dict):
        return {key: _only(read[key], value) for key, value in given.items() if key in read}
    if isinstance(given, list) and isinstance(read, list):
        return [_only(one, other) for one, other in zip(read, given, strict=True)]
    return read


def test_every_json_block_is_tested_and_every_body_has_an_example() -> None:
    assert len(EXAMPLES) == DOCUMENT.count("```json")
    bodies = {
        "CapabilitiesBody",
        "PrepareRequest",
        "PrepareReply",
        "SubmitRequest",
        "SubmitReply",
        "ReleaseRequest",
    }
    assert bodies | {"ContractHttpConfig"} == {name for name, _ in EXAMPLES}


def test_the_example_with_every_field_shows_every_field() -> None:
    fullest = max((json.loads(example) for name, example in EXAMPLES if name == "SubmitReply"), key=len)
    assert fullest.keys() == target.SubmitReply.model_fields.keys()
    assert all(f"`{name}`" in DOCUMENT for name in target.SubmitReply.model_fields)


def test_the_documented_defaults_are_the_real_ones() -> None:
    (example,) = (json.loads(text) for name, text in EXAMPLES if name == "ContractHttpConfig")
    fields = target.ContractHttpConfig.model_fields
    for name in ("connect_seconds", "read_seconds", "total_seconds", "max_reply_bytes"):
        assert example[name] == fields[name].default
