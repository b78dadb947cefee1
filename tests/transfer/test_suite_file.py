"""Suite files in and out."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.evaluation.case import (
    Behaviour,
    CriterionSpec,
    EvalCase,
    MetricRef,
    Nugget,
    SourceRoles,
    asked_fingerprint,
    graded_fingerprint,
)
from experiments.evaluation.setup import FailingTool, Fixture, NoSetup, Replay
from experiments.hooks import read_hooks
from experiments.transfer.problems import MAX_PROBLEMS, FileRefusedError
from experiments.transfer.suite_file import SuiteFile, parse_suite, read_suite, suite_json, suite_yaml
from experiments.wire.suite import from_cases, suite_criteria, to_cases

HOOKS = read_hooks("")

SPEC_EXAMPLE = """\
format: evalsite/suite@1
suite: refunds
pass_score: 1.0
criteria:
  - {kind: citations.required, match: hierarchical, gate: true}
  - {kind: reply.max_length, max: 900, weight: 0.5}
messages: {no_advice: "Ik geef geen juridisch advies."}
cases:
  - id: refund-timing
    turn: when do I get my refund?
    expected: the reply states a 30-day refund window
    spec_node: GenUC-16a            # or required_phrases: [...] or metric: {id: token-f1, version: 1}
    setup: {replay: ["I want a refund", "order 4417"]}   # none | replay | fixture | failing_tool
    behaviour: answer               # answer | refuse (with message: no_advice) | abstain
    sources: {required: [[gdpr/art:17, gdpr/art:17/par:1]], acceptable: [], forbidden: [gdpr/art:99]}
    nuggets: [{text: thirty days, vital: true}]
    variant_of: refund-timing-base
    reference: ...                  # reference answer, for metrics
    tags: [refunds]
    criteria: []                    # added to the suite's
  - {id: refund-timing-base, turn: refund?, behaviour: refuse, message: no_advice}
"""


def parsed(text: str, file: str = "s.yaml") -> SuiteFile:
    return parse_suite(text, file, HOOKS.criteria, HOOKS.metrics)


def problems(text: str, file: str = "s.yaml") -> list[str]:
    with pytest.raises(FileRefusedError) as refused:
        parsed(text, file)
    return str(refused.value).splitlines()


def suite_of(*cases: dict[str, Any], **rest: Any) -> str:
    """A suite as JSON text, each case on a line of its own."""
    head = {"format": "evalsite/suite@1", "suite": "s", **rest}
    lines = ",\n".join(json.dumps(case) for case in cases)
    return json.dumps(head)[:-1] + ', "cases": [\n' + lines + "]}"


def test_the_example_of_the_format_page_is_read_whole() -> None:
    suite = parsed(SPEC_EXAMPLE)
    first, base = to_cases(suite.document)
    assert first.setup == Replay(user_turns=("I want a refund", "order 4417"))
    assert first.sources.required == (("gdpr/art:17", "gdpr/art:17/par:1"),)
    assert first.nuggets == (Nugget(text="thirty days"),)
    assert (first.spec_node, first.behaviour, first.reference) == ("GenUC-16a", Behaviour.answer, "...")
    assert (base.message, base.message_text) == ("no_advice", "Ik geef geen juridisch advies.")
    assert suite_criteria(suite.document) == (
        CriterionSpec(kind="citations.required", params={"match": "hierarchical"}, gate=True),
        CriterionSpec(kind="reply.max_length", params={"max": 900}, weight=0.5),
    )
    assert suite.warnings == ()


def test_every_problem_comes_at_once_with_file_line_and_path() -> None:
    text = """\
format: evalsite/suite@1
suite: refunds
pass_score: 2
criteria:
  - {kind: citations.required, minimum: 0.5}
  - {kind: citation.forbidden}
extra: 1
cases:
  - id: a
    turn: 12
    sources: {required: [gdpr/art:17]}
    message: no_advice
    variant_of: nowhere
  - id: a
    turn: hello
    require_phrases: [x]
  - id: b
  - id: c
    turn: hello
    expected: the reply does not mention lawyers
    required_phrases: [fine, lawyers]
    metric: {id: latency-budget, params: {budget: -1}}
