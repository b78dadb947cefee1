"""Pre-flight: every reason at once, before anything is asked."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given

from experiments.evaluation import (
    CriterionSpec,
    EvalCase,
    FailingTool,
    Fixture,
    Metric,
    Plan,
    Policy,
    Replay,
    SettleMode,
    builtin_metrics,
    preflight,
)
from experiments.evaluation.metrics.exact_match import exact_match
from tests.evaluation.builders import ScriptedCriteria, case, rubric
from tests.evaluation.strategies import HOSTILE


@dataclass(frozen=True)
class Can:
    fixtures: dict[str, str] = field(default_factory=lambda: {"paid_order": "an order that is paid"})
    breakable_tools: tuple[str, ...] = ("lookup",)
    emittable_nodes: tuple[str, ...] = ("UC-1", "UC-2.3")


GOOD = Plan(
    cases=(case(spec_node="UC-1"), case(id="b", setup=Fixture(name="paid_order"))),
    settle_mode=SettleMode.expectation,
    registry=ScriptedCriteria(),
    metrics=builtin_metrics(),
    lanes=8,
    repeats=5,
    rubric=rubric(),
    policy=Policy(name="desk"),
    capabilities=Can(),
    services=frozenset({"judge"}),
)


def codes(plan: Plan = GOOD, **changes: Any) -> list[str]:
    return [refusal.code for refusal in preflight(replace(plan, **changes))]


def of_case(case_: EvalCase, **changes: Any) -> list[str]:
    return codes(cases=(case_,), **changes)


def test_a_plan_without_fault_may_start() -> None:
    assert preflight(GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cases": ()}, "no_cases"),
        ({"lanes": 0}, "lanes"),
        ({"lanes": 513}, "lanes"),
        ({"repeats": 0}, "repeats"),
        ({"policy": None}, "no_policy"),
        ({"rubric": None}, "no_rubric"),
        ({"target_named": False, "capabilities": None}, "no_target"),
        ({"capabilities": None, "target_problem": "connection refused"}, "target_unreachable"),
        ({"rubric": rubric("?", kind="label", labels=("a",), pass_labels=("a",))}, "rubric_gives_no_grade"),
        ({"cases": (case(), case(turn="another"))}, "duplicate_case"),
        ({"services": frozenset()}, "missing_service"),
    ],
)
def test_a_fault_of_the_experiment_is_refused(changes: dict[str, Any], code: str) -> None:
    assert set(codes(**changes)) == {code}


@pytest.mark.parametrize("lanes", [1, 512])
def test_lanes_at_the_limits_may_start(lanes: int) -> None:
    assert codes(lanes=lanes, repeats=1) == []


@pytest.mark.parametrize(
    ("faulty", "code"),
    [
        (case(setup=Fixture(name="nothing")), "unknown_fixture"),
        (
            case(setup=FailingTool(tool="lookup", message="m", then=Fixture(name="nothing"))),
            "unknown_fixture",
        ),
        (case(setup=FailingTool(tool="printer", message="m")), "tool_not_breakable"),
        (case(spec_node="UC-9"), "node_not_emittable"),
        (case(spec_node="UC-2.3.1"), "node_not_emittable"),
        (case(turn="States a 30-day  window"), "turn_is_expected"),
        (case(expected="must not name a date", required_phrases=("a date",)), "phrase_forbidden"),
        (case(metric={"id": "nonsense"}), "unregistered_metric"),
        (case(metric={"id": "token-f1", "version": 2}), "unregistered_metric"),
        (case(metric={"id": "latency-budget"}), "metric_params"),
    ],
)
def test_a_fault_of_a_case_is_refused_and_names_the_case(faulty: EvalCase, code: str) -> None:
    refusals = preflight(replace(GOOD, cases=(faulty,)))
    assert [refusal.code for refusal in refusals] == [code]
    assert refusals[0].where.startswith("case refund")


@pytest.mark.parametrize(
    "sound",
    [
        case(setup=Replay(user_turns=("a",))),
        case(setup=FailingTool(tool="lookup", message="m", then=FailingTool(tool="lookup", message="n"))),
        case(spec_node="UC-2"),
        case(required_phrases=("30-day",)),
        case(metric={"id": "end-state", "params": {"expected": {"a": 1}}}),
    ],
)
def test_a_sound_case_may_start(sound: EvalCase) -> None:
    assert of_case(sound) == []


def test_a_target_that_does_not_say_its_nodes_is_not_held_to_them() -> None:
    assert of_case(case(spec_node="UC-9"), capabilities=Can(emittable_nodes=())) == []


def test_what_does_not_settle_is_not_checked() -> None:
    of = case(spec_node="UC-9", criteria=[CriterionSpec(kind="pass")])
    assert of_case(of, settle_mode=SettleMode.criteria, services=frozenset()) == []
    unread = case(criteria=[CriterionSpec(kind="nonsense")])
    assert of_case(unread, criteria=(CriterionSpec(kind="nonsense"),)) == []


@pytest.mark.parametrize("mode", [SettleMode.criteria, SettleMode.both])
def test_criteria_of_suite_and_case_are_checked_where_they_settle(mode: SettleMode) -> None:
    specs = (CriterionSpec(kind="nonsense"), CriterionSpec(kind="pass", params={"word": 1}))
    refusals = preflight(replace(GOOD, cases=(case(criteria=specs),), criteria=specs, settle_mode=mode))
    assert [(refusal.code, refusal.where) for refusal in refusals] == [
        ("unregistered_criterion", "criteria[0]"),
        ("criterion_params", "criteria[1]"),
        ("unregistered_criterion", "case refund criteria[0]"),
        ("criterion_params", "case refund criteria[1]"),
    ]
    assert "word" in refusals[1].sentence


def test_a_missing_service_is_refused_wherever_it_is_needed_unless_accepted() -> None:
    metrics = builtin_metrics()
    metrics.register(Metric("kind-words", 1, 0.5, exact_match, needs=frozenset({"judge", "detector"})))
    plan = replace(
        GOOD,
        cases=(case(), case(id="m", metric={"id": "kind-words"})),
        criteria=(CriterionSpec(kind="asks"),),
        settle_mode=SettleMode.both,
        services=frozenset(),
        metrics=metrics,
    )
    assert [refusal.where for refusal in preflight(plan)] == [
        "criteria[0]",
        "case refund",
        "case m metric",
        "case m metric",
    ]
    assert codes(plan, accept_missing_services=True) == []
    assert codes(plan, services=frozenset({"judge", "detector"})) == []


def test_every_reason_is_given_at_once() -> None:
    worst = case(
        turn="must not name a date",
        expected="must not name a date",
        required_phrases=("a date",),
        setup=FailingTool(tool="printer", message="m", then=Fixture(name="nothing")),
    )
    found = codes(cases=(worst, worst), lanes=0, repeats=0, policy=None, rubric=None)
    assert set(found) == {
        "lanes",
        "repeats",
        "no_policy",
        "no_rubric",
        "duplicate_case",
        "turn_is_expected",
        "phrase_forbidden",
        "tool_not_breakable",
        "unknown_fixture",
    }


def test_a_refusal_says_what_the_target_has_instead() -> None:
    many = {f"fixture_{n:02}": "" for n in range(12)}
    faulty = case(setup=Fixture(name="nothing"))
    (refusal,) = preflight(replace(GOOD, cases=(faulty,), capabilities=Can(fixtures=many)))
    assert refusal.sentence.startswith("The target has no fixture “nothing” (known: fixture_00, fixture_01")
    assert refusal.sentence.endswith("and 4 more).")
    (refusal,) = preflight(replace(GOOD, cases=(faulty,), capabilities=Can(fixtures={})))
    assert refusal.sentence == "The target has no fixture “nothing” (it names none)."


@given(HOSTILE, HOSTILE)
def test_hostile_names_are_refused_in_words_that_can_be_stored(name: str, phrase: str) -> None:
    of = EvalCase(
        id="a\x00",
        turn=phrase,
        expected=phrase,
        required_phrases=(phrase,),
        spec_node=name,
        setup=FailingTool(tool=name, message=name, then=Fixture(name=name)),
    )
    for refusal in preflight(
        replace(GOOD, cases=(of, of), settle_mode=SettleMode.both, target_problem=phrase)
    ):
        f"{refusal.where}{refusal.sentence}".encode()
        assert len(refusal.sentence) < 2_000
