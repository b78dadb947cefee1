"""Gates: what must hold for a run to be accepted, and what each says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from experiments.evaluation import (
    AttemptCounts,
    CaseAggregate,
    CasesGate,
    Cost,
    CostGate,
    CoverageGate,
    CriticalTagsGate,
    GateFacts,
    GateOutcome,
    KOfNGate,
    RateGate,
    RegressionGate,
    RunGate,
    all_hold,
    check_gates,
    default_gate,
    to_json,
)
from tests.evaluation.strategies import HOSTILE
from tests.evaluation.test_comparing import compared, moved, of

GOOD = [of("a", 5), of("b", 5), of("c", 5)]


def facts(cases: list[CaseAggregate], **changes: Any) -> GateFacts:
    """What a run of these cases left, with the counts that follow from them."""
    counts = AttemptCounts(
        passed=sum(case.passed for case in cases),
        failed=sum(case.failed for case in cases),
        undecided=sum(case.undecided for case in cases),
        inconclusive=sum(case.inconclusive for case in cases),
        evaluator_failed=sum(case.evaluator_failed for case in cases),
        no_reply=sum(case.not_reached for case in cases),
    )
    return GateFacts(**{"counts": counts, "cases": cases, "planned": counts.total, **changes})


def one(gate: RunGate, cases: list[CaseAggregate], **changes: Any) -> GateOutcome:
    """The outcome of one gate."""
    return check_gates([gate], facts(cases, **changes))[-1]


def test_without_gates_no_case_may_fail_or_vary() -> None:
    (outcome,) = check_gates([], facts(GOOD))
    assert (outcome.kind, outcome.holds) == ("cases", True)
    assert outcome.sentence == "None of 3 cases failed or varied."
    bad = [*GOOD, of("d", 0, 5), of("e", 2, 3), of("u", 0, 0, 5)]
    (outcome,) = check_gates([], facts(bad))
    assert not outcome.holds
    assert outcome.figure == 2
    assert outcome.sentence == "1 of 6 cases failed and 1 varied: d, e."
    assert default_gate() == (CasesGate(),)


def test_undecided_and_silent_cases_fail_the_default_gate_only_when_nothing_was_judged() -> None:
    assert all_hold(check_gates([], facts([*GOOD, of("u", 0, 0, 5), of("n", not_reached=5)])))
    outcomes = check_gates([], facts([of("n", not_reached=5)]))
    assert [(outcome.kind, outcome.holds) for outcome in outcomes] == [("judged", False), ("cases", True)]
    assert outcomes[0].sentence == "Nothing was judged of 5 planned attempts."
    assert not all_hold(outcomes)


@pytest.mark.parametrize(
    "gate",
    [
        RateGate(at_least=0),
        CoverageGate(at_least=0),
        CostGate(at_most=9),
        RegressionGate(),
        KOfNGate(k=1, n=1),
        CasesGate(),
    ],
)
def test_nothing_judged_never_holds_whatever_is_asked(gate: RunGate) -> None:
    for cases in ([], [of("n", inconclusive=5)]):
        assert not all_hold(check_gates([gate], facts(cases, cost=Cost(amount=1))))


def test_only_named_gates_are_checked() -> None:
    outcomes = check_gates(
        [RateGate(at_least=0.5), CoverageGate(at_least=0.9)], facts([*GOOD, of("d", 0, 5)])
    )
    assert [(outcome.kind, outcome.holds) for outcome in outcomes] == [("rate", True), ("coverage", True)]


@pytest.mark.parametrize(("at_least", "holds"), [(0.7, True), (0.75, True), (0.76, False)])
def test_the_rate_is_passed_over_judged_and_inclusive(at_least: float, holds: bool) -> None:
    outcome = one(RateGate(at_least=at_least), [of("a", 6, 1), of("b", 0, 0, 1, inconclusive=12)])
    assert (outcome.holds, outcome.figure) == (holds, 0.75)
    assert outcome.sentence.startswith("6 of 8 judged attempts passed (75.0%), ")
    assert outcome.sentence.endswith("; 8 of 20 counted.")


@pytest.mark.parametrize(("at_least", "holds"), [(0.8, True), (0.81, False)])
def test_coverage_is_judged_over_planned(at_least: float, holds: bool) -> None:
    outcome = one(CoverageGate(at_least=at_least), [of("a", 5, 1, 2, evaluator_failed=1, not_reached=1)])
    assert (outcome.holds, outcome.figure) == (holds, 0.8)
    stopped = one(CoverageGate(at_least=at_least), [of("a", 5, 1, 2)], planned=20)
    assert not stopped.holds
    assert stopped.sentence.startswith("8 of 20 attempts were judged (40.0%), ")


def test_k_of_n_is_asked_of_each_case() -> None:
    gate = KOfNGate(k=4, n=5)
    assert one(gate, [of("a", 4, 1), of("b", 8, 2), of("c", 5)]).holds
    outcome = one(gate, [of("a", 4, 1), of("b", 3, 0, inconclusive=2), of("c", 7, 3), of("d")])
    assert not outcome.holds
    assert outcome.sentence == (
        "3 of 4 cases passed fewer than 4 of 5 attempts: b (3 of 5), c (7 of 10), d (0 of 0)."
    )
    with pytest.raises(ValidationError, match="no case passes 6 of 5"):
        KOfNGate(k=6, n=5)


def test_a_critical_case_must_pass() -> None:
    gate = CriticalTagsGate(tags=("safety", "law"))
    tags = {"a": ["safety"], "b": ["law", "other"], "c": ["other"]}
    assert one(gate, [of("a", 5), of("b", 5), of("c", 0, 5)], tags=tags).holds
    for bad in (of("b", 4, 1), of("b", 0, 5), of("b", 0, 0, 5), of("b", not_reached=5)):
        assert not one(gate, [of("a", 5), bad, of("c", 5)], tags=tags).holds
    outcome = one(gate, [of("a", 5), of("b", 4, 1)], tags=tags)
    assert outcome.sentence == "1 of 2 critical cases did not pass: b (varied)."


def test_a_critical_tag_that_no_case_carries_does_not_hold() -> None:
    outcome = one(CriticalTagsGate(tags=("saftey",)), GOOD, tags={"a": ["safety"]})
    assert not outcome.holds
    assert outcome.sentence == "No case carries the critical tag saftey."
    assert not one(CriticalTagsGate(tags=("safety",)), GOOD).holds


def test_a_regression_or_a_forbidden_comparison_does_not_hold() -> None:
    assert one(RegressionGate(), GOOD, comparison=compared(*moved(4, 9, 44))).holds
    assert one(RegressionGate(), GOOD, comparison=compared(*moved(0, 12, 44))).holds
    assert one(RegressionGate(), GOOD, comparison=compared(*moved(1, 0, 2))).holds
    worse = one(RegressionGate(), GOOD, comparison=compared(*moved(12, 3, 45)))
    assert (worse.holds, worse.sentence) == (False, "On these 60 cases B is worse than A.")
    forbidden = one(RegressionGate(), GOOD, comparison=compared(*moved(0, 9, 44), judge_model="other"))
    assert not forbidden.holds
    assert one(RegressionGate(), GOOD).sentence == "There is no baseline to compare with."
    assert not one(RegressionGate(), GOOD).holds


def test_cost_is_a_floor_where_usage_is_unknown_and_no_price_is_never_nothing() -> None:
    spent = one(CostGate(at_most=2), GOOD, cost=Cost(amount=2.0, currency="EUR"))
    assert (spent.holds, spent.sentence) == (True, "The run cost 2.00 EUR, 2.00 EUR is allowed.")
    floor = one(CostGate(at_most=2), GOOD, cost=Cost(amount=2.5, currency="EUR", unknown_calls=3))
    assert not floor.holds
    assert floor.sentence == (
        "The run cost at least 2.50 EUR, 2.00 EUR is allowed. 3 calls reported no usage."
    )
    unknown = one(CostGate(at_most=2), GOOD)
    assert (unknown.holds, unknown.figure) == (False, None)
    assert "No price is set" in unknown.sentence


def test_gates_are_read_back_by_their_kind() -> None:
    read: TypeAdapter[RunGate] = TypeAdapter(RunGate)
    for gate in (CasesGate(), RateGate(at_least=0.9), KOfNGate(k=8, n=10), CriticalTagsGate(tags=("x",))):
        assert read.validate_python(gate.model_dump()) == gate
    with pytest.raises(ValidationError):
        read.validate_python({"kind": "rate", "at_least": 1.2})
    with pytest.raises(ValidationError):
        read.validate_python({"kind": "critical_tags", "tags": []})


AGGREGATES = st.builds(of, HOSTILE, *[st.integers(0, 3)] * 3, not_reached=st.integers(0, 2))


@given(st.lists(AGGREGATES, max_size=8), HOSTILE)
def test_every_outcome_can_be_stored_and_only_passing_cases_hold_by_default(
    cases: list[CaseAggregate], tag: str
) -> None:
    gates: list[RunGate] = [CriticalTagsGate(tags=(tag,)), KOfNGate(k=1, n=2), CasesGate()]
    found = facts(cases, tags={case.case: [tag] for case in cases})
    for outcome in check_gates(gates, found):
        assert outcome.model_dump_json()
        to_json(outcome.sentence).encode()
    if all_hold(check_gates([], found)):
        assert found.counts.passed or found.counts.undecided
        assert not found.counts.failed
