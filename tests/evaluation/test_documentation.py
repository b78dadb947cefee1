"""docs/evaluation.md names every metric and every flag."""

import re
from pathlib import Path

from experiments.evaluation import builtin_metrics, flags

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
