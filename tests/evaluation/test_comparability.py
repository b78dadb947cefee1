"""The gate between two runs: what refuses, what is only noted, how many cases rest on it, what mends it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    CaseFacts,
    CriterionSpec,
    Fixture,
    Gate,
    GateRow,
    Mend,
    MetricRef,
    Policy,
    RowKind,
    RunFacts,
    SettleMode,
    asked_fingerprint,
    case_facts,
    comparability,
    graded_fingerprint,
    pair,
    to_json,
)
from experiments.evaluation.criteria import builtin_registry
from tests.evaluation.builders import TEMPLATE, ScriptedCriteria, case, rubric
from tests.evaluation.strategies import HOSTILE

JUDGED = CaseFacts("asked", "graded", by_rubric=True, by_judge=True)
MEASURED = CaseFacts("asked", "graded", metric="latency-budget")
ASSERTED = CaseFacts("asked", "graded")


def facts(**changes: Any) -> RunFacts:
    """A run of three cases: one judged, one measured, one asserted."""
    given = {
        "settle_mode": SettleMode.both,
        "cases": {"judged": JUDGED, "measured": MEASURED, "asserted": ASSERTED},
        "policy": Policy(name="refund-desk", version=3, text="Be brief."),
        "rubric": rubric(),
        "judge_model": "judge-1",
        "metric_versions": {"latency-budget": 1},
        "criteria": (CriterionSpec(kind="reply.language", params={"language": "nl"}, weight=1.0),),
        "corpus": "gdpr",
        "corpus_version": 1,
        "target": "claims-svc",
        "target_version": "4.1",
        "repeats": 5,
        "lanes": 8,
    }
    return RunFacts(**{**given, **changes})


def row(gate: Gate, name: str) -> GateRow:
    """The row of this name."""
    return next(row for row in gate.rows if row.name == name)


def test_a_run_is_comparable_with_itself_in_every_row() -> None:
    gate = comparability(facts(), facts())
    assert gate.comparable
    assert {row.kind for row in gate.rows} == {RowKind.same}
    assert gate.overlap == "3 shared"
    assert not gate.mendable


LANGUAGE = CriterionSpec(kind="reply.language", params={"language": "nl"}, weight=1.0)
REFUSED: list[tuple[str, dict[str, Any], int, Mend | None]] = [
    ("policy", {"policy": Policy(name="refund-desk", version=4, text="Be brief.")}, 3, None),
    ("policy", {"policy": Policy(name="returns", version=3, text="Be brief.")}, 3, None),
    ("policy", {"policy": Policy(name="refund-desk", version=3, text="Be long.")}, 3, None),
    ("policy", {"policy": None}, 3, None),
    ("rubric", {"rubric": rubric(version=4)}, 1, Mend.regrade),
    ("rubric", {"rubric": rubric(TEMPLATE + "!")}, 1, Mend.regrade),
    ("rubric", {"rubric": None}, 1, Mend.regrade),
    ("judge model", {"judge_model": "judge-2"}, 1, Mend.regrade),
    ("metric versions", {"metric_versions": {"latency-budget": 2}}, 1, Mend.regrade),
    ("criteria", {"criteria": (LANGUAGE.model_copy(update={"kind": "reply.contains"}),)}, 3, Mend.regrade),
    ("criteria", {"criteria": (LANGUAGE.model_copy(update={"params": {}}),)}, 3, Mend.regrade),
    ("criteria", {"criteria": (LANGUAGE.model_copy(update={"weight": 2.0}),)}, 3, Mend.regrade),
    ("criteria", {"criteria": (LANGUAGE.model_copy(update={"gate": True}),)}, 3, Mend.regrade),
    ("criteria", {"criteria": (LANGUAGE, LANGUAGE)}, 3, Mend.regrade),
    ("pass score", {"pass_score": 0.5}, 3, Mend.regrade),
    ("settle mode", {"settle_mode": SettleMode.criteria}, 3, Mend.regrade),
    ("corpus", {"corpus_version": 2}, 3, Mend.regrade),
    ("expectations", {"cases": {"judged": replace(JUDGED, graded="other")}}, 1, Mend.regrade),
]


@pytest.mark.parametrize(("name", "changes", "cases", "mend"), REFUSED)
def test_each_difference_of_the_ruler_refuses_in_its_own_row_only(
    name: str, changes: dict[str, Any], cases: int, mend: Mend | None
) -> None:
    gate = comparability(facts(), facts(**changes))
    assert not gate.comparable
    assert [(row.name, row.cases, row.mend) for row in gate.refused] == [(name, cases, mend)]
    assert gate.mendable == (mend is not None)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("target", {"target_version": "4.2"}),
        ("target", {"target": "other-svc"}),
        ("repeats", {"repeats": 3}),
        ("lanes", {"lanes": 16}),
        ("case set", {"cases": {"judged": JUDGED}}),
        ("case set", {"cases": {"judged": JUDGED, "measured": replace(MEASURED, asked="other")}}),
    ],
)
def test_target_repeats_lanes_and_case_set_are_noted_and_refuse_nothing(
    name: str, changes: dict[str, Any]
) -> None:
    gate = comparability(facts(), facts(**changes))
    assert gate.comparable
    assert [row.name for row in gate.noted] == [name]
    assert row(gate, name).mend is None


def test_overlap_comes_first_and_tells_what_is_left_out() -> None:
    a = facts(cases={"x": ASSERTED, "y": ASSERTED, "gone": ASSERTED})
    b = facts(cases={"x": ASSERTED, "y": replace(ASSERTED, asked="other"), "new": ASSERTED, "n2": ASSERTED})
    gate = comparability(a, b)
    assert (gate.shared, gate.only_a, gate.only_b, gate.unpaired) == (1, 1, 2, 1)
    assert gate.overlap == "1 shared, 1 only in A, 2 only in B, 1 asked differently"
    pairing = pair(a, b)
    assert (pairing.shared, pairing.only_a, pairing.only_b) == (("x",), ("gone",), ("n2", "new"))
    assert pairing.unpaired == ("y",)


def test_a_case_asked_differently_is_no_row_of_the_gate_however_it_is_graded() -> None:
    changed = replace(JUDGED, asked="other", graded="other")
    assert comparability(facts(), facts(cases={"judged": changed})).comparable


def test_sentences_say_what_differs_and_what_rests_on_it() -> None:
    gate = comparability(
        facts(),
        facts(
            rubric=rubric(version=4),
            policy=Policy(name="refund-desk", version=3, text="Be long."),
            criteria=(LANGUAGE.model_copy(update={"weight": 2.0}),),
            target_version="4.2",
        ),
    )
    assert row(gate, "rubric").sentence == (
        "The rubric differs, case-judge v3 / case-judge v4; 1 shared case is graded by it."
    )
    assert row(gate, "policy").sentence.startswith(
        "The policy differs in wording, both are called refund-desk v3; 3 shared cases are answered"
    )
    assert row(gate, "criteria").sentence == (
        'The criteria differ, reply.language (language "nl", weight 1) / reply.language (language "nl", '
        "weight 2); 3 shared cases are settled by criteria."
    )
    assert row(gate, "judge model").sentence == "Same judge model: judge-1."
    assert row(gate, "target").sentence.startswith("The target differs, claims-svc 4.1 / claims-svc 4.2;")
    assert row(comparability(facts(policy=None), facts(policy=None)), "policy").sentence == (
        "No policy on either side."
    )


def test_criteria_in_another_order_are_the_same_criteria() -> None:
    other = CriterionSpec(kind="reply.contains", params={"substrings": ["x"]})
    assert comparability(facts(criteria=(LANGUAGE, other)), facts(criteria=(other, LANGUAGE))).comparable


def test_a_metric_that_only_one_run_used_refuses_nothing_by_itself() -> None:
    other = facts(metric_versions={"latency-budget": 1, "token-budget": 2})
    assert comparability(facts(), other).comparable


def test_criteria_rest_on_no_case_where_expectations_settle() -> None:
    a, b = facts(settle_mode=SettleMode.expectation), facts(settle_mode=SettleMode.expectation, criteria=())
    gate = comparability(a, b)
    assert [(row.name, row.cases) for row in gate.refused] == [("criteria", 0)]


def test_runs_without_a_shared_case_have_a_gate_too() -> None:
    gate = comparability(facts(cases={"a": ASSERTED}), facts(cases={"b": ASSERTED}))
    assert (gate.shared, gate.comparable) == (0, True)
    assert row(gate, "case set").sentence == (
        "0 shared, 1 only in A, 1 only in B: only shared cases are compared."
    )


def test_the_facts_of_a_case_say_what_of_the_ruler_grades_it() -> None:
    registry = ScriptedCriteria()
    asks, plain = CriterionSpec(kind="asks"), CriterionSpec(kind="pass")

    def of(mode: SettleMode, *criteria: CriterionSpec, **changes: Any) -> tuple[bool, bool, str | None]:
        found = case_facts(case(**changes), mode, registry, criteria)
        return found.by_rubric, found.by_judge, found.metric

    assert of(SettleMode.expectation) == (True, True, None)
    assert of(SettleMode.expectation, asks, spec_node="A") == (False, False, None)
    assert of(SettleMode.criteria) == (False, False, None)
    assert of(SettleMode.criteria, plain, asks) == (False, True, None)
    assert of(SettleMode.criteria, CriterionSpec(kind="unheard of")) == (False, False, None)
    assert of(SettleMode.both, plain, criteria=[{"kind": "asks"}], spec_node="A") == (False, True, None)
    metric = MetricRef(id="token-budget", params={"budget": 9})
    assert of(SettleMode.both, metric=metric) == (False, False, "token-budget")
    assert of(SettleMode.criteria, metric=metric) == (False, False, None)
    found = case_facts(case(), SettleMode.both, builtin_registry())
    assert (found.asked, found.graded) == (asked_fingerprint(case()), graded_fingerprint(case()))


def test_another_setup_unpairs_a_case_and_another_source_does_not() -> None:
    def run(**changes: Any) -> RunFacts:
        return facts(cases={"refund": case_facts(case(**changes), SettleMode.both, builtin_registry())})

    assert comparability(run(), run(setup=Fixture(name="empty basket"))).unpaired == 1
    gate = comparability(run(), run(sources={"acceptable": ("gdpr/art:17",)}))
    assert (gate.shared, [row.name for row in gate.refused]) == (1, ["expectations"])


NAMES = st.text(min_size=1, max_size=9) | st.sampled_from(
    ["\x00", "\u202egnihtyreve", "<script>", "{0}", "x" * 500]
)
CASES = st.dictionaries(
    HOSTILE,
    st.builds(CaseFacts, asked=st.sampled_from("ab"), graded=st.sampled_from("ab"), by_rubric=st.booleans()),
    max_size=6,
)
RUNS = st.builds(
    facts,
    cases=CASES,
    judge_model=HOSTILE,
    target=HOSTILE,
    corpus=HOSTILE,
    policy=st.none() | st.builds(Policy, name=NAMES, version=st.integers(1, 3), text=HOSTILE),
    metric_versions=st.dictionaries(HOSTILE, st.integers(1, 2), max_size=2),
    criteria=st.lists(st.builds(CriterionSpec, kind=NAMES), max_size=2).map(tuple),
)


@given(RUNS, RUNS)
def test_any_gate_is_symmetric_adds_up_and_can_be_stored(a: RunFacts, b: RunFacts) -> None:
    gate, back = comparability(a, b), comparability(b, a)
    assert [(row.name, row.kind, row.cases, row.mend) for row in gate.rows] == [
        (row.name, row.kind, row.cases, row.mend) for row in back.rows
    ]
    assert [row.a for row in gate.rows] == [row.b for row in back.rows]
    assert gate.comparable == (not gate.refused)
    assert gate.shared + gate.only_a + gate.unpaired == len(a.cases)
    assert gate.shared + gate.only_b + gate.unpaired == len(b.cases)
    to_json(gate.model_dump(mode="json")).encode()
    assert Gate.model_validate_json(gate.model_dump_json()) == gate


@given(RUNS)
def test_any_run_is_comparable_with_itself(run: RunFacts) -> None:
    assert {row.kind for row in comparability(run, run).rows} == {RowKind.same}
