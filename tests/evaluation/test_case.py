"""Cases, their two fingerprints, and setups."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from experiments.evaluation import (
    Case,
    EvalCase,
    EvalSetup,
    FailingTool,
    Fixture,
    NoSetup,
    Replay,
    SourceRoles,
    asked_fingerprint,
    graded_fingerprint,
    is_seeded,
    walks,
)
from tests.evaluation.builders import case

REPLAY = Replay(user_turns=("I want a refund", "order 4417"))
FIXTURE = Fixture(name="paid_order", parameters={"days": 3})


@pytest.mark.parametrize(
    "change",
    [{"turn": "another"}, {"setup": REPLAY}, {"setup": FIXTURE}, {"variant_of": "base"}],
    ids=lambda change: next(iter(change)),
)
def test_what_the_system_is_asked_changes_the_asked_fingerprint_only(change: dict[str, Any]) -> None:
    assert asked_fingerprint(case(**change)) != asked_fingerprint(case())
    assert graded_fingerprint(case(**change)) == graded_fingerprint(case())


@pytest.mark.parametrize(
    "change",
    [
        {"expected": "another"},
        {"spec_node": "UC-1"},
        {"required_phrases": ("30 days",)},
        {"metric": {"id": "token-f1"}},
        {"behaviour": "refuse"},
        {"message": "no_advice"},
        {"message_text": "Ik geef geen advies."},
        {"sources": {"required": [["a"]]}},
        {"sources": {"acceptable": ["a"]}},
        {"sources": {"forbidden": ["a"]}},
        {"nuggets": [{"text": "thirty days"}]},
        {"reference": "30 days"},
        {"criteria": [{"kind": "reply.contains"}]},
    ],
    ids=lambda change: str(change),
)
def test_what_the_reply_is_graded_by_changes_the_graded_fingerprint_only(change: dict[str, Any]) -> None:
    assert graded_fingerprint(case(**change)) != graded_fingerprint(case())
    assert asked_fingerprint(case(**change)) == asked_fingerprint(case())


def test_id_and_tags_are_in_neither_fingerprint() -> None:
    other = case(id="other", tags=("refunds",))
    assert (asked_fingerprint(other), graded_fingerprint(other)) == (
        asked_fingerprint(case()),
        graded_fingerprint(case()),
    )


def test_the_order_of_sources_within_a_role_means_nothing() -> None:
    one = SourceRoles(required=(("b", "a"), ("c",)), acceptable=("x", "y"), forbidden=("p", "q"))
    other = SourceRoles(required=(("c",), ("a", "b")), acceptable=("y", "x"), forbidden=("q", "p"))
    assert graded_fingerprint(case(sources=one)) == graded_fingerprint(case(sources=other))


def test_required_groups_are_not_one_group() -> None:
    one = SourceRoles(required=(("a", "b"),))
    two = SourceRoles(required=(("a",), ("b",)))
    assert graded_fingerprint(case(sources=one)) != graded_fingerprint(case(sources=two))


def test_fingerprints_take_nul_and_lone_surrogates_and_tell_them_apart() -> None:
    prints = {
        asked_fingerprint(case(turn=turn)) for turn in ("\x00", "\ud800", "\ud801", "\ufffd", "\\ud800")
    }
    assert len(prints) == 5


def test_a_case_reads_back_from_its_own_dump_with_the_same_fingerprints() -> None:
    setup = FailingTool(tool="lookup", message="down", then=REPLAY)
    whole = case(setup=setup, sources={"required": [["a"]]}, metric={"id": "token-f1", "params": {"x": 1}})
    again = EvalCase.model_validate(whole.model_dump(mode="json"))
    assert again == whole
    assert asked_fingerprint(again) == asked_fingerprint(whole)
    assert graded_fingerprint(again) == graded_fingerprint(whole)


def test_a_case_refuses_unknown_fields_with_their_name_and_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="spec_nod"):
        EvalCase.model_validate({"id": "a", "turn": "t", "spec_nod": "x"})
    with pytest.raises(ValidationError, match="frozen"):
        case().turn = "another"  # type: ignore[misc]  # that it cannot be set is the point
    assert Case is EvalCase


@pytest.mark.parametrize(
    ("setup", "walked", "seeded"),
    [
        (NoSetup(), False, False),
        (REPLAY, True, False),
        (FIXTURE, False, True),
        (FailingTool(tool="t", message="m"), False, False),
        (FailingTool(tool="t", message="m", then=REPLAY), True, False),
        (FailingTool(tool="t", message="m", then=FIXTURE), False, True),
        (
            FailingTool(tool="t", message="m", then=FailingTool(tool="u", message="m", then=REPLAY)),
            True,
            False,
        ),
    ],
    ids=repr,
)
def test_only_a_replay_walks_and_only_a_fixture_seeds_also_inside_a_failing_tool(
    setup: EvalSetup, walked: bool, seeded: bool
) -> None:
    assert (walks(setup), is_seeded(setup)) == (walked, seeded)


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_an_id_is_a_text_that_can_be_stored(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        case(id=name)
    with pytest.raises(ValidationError, match="kind"):
        case(criteria=[{"kind": name}])


def test_the_union_of_setups_is_closed() -> None:
    adapter: TypeAdapter[EvalSetup] = TypeAdapter(EvalSetup)
    nested = {"kind": "failing_tool", "tool": "t", "message": "m", "then": {"kind": "fixture", "name": "f"}}
    assert adapter.validate_python(nested) == FailingTool(tool="t", message="m", then=Fixture(name="f"))
    with pytest.raises(ValidationError, match="kind"):
        adapter.validate_python({"kind": "time_travel"})
    with pytest.raises(ValidationError, match="user_turns"):
        Replay(user_turns=())
