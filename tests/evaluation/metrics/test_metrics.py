"""The built-in metrics of this core, and their registry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    CriterionContext,
    EvaluationOutcome,
    EvaluationResult,
    Evidence,
    Metric,
    MetricParamsError,
    MetricRef,
    MetricRegistry,
    Turn,
    builtin_metrics,
)
from experiments.evaluation.metrics.budgets import budget_score
from experiments.evaluation.metrics.exact_match import exact_match
from experiments.evaluation.metrics.token_f1 import f1
from tests.evaluation.builders import case, ruler, run, said, settle
from tests.evaluation.strategies import HOSTILE


def measure(metric: str, evidence: Evidence, reference: str | None = None, **params: Any) -> EvaluationResult:
    return settle(ruler(), case(metric={"id": metric, "params": params}, reference=reference), evidence)


@pytest.mark.parametrize(
    ("seconds", "score", "passed"),
    [(0, 1.0, True), (1, 0.75, True), (2, 0.5, True), (2.01, 0.4975, False), (4, 0, False), (9, 0, False)],
)
def test_latency_scores_half_at_its_budget_and_nothing_at_twice(
    seconds: float, score: float, passed: bool
) -> None:
    result = measure("latency-budget", said(seconds=seconds), budget=2.0)
    assert (result.threshold, result.passed) == (0.5, passed)
    assert result.score == pytest.approx(score)


def test_latency_is_the_graded_turns() -> None:
    turns = (Turn(prompt="a", reply="b", seconds=50), Turn(prompt="c", reply="d", seconds=1))
    assert measure("latency-budget", Evidence(turns=turns), budget=2.0).passed


def test_tokens_are_those_of_all_turns() -> None:
    turn = Turn(prompt="a", reply="b", prompt_tokens=40, completion_tokens=10)
    assert measure("token-budget", Evidence(turns=(turn, turn)), budget=100).score == 0.5
    assert not measure("token-budget", Evidence(turns=(turn, turn, turn)), budget=100).passed


@pytest.mark.parametrize(("metric", "budget"), [("latency-budget", 2.0), ("token-budget", 100)])
def test_usage_the_target_did_not_record_is_inconclusive_and_never_zero(metric: str, budget: float) -> None:
    result = measure(metric, said(), budget=budget)
    assert (result.outcome, result.score) == (EvaluationOutcome.INCONCLUSIVE, None)


@given(st.floats(0, 1e9), st.floats(1e-6, 1e9))
def test_a_budget_score_stays_within_0_and_1(used: float, budget: float) -> None:
    assert 0 <= budget_score(used, budget) <= 1


@pytest.mark.parametrize(
    ("reply", "reference", "passed"),
    [("in 30  days\n", "in 30 days", True), ("In 30 days", "in 30 days", False), ("", "x", False)],
)
def test_exact_match_forgives_whitespace_only(reply: str, reference: str, passed: bool) -> None:
    result = measure("exact-match", said(reply), reference)
    assert (result.passed, result.outcome) == (passed, EvaluationOutcome.VERDICT)


@pytest.mark.parametrize("metric", ["exact-match", "token-f1"])
@pytest.mark.parametrize("reference", [None, " "])
def test_without_a_reference_answer_there_is_nothing_to_compare(metric: str, reference: str | None) -> None:
    assert measure(metric, said(), reference).outcome is EvaluationOutcome.INCONCLUSIVE
    assert measure(metric, said(None), "x").outcome is EvaluationOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        ("The cat sat.", "a cat sat", 1.0),
        ("cat", "cat sat", 2 / 3),
        ("cat cat", "cat", 2 / 3),
        ("dog", "cat", 0.0),
        ("the", "a", 1.0),
        ("the", "cat", 0.0),
    ],
)
def test_token_f1_is_squads(reply: str, reference: str, value: float) -> None:
    assert f1(reply, reference) == pytest.approx(value)


@given(HOSTILE, HOSTILE)
def test_f1_is_symmetric_and_within_0_and_1(one: str, other: str) -> None:
    assert 0 <= f1(one, other) <= 1
    assert f1(one, other) == f1(other, one)
    assert f1(one, one) == 1


def test_the_end_state_metric_compares_only_what_is_named() -> None:
    assert measure("end-state", said(end_state={"a": 1, "b": 2}), expected={"a": 1}).passed
    assert measure("end-state", said(), expected={"a": 1}).outcome is EvaluationOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("metric", "params", "named"),
    [
        ("latency-budget", {}, "budget"),
        ("latency-budget", {"budget": 0}, "budget"),
        ("latency-budget", {"budget": 1, "limit": 2}, "limit"),
        ("token-budget", {"budget": 1.5}, "budget"),
        ("exact-match", {"case": True}, "case"),
        ("end-state", {"expected": {}}, "expected"),
        ("nonsense", {}, "no metric registered for nonsense v1"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_their_name(
    metric: str, params: dict[str, Any], named: str
) -> None:
    with pytest.raises(MetricParamsError, match=named):
        builtin_metrics().validate(MetricRef(id=metric, params=params))


def test_parameters_that_do_not_fit_break_the_evaluator_and_nothing_else() -> None:
    result = measure("latency-budget", said(seconds=1))
    assert result.outcome is EvaluationOutcome.FAILED
    assert "budget" in result.reason


def test_a_teams_metric_joins_a_registry_of_its_own_and_no_other() -> None:
    mine = builtin_metrics()
    mine.register(Metric("exact-match", 2, 0.9, exact_match))
    ref = MetricRef(id="exact-match", version=2)
    result = run(mine.evaluate(ref, case(reference="x"), said("x"), CriterionContext()))
    assert (result.threshold, result.evaluator_version) == (0.9, "2")
    assert builtin_metrics().find(ref) is None


def test_the_same_name_and_version_twice_is_refused() -> None:
    metric = Metric("m", 1, 0.5, exact_match)
    with pytest.raises(ValueError, match="m v1 is registered already"):
        MetricRegistry([metric, metric])


def test_these_metrics_are_built_in() -> None:
    assert [f"{metric.id} v{metric.version} {metric.threshold}" for metric in builtin_metrics()] == [
        "end-state v1 1.0",
        "exact-match v1 1.0",
        "latency-budget v1 0.5",
        "token-budget v1 0.5",
        "token-f1 v1 0.5",
    ]
