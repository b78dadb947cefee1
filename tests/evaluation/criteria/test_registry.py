"""The registry, the public face and a team's own kind."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase
from experiments.evaluation.criteria import (
    Builtin,
    CriterionKind,
    CriterionParamsError,
    CriterionRegistry,
    NoParams,
    builtin_registry,
    error,
    judge_label,
    not_applicable,
    outcome,
)
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CriterionContext, JudgeError, JudgeRequest, JudgeResult
from tests.evaluation.criteria.helpers import case, replied, verdict


class ThanksParams(FrozenModel):
    word: str = "dank"


async def thanks(
    case: EvalCase, evidence: Evidence, *, params: ThanksParams, ctx: CriterionContext
) -> Verdict:
    if evidence.reply is None:
        return error("missing final reply")
    return outcome(passed=params.word in evidence.reply.casefold())


def with_thanks() -> CriterionRegistry:
    registry = builtin_registry()
    registry.register(Builtin("custom.thanks", ThanksParams, thanks))
    return registry


@pytest.mark.parametrize(
    ("reply", "params", "status"),
    [
        ("Hartelijk DANK!", {}, CriterionStatus.PASS),
        ("Tot ziens", {}, CriterionStatus.FAIL),
        ("Thank you", {"word": "thank"}, CriterionStatus.PASS),
        (None, {}, CriterionStatus.ERROR),
    ],
)
def test_a_teams_own_kind_grades_like_a_built_in_one(
    reply: str | None, params: dict[str, Any], status: CriterionStatus
) -> None:
    found = verdict("custom.thanks", replied(reply), params, registry=with_thanks())
    assert (found.status, found.kind) == (status, "custom.thanks")


def test_a_kind_added_to_one_registry_is_in_no_other() -> None:
    assert "custom.thanks" in with_thanks()
    assert "custom.thanks" not in builtin_registry()


def test_a_name_is_registered_once() -> None:
    registry = with_thanks()
    with pytest.raises(ValueError, match=r"custom\.thanks"):
        registry.register(Builtin("custom.thanks", NoParams, thanks))


@pytest.mark.parametrize("thing", [object(), "reply.contains", Builtin("", NoParams, thanks)])
def test_what_is_no_kind_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="no criterion kind"):
        CriterionRegistry([thing])


def test_a_builtin_is_a_criterion_kind() -> None:
    kind: CriterionKind = Builtin("custom.thanks", ThanksParams, thanks)
    assert isinstance(kind, CriterionKind)


def test_an_unregistered_kind_is_refused_by_name_with_close_matches() -> None:
    with pytest.raises(CriterionParamsError, match=r"did you mean citations\.required"):
        builtin_registry().validate(CriterionSpec(kind="citation.require"))
    with pytest.raises(CriterionParamsError, match=r"known: behaviour\.expected"):
        builtin_registry().validate(CriterionSpec(kind="xyzzy"))


def test_an_unknown_parameter_is_refused_with_its_name_beside_every_other_problem() -> None:
    spec = CriterionSpec(kind="citations.required", params={"minimum": 1, "match": "fuzzy", "min": 2})
    with pytest.raises(CriterionParamsError) as refused:
        builtin_registry().validate(spec)
    problems = dict(refused.value.problems)
    assert set(problems) == {("minimum",), ("match",), ("min",)}
    assert problems[("minimum",)] == "unknown parameter"


@pytest.mark.parametrize("name", ["weight", "gate"])
def test_weight_and_gate_are_no_parameters_of_a_kind(name: str) -> None:
    for kind in builtin_registry():
        with pytest.raises(CriterionParamsError, match=name):
            builtin_registry().validate(CriterionSpec(kind=kind, params={name: 1}))


def test_builtin_evaluate_validates_again_by_itself() -> None:
    kind = builtin_registry().get("reply.max_length")
    with pytest.raises(ValidationError):
        asyncio.run(kind.evaluate(case(), replied("a"), params={"max": "3"}, ctx=CriterionContext()))


def test_the_registry_adds_kind_weight_and_gate() -> None:
    spec = CriterionSpec(kind="reply.max_length", params={"max": 3}, weight=2.5, gate=True)
    found = asyncio.run(builtin_registry().evaluate(spec, case(), replied("a"), CriterionContext()))
    assert (found.kind, found.weight, found.gate) == ("reply.max_length", 2.5, True)
    assert verdict("reply.max_length", replied("a"), {"max": 3}).weight == 1.0


def test_an_explicit_weight_wins_over_the_kinds_default() -> None:
    registry = builtin_registry()
    assert registry.weight(CriterionSpec(kind="citations.unseen")) == 0.0
    assert registry.weight(CriterionSpec(kind="citations.unseen", weight=1.0)) == 1.0


@pytest.mark.parametrize("raised", [RuntimeError("boom"), KeyError("x"), RecursionError(), MemoryError()])
def test_whatever_a_kind_raises_is_an_error_verdict(raised: Exception) -> None:
    async def breaks(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        raise raised

    registry = CriterionRegistry([Builtin("custom.broken", NoParams, breaks)])
    found = verdict("custom.broken", replied("a"), registry=registry)
    assert found.status is CriterionStatus.ERROR
    assert type(raised).__name__ in found.detail


def test_cancellation_passes_through() -> None:
    async def cancelled(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        raise asyncio.CancelledError

    registry = CriterionRegistry([Builtin("custom.slow", NoParams, cancelled)])
    with pytest.raises(asyncio.CancelledError):
        verdict("custom.slow", replied("a"), registry=registry)


@pytest.mark.parametrize("answer", [None, True, outcome(passed=True, data={"seen": {1, 2}})])
def test_an_answer_that_is_no_storable_verdict_is_an_error(answer: Any) -> None:
    async def odd(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        return answer  # type: ignore[no-any-return]

    registry = CriterionRegistry([Builtin("custom.odd", NoParams, odd)])
    assert verdict("custom.odd", replied("a"), registry=registry).status is CriterionStatus.ERROR


def test_parameters_that_slipped_through_are_an_error_verdict_and_so_is_an_unknown_kind() -> None:
    assert verdict("reply.max_length", replied("a"), {"mx": 3}).status is CriterionStatus.ERROR
    assert "did you mean" in verdict("reply.max_lenght", replied("a")).detail


class LabellingJudge:
    model = "fake"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def grade(self, request: Any) -> Any:
        raise AssertionError("not asked for")

    async def label(self, request: JudgeRequest) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


REQUEST = JudgeRequest(instruction="?", transcript="t", allowed_labels=("yes", "no"))


@pytest.mark.parametrize(
    ("judge", "detail"),
    [
        (None, "no judge"),
        (LabellingJudge(JudgeError("timed out")), "timed out"),
        (LabellingJudge({"label": 3}), "could not be read"),
        (LabellingJudge(JudgeResult(label="maybe")), "maybe"),
    ],
)
def test_judge_label_turns_every_trouble_into_an_error_verdict(judge: Any, detail: str) -> None:
    found = asyncio.run(judge_label(REQUEST, CriterionContext(judge=judge)))
    assert isinstance(found, Verdict)
    assert found.status is CriterionStatus.ERROR
    assert detail in found.detail


def test_judge_label_gives_an_allowed_label_with_its_reason() -> None:
    judge = LabellingJudge(JudgeResult(label="yes", reason="because"))
    assert asyncio.run(judge_label(REQUEST, CriterionContext(judge=judge))) == judge.answer


def test_not_applicable_is_its_own_status() -> None:
    assert not_applicable("nothing").status is CriterionStatus.NOT_APPLICABLE