"""
    kind = "no criterion kind 'citation.forbidden' is registered"
    phrase = "the required phrase “lawyers” is what the expected outcome forbids"
    assert problems(text) == [
        "s.yaml:3: pass_score: should be less than or equal to 1",
        "s.yaml:5: criteria[0].minimum: unknown field",
        f"s.yaml:6: criteria[1].kind: {kind}; did you mean citations.forbidden or citations.unseen?",
        "s.yaml:7: extra: unknown field",
        "s.yaml:10: cases[0].turn: must be text; put it in quotes",
        "s.yaml:11: cases[0].sources.required[0]: must be a list",
        "s.yaml:12: cases[0].message: no message no_advice among the suite's messages",
        "s.yaml:13: cases[0].variant_of: no case nowhere in this suite",
        "s.yaml:14: cases[1].id: the id a is taken by cases[0]",
        "s.yaml:16: cases[1].require_phrases: unknown field; did you mean required_phrases?",
        "s.yaml:17: cases[2].turn: is required",
        f"s.yaml:21: cases[3].required_phrases[1]: {phrase}",
        "s.yaml:22: cases[3].metric.params.budget: should be greater than 0",
    ]


def test_a_json_suite_gives_the_same_lines() -> None:
    text = suite_of({"id": "a", "turn": "x", "expected": "y"}, {"id": "a", "turn": "x", "tgs": []})
    assert problems(text, "s.json") == [
        "s.json:3: cases[1].tgs: unknown field; did you mean tags?",
        "s.json:3: cases[1].id: the id a is taken by cases[0]",
    ]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"turn": "x"}, "cases[0]: nothing settles this case"),
        ({"turn": " \n"}, "cases[0].turn: must not be blank"),
        ({"turn": "x", "expected": "X "}, "cases[0].turn: the graded turn is equal to the expected outcome"),
        ({"turn": "x", "variant_of": "a"}, "cases[0].variant_of: a case cannot be a variant of itself"),
        ({"turn": "x", "setup": {"replay": []}}, "cases[0].setup.replay: "),
        ({"turn": "x", "setup": {"replay": ["a"], "fixture": "b"}}, "cases[0].setup: must name exactly one"),
        ({"turn": "x", "setup": "fixtures"}, "cases[0].setup: "),
        ({"turn": "x", "setup": {"fixture": {"nam": "f"}}}, "cases[0].setup.fixture.name: is required"),
        (
            {"turn": "x", "sources": {"required": [[]]}},
            "cases[0].sources.required[0]: must hold at least one",
        ),
        ({"turn": "x", "sources": {"forbidden": [""]}}, "cases[0].sources.forbidden[0]: "),
        (
            {"turn": "x", "behaviour": "reply"},
            "cases[0].behaviour: should be 'answer', 'refuse' or 'abstain'",
        ),
        (
            {"turn": "x", "criteria": [{"kind": "reply.contains"}]},
            "cases[0].criteria[0]: substrings or regex",
        ),
        (
            {"turn": "x", "criteria": [{"kind": "reply.contains", "regex": ["("]}]},
            "cases[0].criteria[0].regex[0]: is no regular expression",
        ),
        (
            {"turn": "x", "criteria": [{"kind": "run.no_failure", "weight": -1}]},
            "cases[0].criteria[0].weight: ",
        ),
        (
            {"turn": "x", "criteria": [{"kind": "run.no_failure", "gate": "yes"}]},
            "cases[0].criteria[0].gate: must be true or false",
        ),
        (
            {"turn": "x", "criteria": [{"kind": "reply.max_length", "max": 10**400}]},
            "cases[0].criteria[0]: holds",
        ),
        (
            {"turn": "x", "metric": {"id": "m", "params": {"n": 10**400}}},
            "cases[0].metric.params: holds a number",
        ),
        ({"turn": "x", "id": "a\x00b"}, "cases[0].id: must not hold control characters"),
        ({"turn": "x", "id": "x" * 201}, "cases[0].id: "),
    ],
)
def test_a_case_that_cannot_stand_is_refused_where_it_stands(case: dict[str, Any], said: str) -> None:
    found = problems(suite_of({"id": "a", **case}), "s.json")
    assert any(one.startswith(f"s.json:2: {said}") for one in found), found


def test_a_variant_of_a_variant_is_refused() -> None:
    text = suite_of(
        {"id": "a", "turn": "x", "expected": "y"},
        {"id": "b", "turn": "x", "expected": "y", "variant_of": "a"},
        {"id": "c", "turn": "x", "expected": "y", "variant_of": "b"},
    )
    assert problems(text) == ["s.yaml:4: cases[2].variant_of: b is itself a variant"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "its top level must be a mapping"),
        ("just a sentence", "its top level must be a mapping"),
        ("suite: s\ncases: []\n", "format: is required"),
        ("format: evalsite/suite@2\nsuite: s\ncases: []\n", "format: must be evalsite/suite@1"),
        ("format: evalsite/suite@1\nsuite: s\ncases: []\n", "cases: must hold at least one"),
        ("format: evalsite/suite@1\nsuite: s s\ncases: []\n", "suite: "),
        ("format: evalsite/suite@1\nsuite: s\ncases: {a: 1}\n", "cases: must be a list"),
        ("format: evalsite/suite@1\nsuite: s\ncases: [7, null]\n", "cases[1]: must be a mapping"),
    ],
)
def test_what_is_no_suite_is_refused(text: str, said: str) -> None:
    assert any(said in one for one in problems(text))


def test_thousands_of_problems_end_in_one_line() -> None:
    found = problems(suite_of(*({"id": f"c{n}", "turn": ""} for n in range(MAX_PROBLEMS + 50))))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == f"s.yaml: has more problems than these {MAX_PROBLEMS}"


def test_what_is_perhaps_not_meant_is_a_warning_and_no_refusal() -> None:
    suite = parsed(
        suite_of(
            {"id": "a", "turn": "x", "spec_node": "N", "required_phrases": ["p"], "metric": {"id": "new"}},
            {"id": "b", "turn": "x", "expected": "y", "behaviour": "refuse"},
        )
    )
    assert [str(one) for one in suite.warnings] == [
        "s.yaml:2: cases[0].required_phrases: is not used: spec_node settles the case",
        "s.yaml:2: cases[0].metric: is not used: spec_node settles the case",
        "s.yaml:2: cases[0].metric: no metric registered for new v1: attempts will be inconclusive",
        "s.yaml:3: cases[1].behaviour: refuse without a message: no refusal code is checked",
    ]


def test_problems_of_hostile_values_stay_on_one_short_line() -> None:
    text = suite_of(
        {"id": "a", "turn": "x", "expected": "y", "\u202e<script>\x1b[2J\ud800": 1, "variant_of": "z" * 10**6}
    )
    for one in problems(text, "s.json"):
        assert len(one) < 1_000
        assert "\ud800" not in one


@pytest.mark.parametrize(
    ("setup", "value"),
    [
        (None, NoSetup()),
        ("none", NoSetup()),
        ({"kind": "none"}, NoSetup()),
        ({"replay": ["a"]}, Replay(user_turns=("a",))),
        ({"kind": "replay", "user_turns": ["a"]}, Replay(user_turns=("a",))),
        ({"fixture": "f"}, Fixture(name="f")),
        ({"fixture": "f", "parameters": {"n": 1}}, Fixture(name="f", parameters={"n": 1})),
        ({"fixture": {"name": "f", "parameters": {"n": 1}}}, Fixture(name="f", parameters={"n": 1})),
        ({"failing_tool": {"tool": "t", "message": "m"}}, FailingTool(tool="t", message="m")),
        (
            {"failing_tool": "t", "message": "m", "then": {"replay": ["a"]}},
            FailingTool(tool="t", message="m", then=Replay(user_turns=("a",))),
        ),
        (
            {
                "failing_tool": {
                    "tool": "t",
                    "message": "m",
                    "then": {"failing_tool": {"tool": "u", "message": ""}},
                }
            },
            FailingTool(tool="t", message="m", then=FailingTool(tool="u", message="")),
        ),
    ],
)
def test_a_setup_may_be_written_in_each_of_its_ways(setup: Any, value: Any) -> None:
    (case,) = to_cases(parsed(suite_of({"id": "a", "turn": "x", "expected": "y", "setup": setup})).document)
    assert case.setup == value


def test_a_suite_of_two_thousand_cases_is_read_in_seconds(tmp_path: Path) -> None:
    cases = [{"id": f"case-{n}", "turn": "hello", "expected": "a greeting"} for n in range(2_000)]
    path = tmp_path / "big.yaml"
    path.write_text(yaml.safe_dump({"format": "evalsite/suite@1", "suite": "big", "cases": cases}))
    assert len(read_suite(path, HOOKS.criteria, HOOKS.metrics).document.cases) == 2_000


# -- export then import -------------------------------------------------------------------------------------

ANY = st.text(st.characters(codec=None, categories=None), max_size=30)
SAID = ANY.filter(lambda text: bool(text.strip()))
KEY = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=20)
NAME = ANY.filter(lambda key: key != "<<")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(ANY.filter(lambda k: k != "<<"), inner, max_size=3)
    ),
    max_leaves=5,
)
FIXTURE = st.builds(Fixture, name=ANY, parameters=st.dictionaries(KEY, JSON, max_size=2))
SETUP: Any = st.recursive(
    st.just(NoSetup())
    | st.builds(Replay, user_turns=st.lists(ANY, min_size=1, max_size=3).map(tuple))
    | FIXTURE,
    lambda inner: st.builds(FailingTool, tool=ANY, message=ANY, then=inner),
    max_leaves=3,
)
IDS = st.lists(KEY, max_size=3).map(tuple)
WEIGHT = st.none() | st.floats(0, 1e6)
SPEC = st.one_of(
    st.builds(
        CriterionSpec,
        kind=st.just("reply.contains"),
        params=st.builds(lambda words: {"substrings": words}, st.lists(SAID, min_size=1, max_size=3)),
        weight=WEIGHT,
        gate=st.booleans(),
    ),
    st.builds(
        CriterionSpec,
        kind=st.just("citations.required"),
        params=st.builds(lambda least: {"min": least, "match": "exact"}, st.floats(0, 1)),
        weight=WEIGHT,
        gate=st.booleans(),
    ),
)
CASE = st.builds(
    EvalCase,
    id=KEY,
    turn=SAID,
    expected=ANY,
    spec_node=st.none() | SAID,
    required_phrases=st.lists(SAID, max_size=2).map(tuple),
    metric=st.none()
    | st.builds(MetricRef, id=KEY, version=st.integers(1, 9), params=st.dictionaries(KEY, JSON)),
    setup=SETUP,
    behaviour=st.none() | st.sampled_from(Behaviour),
    message=st.none() | st.just("no_advice"),
    message_text=st.none(),
    sources=st.builds(
        SourceRoles,
        required=st.lists(st.lists(KEY, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
        acceptable=IDS,
        forbidden=IDS,
    ),
    nuggets=st.lists(st.builds(Nugget, text=SAID, vital=st.booleans()), max_size=2).map(tuple),
    variant_of=st.none(),
    reference=st.none() | ANY,
    tags=IDS,
    criteria=st.lists(SPEC, min_size=1, max_size=2).map(tuple),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CASE, SAID, st.sampled_from(["yaml", "json"]))
def test_export_then_import_gives_the_same_case_and_fingerprints(
    case: EvalCase, text: str, kind: str
) -> None:
    case = case.model_copy(update={"message_text": text if case.message else None})
    if case.expected:
        # What a suite refuses is no matter of the round trip.
        case = case.model_copy(update={"expected": "the reply greets", "required_phrases": ()})
    document = from_cases("s", [case], messages={"no_advice": text}, pass_score=0.5)
    written = suite_yaml(document) if kind == "yaml" else suite_json(document)
    again = parse_suite(written, f"s.{kind}", HOOKS.criteria, HOOKS.metrics).document
    assert again == document
    (found,) = to_cases(again)
    assert found == case
    assert asked_fingerprint(found) == asked_fingerprint(case)
    assert graded_fingerprint(found) == graded_fingerprint(case)
