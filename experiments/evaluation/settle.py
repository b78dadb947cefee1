"""Settling one attempt by its expectation, by criteria, or by both; `evaluate_attempt` is the one entry."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from experiments.evaluation.case import CriterionSpec, EvalCase
from experiments.evaluation.context import EvalContext
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.judging import MeteredJudge
from experiments.evaluation.metrics import MetricRegistry, builtin_metrics
from experiments.evaluation.outcome import (
    CriterionStatus,
    EvaluationOutcome,
    EvaluationResult,
    ResultFields,
    SettledBy,
    Verdict,
    reaches,
)
from experiments.evaluation.ports import CriterionContext, CriterionGrader
from experiments.evaluation.routing import EvaluatorRouter, route
from experiments.evaluation.rubric import Rubric

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR


class SettleMode(StrEnum):
    """Which part of the rules settles the attempts of an experiment."""

    expectation = "expectation"
    criteria = "criteria"
    both = "both"


def default_settle_mode(*, has_criteria: bool) -> SettleMode:
    """The mode of an experiment that names none: by criteria when there are any, else by expectation."""
    return SettleMode.criteria if has_criteria else SettleMode.expectation


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """Everything a grading pins: two gradings by equal rulers of equal evidence give equal results.

    `criteria` are the suite's; those of a case are added to them. `pass_score` is from 0 to 1.
    """

    registry: CriterionGrader
    settle_mode: SettleMode = SettleMode.expectation
    pass_score: float = 1.0
    criteria: tuple[CriterionSpec, ...] = ()
    rubric: Rubric | None = None
    metrics: MetricRegistry = field(default_factory=builtin_metrics)

    def __post_init__(self) -> None:
        if not 0 <= self.pass_score <= 1:
            raise ValueError(f"pass_score is 0 to 1, not {self.pass_score}")

    def criteria_of(self, case: EvalCase) -> tuple[CriterionSpec, ...]:
        """The criteria that grade a case: the suite's, then its own."""
        return self.criteria + case.criteria


def _sum(weights: Sequence[float], largest: float) -> float:
    # Scaled by the largest weight: a sum of huge weights would overflow.
    return math.fsum(weight / largest for weight in weights) if largest else 0.0


def _share(verdicts: Sequence[Verdict], *counted_as_pass: CriterionStatus) -> float | None:
    """The share of weight that passed; None when no weight is left. An error counts only when named."""
    counted = [v for v in verdicts if v.status in {PASS, FAIL, *counted_as_pass}]
    largest = max((v.weight for v in counted), default=0.0)
    total = _sum([v.weight for v in counted], largest)
    if not total:
        return None
    return min(1.0, _sum([v.weight for v in counted if v.status is not FAIL], largest) / total)


def settle_criteria(verdicts: Sequence[Verdict], pass_score: float = 1.0) -> EvaluationResult:
    """What the criteria of one attempt say together, with `criteria_score` and `pass_score` beside it."""
    score = _share(verdicts)
    fields: ResultFields = {
        "evaluator": "criteria",
        "settled_by": SettledBy.criteria,
        "criteria_score": score,
        "pass_score": pass_score,
        "verdicts": tuple(verdicts),
    }
    applicable = [v for v in verdicts if v.status is not CriterionStatus.NOT_APPLICABLE]
    if not applicable:
        reason = "no criterion applies" if verdicts else "the case has no criteria"
        return EvaluationResult.inconclusive(reason, **fields)
    gate = next((v for v in applicable if v.gate and v.status is FAIL), None)
    if gate is not None:
        return EvaluationResult.failed(f"gate {_said(gate)}", **fields)
    errors = [v for v in applicable if v.status is ERROR and (v.weight > 0 or v.gate)]
    at_best = _share(verdicts, ERROR)
    beyond_reach = score is not None and at_best is not None and not reaches(at_best, pass_score)
    if beyond_reach:
        return EvaluationResult.failed(_shortfall(verdicts, score, pass_score), **fields)
    if errors:
        return EvaluationResult.broke(_said(errors[0]), **fields)
    if score is None:
        if any(v.gate and v.status is PASS for v in applicable):
            return EvaluationResult.passed("every applicable gate passed", **fields)
        return EvaluationResult.inconclusive("informational criteria only", **fields)
    passes = sum(v.status is PASS for v in applicable)
    return EvaluationResult.passed(
        f"{passes} of {len(applicable)} criteria passed (score {score:.2f} of {pass_score:.2f} asked)",
        **fields,
    )


