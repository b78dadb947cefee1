"""A judge model's configuration."""

import pytest
from pydantic import ValidationError

from experiments.wire.judge import judge_config


def test_a_judge_reads_its_key_by_reference_and_defaults_to_the_providers_own_address() -> None:
    config = judge_config({"model": "claude-x"})
    assert (config.provider, config.base_url, config.api_key) == ("anthropic", None, "env:ANTHROPIC_API_KEY")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"model": ""},
        {"model": "m", "api_key": "sk-geheim"},
        {"model": "m", "total_seconds": float("inf")},
    ],
)
def test_an_odd_judge_configuration_is_refused_without_echoing_values(data: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as refused:
        judge_config(data)
    assert "geheim" not in str(refused.value)
