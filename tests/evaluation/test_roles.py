"""A decided source gets its role, loses it again, and only what reads roles is graded anew."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    Citation,
    CriterionContext,
    CriterionSpec,
    EvalCase,
    EvaluationResult,
    Evidence,
    Ruler,
    SettleMode,
    SourceRoles,
    Turn,
    evaluate_attempt,
    graded_fingerprint,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.ports import JudgeReply
from experiments.evaluation.roles import regrade_roles, with_role, without_role

SPECS = (
    CriterionSpec(kind="citations.required", gate=True),
    CriterionSpec(kind="citations.forbidden"),
    CriterionSpec(kind="reply.contains", params={"substrings": ["30 days"]}),
    CriterionSpec(kind="citations.unseen"),
)
IDS = st.sampled_from(["a", "b", "c", "d/e", "d"])


def case_with(**sources: object) -> EvalCase:
    return EvalCase(id="k", turn="When?", expected="says when", sources=SourceRoles.model_validate(sources))


def evidence_citing(*ids: str) -> Evidence:
    return Evidence(
        turns=(Turn(prompt="When?", reply="In 30 days", citations=tuple(Citation(id=i) for i in ids)),)
    )


def graded(case: EvalCase, evidence: Evidence, ruler: Ruler, ctx: CriterionContext) -> EvaluationResult:
    return asyncio.run(evaluate_attempt(case, evidence, ruler, ctx))


def test_a_required_source_joins_the_group_it_was_given_or_makes_its_own() -> None:
    case = case_with(required=[["a"], ["b"]])
    assert with_role(case, "c", "required", 1).sources.required == (("a",), ("b", "c"))
    assert with_role(case, "c", "required").sources.required == (("a",), ("b",), ("c",))
    assert with_role(case, "c", "required", 7).sources.required == (("a",), ("b",), ("c",))


def test_a_source_changes_its_role_rather_than_having_two() -> None:
    case = case_with(required=[["a", "b"]], acceptable=["c"])
    changed = with_role(case, "b", "forbidden")
    assert changed.sources == SourceRoles(required=(("a",),), acceptable=("c",), forbidden=("b",))
    assert with_role(case, "a", "required", 0).sources.required == (("b", "a"),)


@pytest.mark.parametrize("role", ["not_a_source", "cannot_tell"])
def test_no_source_and_cannot_tell_leave_the_sources_as_they_are(role: str) -> None:
    case = case_with(required=[["a"]], acceptable=["b"])
    assert with_role(case, "c", role) == case


@given(
    st.lists(st.lists(IDS, min_size=1, max_size=3, unique=True), max_size=3),
    IDS,
    st.sampled_from(["required", "acceptable", "forbidden", "not_a_source"]),
    st.none() | st.integers(-1, 4),
)
def test_deciding_a_new_source_and_undoing_it_gives_the_case_back(
    groups: list[list[str]], unit_id: str, role: str, group: int | None
) -> None:
    case = without_role(case_with(required=groups), unit_id)
    again = without_role(with_role(case, unit_id, role, group), unit_id)
    assert graded_fingerprint(again) == graded_fingerprint(case)


class CountingJudge:
    """Grades 9 and counts how often it was asked."""

    model = "counting"

    def __init__(self) -> None:
        self.asked = 0

    async def grade(self, _: object) -> JudgeReply:
        self.asked += 1
        return JudgeReply(text="SCORE: 9\nREASON: fine", prompt_tokens=3, completion_tokens=2)

    async def label(self, _: object) -> None:
        raise AssertionError("no criterion here asks for a label")


def ruler_of(mode: SettleMode) -> Ruler:
    from experiments.evaluation import Rubric

    template = "{replay_history}{simulation_history}{system_output}{expected_outcome}\nSCORE:\nREASON:"
    rubric = Rubric(name="r", template=template)
    return Ruler(registry=builtin_registry(), settle_mode=mode, criteria=SPECS, rubric=rubric)


@pytest.mark.parametrize("mode", SettleMode)
@given(
    st.lists(IDS, max_size=4),
    IDS,
    st.sampled_from(["required", "acceptable", "forbidden", "cannot_tell"]),
)
def test_grading_roles_anew_equals_grading_everything_anew_without_asking_the_judge(
    mode: SettleMode, cited: list[str], unit_id: str, role: str
) -> None:
    before, evidence = case_with(required=[["a"]], forbidden=["c"]), evidence_citing(*cited)
    after, ruler, judge = with_role(before, unit_id, role), ruler_of(mode), CountingJudge()
    ctx = CriterionContext(judge=judge)  # type: ignore[arg-type]
    old = graded(before, evidence, ruler, ctx)
    asked = judge.asked
    anew = asyncio.run(regrade_roles(after, evidence, old, ruler, ctx))
    assert judge.asked == asked
    assert anew == graded(after, evidence, ruler, ctx)


def test_only_criteria_that_read_roles_are_evaluated_again() -> None:
    before, evidence = case_with(), evidence_citing("x")
    ruler = ruler_of(SettleMode.criteria)
    old = graded(before, evidence, ruler, CriterionContext())
    silent = Evidence(
        turns=(Turn(prompt="When?", reply="nothing of the sort", citations=evidence.citations),)
    )
    anew = asyncio.run(
        regrade_roles(with_role(before, "x", "forbidden"), silent, old, ruler, CriterionContext())
    )
    assert [verdict.status for verdict in anew.verdicts] == ["not_applicable", "fail", "pass", "pass"]


def test_an_attempt_graded_by_other_criteria_is_refused() -> None:
    old = graded(case_with(), evidence_citing(), ruler_of(SettleMode.criteria), CriterionContext())
    fewer = Ruler(registry=builtin_registry(), settle_mode=SettleMode.criteria, criteria=SPECS[:2])
    with pytest.raises(ValueError, match="other criteria"):
        asyncio.run(regrade_roles(case_with(), evidence_citing(), old, fewer, CriterionContext()))


def test_which_kinds_read_roles_is_known_and_a_kind_of_a_team_is_taken_to() -> None:
    from experiments.evaluation.criteria import Builtin, NoParams, outcome

    async def always(*_: object, **__: object) -> object:
        return outcome(passed=True)

    registry = builtin_registry()
    registry.register(Builtin("team.own", NoParams, always))  # type: ignore[arg-type]
    registry.register(Builtin("team.asks", NoParams, always, needs=frozenset({"judge"})))  # type: ignore[arg-type]
    registry.register(Builtin("team.says", NoParams, always, reads_sources=False))  # type: ignore[arg-type]
    reads = {kind for kind in registry if registry.reads_sources(kind)}
    assert reads == {"citations.required", "citations.forbidden", "citations.unseen", "team.own"}
