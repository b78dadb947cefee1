"""`exact-match`: the reply is the reference answer, whitespace aside."""

from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.metrics.registry import Metric, Missing, NoMetricParams, Score
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import is_blank, squeeze


async def exact_match(
    case: EvalCase, evidence: Evidence, *, params: NoMetricParams, ctx: CriterionContext
) -> Score | Missing:
    """1 when reply and reference are equal after collapsing whitespace, else 0. Letter case counts."""
    if case.reference is None or is_blank(case.reference):
        return Missing("the case has no reference answer")
    if evidence.reply is None:
        return Missing("no reply to read")
    if squeeze(evidence.reply) == squeeze(case.reference):
        return Score(1.0, "the reply equals the reference answer")
    return Score(0.0, "the reply differs from the reference answer")


EXACT_MATCH = Metric("exact-match", 1, 1.0, exact_match)
