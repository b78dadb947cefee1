"""Small makers of cases, evidence and judges for the tests of the evaluation core. No Django."""

import asyncio
import json
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from experiments.evaluation import (
    CriterionContext,
    CriterionSpec,
    CriterionStatus,
    EvalCase,
    EvaluationResult,
    Evidence,
    GradeRequest,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
    Rubric,
    Ruler,
    SettledBy,
    SettleMode,
    Turn,
    Verdict,
    evaluate_attempt,
)

DATA = Path(__file__).resolve().parents[1] / "data"
T = TypeVar("T")


class By(TypedDict):
    """What every result in a test must name."""

    evaluator: str
    settled_by: SettledBy


TEMPLATE = (
    "Before: {replay_history}\nGiven: {simulation_history}\nSaid: {system_output}\nWanted: {expected_outcome}"
)
LABELLED = TEMPLATE + "\nAnswer with two lines.\nSCORE: 1 to 10\nREASON: why"


def golden(name: str) -> Any:
    """The golden values in tests/data/<name>.json."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's value."""
    return asyncio.run(coroutine)


def case(**changes: Any) -> EvalCase:
    """A case the judge settles, with changes."""
    fields = {"id": "refund", "turn": "when do I get my refund?", "expected": "states a 30-day window"}
    return EvalCase.model_validate({**fields, **changes})


def said(reply: str | None = "Within 30 days.", **changes: Any) -> Evidence:
    """Evidence of one turn with this reply; changes go to the turn when it has such a field."""
    turn = {name: changes.pop(name) for name in list(changes) if name in Turn.model_fields}
    turns = (Turn.model_validate({"prompt": "when do I get my refund?", "reply": reply, **turn}),)
    return Evidence.model_validate({"turns": turns, **changes})


def rubric(template: str = TEMPLATE, **changes: Any) -> Rubric:
    """A grade rubric that is read as a bare number, with changes."""
    return Rubric.model_validate({"name": "case-judge", "version": 3, "template": template, **changes})


class ScriptedJudge:
    """A judge that gives these answers in turn (an exception is raised) and keeps what it was asked."""

    model = "scripted-judge"

    def __init__(self, *answers: JudgeReply | JudgeResult | str | BaseException) -> None:
        self._answers = list(answers)
        self.asked: list[GradeRequest | JudgeRequest] = []

    def _next(self, request: GradeRequest | JudgeRequest) -> Any:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def grade(self, request: GradeRequest) -> JudgeReply:
        answer = self._next(request)
        if isinstance(answer, str):
            return JudgeReply(text=answer, prompt_tokens=100, completion_tokens=5)
        return answer  # type: ignore[no-any-return]  # a script may hand out what it should not

    async def label(self, request: JudgeRequest) -> JudgeResult:
        return self._next(request)  # type: ignore[no-any-return]


class ScriptedCriteria:
    """A registry whose kind names are statuses ("pass", "fail", ...); kind "raises" breaks its promise."""

    async def evaluate(
        self, spec: CriterionSpec, case: EvalCase, evidence: Evidence, ctx: CriterionContext
    ) -> Verdict:
        if spec.kind == "raises":
            raise RuntimeError("a broken registry")
        if spec.kind == "asks":
            assert ctx.judge is not None
            request = JudgeRequest(instruction="?", transcript="!", allowed_labels=("yes",))
            await ctx.judge.label(request)
            return Verdict(status=CriterionStatus.PASS, kind="asks")
        return Verdict(
            status=CriterionStatus(spec.kind), kind=spec.kind, weight=self.weight(spec), gate=spec.gate
        )

    def validate(self, spec: CriterionSpec) -> object:
        if spec.kind not in self:
            raise ValueError(f"no criterion kind {spec.kind!r} is registered")
        if spec.params:
            raise ValueError(f"{spec.kind}: {', '.join(spec.params)}: unknown parameter")
        return None

    def weight(self, spec: CriterionSpec) -> float:
        return 1.0 if spec.weight is None else spec.weight

    def needs(self, name: str) -> frozenset[str]:
        return frozenset({"judge"}) if name == "asks" else frozenset()

    def reads_sources(self, name: str) -> bool:
        return False

    def __contains__(self, name: object) -> bool:
        return name in {"asks", *CriterionStatus}


def ruler(mode: SettleMode = SettleMode.expectation, *kinds: str, **changes: Any) -> Ruler:
    """A ruler with scripted criteria of these kinds."""
    specs = tuple(CriterionSpec(kind=kind) for kind in kinds)
    return Ruler(**{"registry": ScriptedCriteria(), "settle_mode": mode, "criteria": specs, **changes})


def settle(
    by: Ruler, of: EvalCase | None = None, evidence: Evidence | None = None, **services: Any
) -> EvaluationResult:
    """The result of one attempt."""
    return run(evaluate_attempt(of or case(), evidence or said(), by, CriterionContext(**services)))


def verdicts(rows: Iterable[tuple[str, float, bool]]) -> list[Verdict]:
    """Verdicts from (status, weight, gate) rows."""
    return [
        Verdict(status=CriterionStatus(s), weight=w, gate=g, kind=f"k{i}") for i, (s, w, g) in enumerate(rows)
    ]
