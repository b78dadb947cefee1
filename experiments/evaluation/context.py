"""What an evaluator reads of one attempt."""

from dataclasses import dataclass

from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.metrics.registry import MetricRegistry
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.rubric import Rubric


@dataclass(frozen=True)
class EvalContext:
    """Case, evidence and services, with the rubric a judge grades by and the metrics that may settle."""

    case: EvalCase
    evidence: Evidence
    services: CriterionContext
    metrics: MetricRegistry
    rubric: Rubric | None = None
