"""The rules the system was given while a run happened."""

from typing import Annotated

from pydantic import Field

from experiments.evaluation.base import FrozenModel


class Policy(FrozenModel):
    """A policy version; its text never changes, new wording is a new version."""

    name: Annotated[str, Field(min_length=1)]
    version: Annotated[int, Field(ge=1)] = 1
    text: str = ""
