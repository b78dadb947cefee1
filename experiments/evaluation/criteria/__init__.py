"""The public face of criteria: what a team's own kinds import. See docs/criteria.md."""

from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    Evaluator,
    NoParams,
    error,
    judge_label,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.registry import (
    CriterionParamsError,
    CriterionRegistry,
    UnknownCriterionError,
    builtin_registry,
)

__all__ = [
    "Builtin",
    "CriterionKind",
    "CriterionParamsError",
    "CriterionRegistry",
    "Evaluator",
    "NoParams",
    "UnknownCriterionError",
    "builtin_registry",
    "error",
    "judge_label",
    "not_applicable",
    "outcome",
]
