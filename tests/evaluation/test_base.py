"""What may stand in a value that is stored as JSON."""

from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from experiments.evaluation import CriterionSpec, Evidence, Fixture, MetricRef, ToolCall, to_json
from experiments.evaluation.base import MAX_NESTING, check_json


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"x": float("nan")}, "number"),
        ({"x": [float("inf")]}, "number"),
        ({"x": 10**400}, "number"),
        ({"x": date(2024, 1, 1)}, "date"),
        ({"x": {1: 2}}, "key"),
        ({"x": {1, 2}}, "set"),
        (nested(MAX_NESTING), "deeper"),
    ],
)
def test_what_json_cannot_hold_is_refused_wherever_free_json_stands(value: Any, why: str) -> None:
    makers = (
        lambda: Evidence(end_state=value),
        lambda: ToolCall(name="t", arguments=value),
        lambda: ToolCall(name="t", result=value),
        lambda: Fixture(name="f", parameters=value),
        lambda: MetricRef(id="m", params=value),
        lambda: CriterionSpec(kind="k", params=value),
    )
    for make in makers:
        with pytest.raises(ValidationError, match=why):
            make()


@pytest.mark.parametrize(
    "value", [{}, {"x": [None, True, 1, 1.5, "\ud800\x00"]}, nested(MAX_NESTING - 1), {"x": 10**300}]
)
def test_what_json_can_hold_is_kept_and_can_be_written(value: Any) -> None:
    assert check_json(value) is value
    to_json(Evidence(end_state=value).model_dump())


def test_json_of_the_deepest_nesting_can_be_written_by_either_writer() -> None:
    assert Evidence(end_state=nested(MAX_NESTING - 1)).model_dump_json()