def _said(verdict: Verdict) -> str:
    return f"{verdict.kind or 'criterion'}: {verdict.detail or verdict.status}"


def _shortfall(verdicts: Sequence[Verdict], score: float | None, pass_score: float) -> str:
    heaviest = max((v for v in verdicts if v.status is FAIL), key=lambda v: v.weight)
    return f"{_said(heaviest)} (score {score:.2f} of {pass_score:.2f} asked)"


def combine_both(expectation: EvaluationResult, criteria: EvaluationResult) -> EvaluationResult:
    """The result of mode `both`: it passes only when both parts pass.

    It reads as the first part (expectation, then criteria) that alone says the same, and keeps the
    expectation's score or grade beside the criteria's score and verdicts.
    """
    parts = (expectation, criteria)
    settling = next((part for part in parts if _mark(part) == (EvaluationOutcome.VERDICT, False)), None)
    for outcome in (EvaluationOutcome.FAILED, EvaluationOutcome.UNDECIDED, EvaluationOutcome.INCONCLUSIVE):
        settling = settling or next((part for part in parts if part.outcome is outcome), None)
    settling = settling or expectation
    return settling.model_copy(
        update={
            "score": expectation.score,
            "grade": expectation.grade,
            "threshold": expectation.threshold,
            "criteria_score": criteria.criteria_score,
            "pass_score": criteria.pass_score,
            "verdicts": criteria.verdicts,
            "expectation": expectation,
        }
    )


def _mark(result: EvaluationResult) -> tuple[EvaluationOutcome, bool]:
    return result.outcome, result.passed


async def evaluate_attempt(
    case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext
) -> EvaluationResult:
    """The result of one attempt. Never raises (but for cancellation): what breaks is outcome FAILED.

    Expects evidence that `failure_of` lets through; without a reply nothing is invented either.
    """
    judge = MeteredJudge(ctx.judge) if ctx.judge is not None else None
    services = replace(ctx, judge=judge)
    result = await _settle(case, evidence, ruler, services)
    use = judge.use if judge else None
    return result.model_copy(update={"judge_use": use}) if use else result


async def _settle(
    case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext
) -> EvaluationResult:
    if ruler.settle_mode is SettleMode.expectation:
        return await _by_expectation(case, evidence, ruler, ctx)
    if ruler.settle_mode is SettleMode.criteria:
        return await _by_criteria(case, evidence, ruler, ctx)
    expectation = await _by_expectation(case, evidence, ruler, ctx)
    return combine_both(expectation, await _by_criteria(case, evidence, ruler, ctx))


_ROUTER = EvaluatorRouter.by_expectation()


async def _by_expectation(
    case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext
) -> EvaluationResult:
    try:
        return await _ROUTER.evaluate(EvalContext(case, evidence, ctx, ruler.metrics, ruler.rubric))
    except Exception as broken:  # one evaluator that breaks never stops its attempt or the run
        return EvaluationResult.broke(said_by(broken), evaluator=evaluator_of(case), settled_by=route(case))


async def _by_criteria(
    case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext
) -> EvaluationResult:
    verdicts = [await _verdict(spec, case, evidence, ruler, ctx) for spec in ruler.criteria_of(case)]
    return settle_criteria(verdicts, ruler.pass_score)


async def _verdict(
    spec: CriterionSpec, case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext
) -> Verdict:
    try:
        return await ruler.registry.evaluate(spec, case, evidence, ctx)
    except Exception as broken:  # a registry of a team's own may break its promise
        weight = 1.0 if spec.weight is None else spec.weight
        return Verdict(status=ERROR, detail=said_by(broken), kind=spec.kind, weight=weight, gate=spec.gate)


def evaluator_of(case: EvalCase) -> str:
    """The id of the evaluator a case is routed to; the judge's results name the rubric instead."""
    by = route(case)
    if by in (SettledBy.metric, SettledBy.end_state) and case.metric is not None:
        return case.metric.id
    return {SettledBy.spec_node: "spec-node", SettledBy.contains_all: "contains-all"}.get(by, "judge")


def said_by(broken: BaseException) -> str:
    """An exception as one reason; one whose own text breaks is named by its type."""
    try:
        return f"{type(broken).__name__}: {broken}"
    except Exception:
        return type(broken).__name__
