"""The one JSON reader of documents from outside."""

import pytest

from experiments.wire.body import BodyError, ToolCallBody, read_json


@pytest.mark.parametrize("raw", ['{"x": 1e999}', '{"x": -1e999}', '{"x": NaN}', '{"x": Infinity}'])
def test_a_number_json_cannot_hold_is_refused(raw: str) -> None:
    with pytest.raises(BodyError):
        read_json(raw)


def test_numbers_of_any_ordinary_size_are_read() -> None:
    assert read_json('{"x": [1e308, -0.5, 3, 1E-400]}') == {"x": [1e308, -0.5, 3, 0.0]}


def test_nesting_that_could_not_be_stored_is_refused_with_its_place() -> None:
    deep = "[" * 150 + "]" * 150
    with pytest.raises(BodyError, match=r"result.*deeper"):
        ToolCallBody.read(f'{{"name": "t", "result": {deep}}}')
