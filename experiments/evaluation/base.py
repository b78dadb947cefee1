"""The one base class of every value in the evaluation core."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """An immutable value that refuses unknown fields by name (`pydantic.ValidationError`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
