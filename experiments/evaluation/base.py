"""The one base class of every value in the evaluation core, and what it means to be JSON."""

import math
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

MAX_NESTING = 100
_LONGEST_INTEGER = 1024
T = TypeVar("T")


class FrozenModel(BaseModel):
    """An immutable value that refuses unknown fields by name (`pydantic.ValidationError`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def check_json(value: T) -> T:
    """`value` itself when JSON can hold it and every storage can take it; else a `ValueError` that says why.

    JSON has no NaN, no infinity, no dates and no keys but texts; nesting ends at 100 levels.
    """
    level: list[Any] = [value]
    for _ in range(MAX_NESTING):
        level = [inner for item in level for inner in _parts(item)]
        if not level:
            return value
    raise ValueError(f"nests deeper than {MAX_NESTING} levels")


def _parts(item: Any) -> tuple[Any, ...]:
    """What one JSON value holds directly."""
    if item is None or isinstance(item, str | bool):
        return ()
    if isinstance(item, int | float):
        if not (math.isfinite(item) if isinstance(item, float) else item.bit_length() <= _LONGEST_INTEGER):
            raise ValueError("holds a number that JSON cannot")
        return ()
    if isinstance(item, dict):
        if not all(isinstance(key, str) for key in item):
            raise ValueError("holds a key that is no text")
        return tuple(item.values())
    if isinstance(item, list | tuple):
        return tuple(item)
    raise ValueError(f"holds a {type(item).__name__}, which JSON cannot")


JsonValue = Annotated[Any, AfterValidator(check_json)]
"""Any JSON value."""

JsonObject = Annotated[dict[str, Any], AfterValidator(check_json)]
"""A JSON object."""
