"""How a judge model is reached. The key is a reference to an environment variable, never a value."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from experiments.evaluation.base import FrozenModel
from experiments.wire.fields import BaseUrl, Seconds
from experiments.wire.secrets import SecretRef


class JudgeConfig(FrozenModel):
    """One judge model. ``base_url`` None means the provider's own; ``max_tokens`` bounds one answer,
    ``total_seconds`` one call."""

    model_config = ConfigDict(hide_input_in_errors=True)

    provider: Literal["anthropic"] = "anthropic"
    model: str = Field(min_length=1, max_length=200)
    base_url: BaseUrl | None = None
    api_key: SecretRef = "env:ANTHROPIC_API_KEY"
    max_tokens: int = Field(default=1024, ge=1, le=64_000)
    total_seconds: Seconds = 120.0


def judge_config(data: dict[str, Any]) -> JudgeConfig:
    """The stored configuration as a value; ValueError (pydantic's is one) with the reason otherwise."""
    return JudgeConfig.model_validate(data)
