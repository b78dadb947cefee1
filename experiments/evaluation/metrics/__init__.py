"""Metrics: one small file each, one registry."""

from experiments.evaluation.metrics.budgets import LATENCY_BUDGET, TOKEN_BUDGET
from experiments.evaluation.metrics.end_state import END_STATE
from experiments.evaluation.metrics.exact_match import EXACT_MATCH
from experiments.evaluation.metrics.registry import (
    Measure,
    Metric,
    MetricParamsError,
    MetricRegistry,
    Missing,
    NoMetricParams,
    Score,
)
from experiments.evaluation.metrics.token_f1 import TOKEN_F1


def builtin_metrics() -> MetricRegistry:
    """A new registry with the built-in metrics; adding to it changes no other."""
    return MetricRegistry((LATENCY_BUDGET, TOKEN_BUDGET, EXACT_MATCH, TOKEN_F1, END_STATE))


__all__ = [
    "Measure",
    "Metric",
    "MetricParamsError",
    "MetricRegistry",
    "Missing",
    "NoMetricParams",
    "Score",
    "builtin_metrics",
]
