"""Which evaluator settles a case."""

import pytest

from experiments.evaluation import EvalCase, EvaluationOutcome, MetricRef, SettledBy, route
from tests.evaluation.builders import case, ruler, said, settle

F1 = MetricRef(id="token-f1")
STATE = MetricRef(id="end-state", params={"expected": {"x": 1}})


@pytest.mark.parametrize(
    ("of", "by"),
    [
        (case(spec_node="N", required_phrases=("p",), metric=F1), SettledBy.spec_node),
        (case(required_phrases=("p",), metric=F1), SettledBy.contains_all),
        (case(metric=F1), SettledBy.metric),
        (case(metric=STATE), SettledBy.end_state),
        (case(), SettledBy.judge),
        (case(spec_node=" ", required_phrases=("", " ")), SettledBy.judge),
    ],
)
def test_node_then_phrases_then_metric_then_judge(of: EvalCase, by: SettledBy) -> None:
    assert route(of) is by


def test_an_unregistered_metric_is_inconclusive_and_named() -> None:
    for ref in (MetricRef(id="nonsense"), MetricRef(id="token-f1", version=9)):
        result = settle(ruler(), case(metric=ref))
        assert result.outcome is EvaluationOutcome.INCONCLUSIVE
        assert result.reason == f"no metric registered for {ref.id} v{ref.version}"


def test_each_route_is_taken() -> None:
    evidence = said("Within 30 days.", node="N.1", end_state={"x": 1})
    results = [
        settle(ruler(), case(spec_node="N"), evidence),
        settle(ruler(), case(required_phrases=("30 days",)), evidence),
        settle(ruler(), case(metric=F1, reference="within 30 days"), evidence),
        settle(ruler(), case(metric=STATE), evidence),
    ]
    assert [(result.evaluator, result.settled_by.value, result.passed) for result in results] == [
        ("spec-node", "spec_node", True),
        ("contains-all", "contains_all", True),
        ("token-f1", "metric", True),
        ("end-state", "end_state", True),
    ]
