"""docs/evaluation.md names every metric, flag, row of the gate, change, conclusion, source and gate."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from experiments.evaluation import (
    Change,
    Conclusion,
    RunFacts,
    SettleMode,
    Source,
    Stage,
    builtin_metrics,
    comparability,
    flags,
    gates,
    required_repeats,
)

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"


def test_every_metric_stands_in_the_documentation_with_its_version_and_threshold() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for metric in builtin_metrics():
        assert f"| `{metric.id}` | {metric.version} | {metric.threshold} |" in text


def test_every_flag_stands_in_the_documentation() -> None:
    text = DOCS.read_text(encoding="utf-8")
    names = re.findall(r'Flag\(name="([^"]+)"', Path(flags.__file__).read_text(encoding="utf-8"))
    assert len(names) > 10
    assert [name for name in names if f"`{name}`" not in text] == []


def section(title: str) -> str:
    """The text under a heading, up to the next."""
    return DOCS.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Comparing two runs", Change),
        ("Comparing two runs", Conclusion),
        ("Why a case varied", Source),
        ("Why a case varied", Stage),
    ],
)
def test_every_word_a_page_prints_stands_in_its_section(title: str, names: type[StrEnum]) -> None:
    assert [name.value for name in names if f"`{name.value}`" not in section(title)] == []


def test_every_row_of_the_comparability_gate_stands_in_the_documentation() -> None:
    run = RunFacts(settle_mode=SettleMode.both, cases={})
    names = [row.name for row in comparability(run, run).rows]
    assert len(names) > 10
    assert [name for name in names if f"`{name}`" not in section("Comparing two runs")] == []


def test_every_gate_stands_in_the_documentation() -> None:
    kinds = re.findall(r'kind: Literal\["([^"]+)"\]', Path(gates.__file__).read_text(encoding="utf-8"))
    assert len(kinds) == 7
    assert [kind for kind in kinds if f"| `{kind}` |" not in section("Gates")] == []


def test_the_figure_of_required_repeats_in_the_documentation_is_computed() -> None:
    assert f"{required_repeats(0.2)} for one of 20" in section("Other statistics")
