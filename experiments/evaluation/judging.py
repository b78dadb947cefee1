"""Asking the judge for a grade, and counting what judging an attempt used."""

from experiments.evaluation.context import EvalContext
from experiments.evaluation.grade import Band, band, parse_grade
from experiments.evaluation.outcome import EvaluationResult, JudgeUse, ResultFields, SettledBy
from experiments.evaluation.ports import (
    GradeRequest,
    Judge,
    JudgeError,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
)
from experiments.evaluation.rubric import RubricKind, grade_request
from experiments.evaluation.text import is_blank


class MeteredJudge:
    """A judge that counts what it is asked: one for each attempt, so that its use can be stored with it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._use = JudgeUse()

    @property
    def model(self) -> str:
        """The judge's model name."""
        return self._judge.model

    @property
    def use(self) -> JudgeUse | None:
        """What was used so far; None when the judge was never asked."""
        return self._use.model_copy(update={"model": self.model}) if self._use.calls else None

    async def grade(self, request: GradeRequest) -> JudgeReply:
        """The judge's reply, counted; a call that fails counts as one with unknown usage."""
        self._count(prompt_hash=request.prompt_hash, reply="")
        reply = await self._judge.grade(request)
        self._known(reply.prompt_tokens, reply.completion_tokens, reply=reply.text)
        return reply

    async def label(self, request: JudgeRequest) -> JudgeResult:
        """The judge's label, counted likewise."""
        self._count()
        result = await self._judge.label(request)
        self._known(result.prompt_tokens, result.completion_tokens)
        return result

    def _count(self, **texts: str) -> None:
        changed = {"calls": self._use.calls + 1, "unknown_calls": self._use.unknown_calls + 1, **texts}
        self._use = self._use.model_copy(update=changed)

    def _known(self, prompt: int | None, completion: int | None, **texts: str) -> None:
        known = prompt is not None and completion is not None
        self._use = self._use.model_copy(
            update={
                "prompt_tokens": self._use.prompt_tokens + (prompt or 0),
                "completion_tokens": self._use.completion_tokens + (completion or 0),
                "unknown_calls": self._use.unknown_calls - known,
                **texts,
            }
        )


async def grade_by_judge(ctx: EvalContext) -> EvaluationResult:
    """The result of the case's expected outcome as a judge grades it by the rubric.

    Declined or unreadable is INCONCLUSIVE; no judge, no grade rubric or a `JudgeError` is FAILED.
    """
    judge, rubric = ctx.services.judge, ctx.rubric
    fields: ResultFields = {"evaluator": "judge", "settled_by": SettledBy.judge}
    if rubric is None:
        return EvaluationResult.broke("no rubric to grade by", **fields)
    fields = {**fields, "evaluator": rubric.name, "evaluator_version": str(rubric.version)}
    if rubric.kind is not RubricKind.grade:
        return EvaluationResult.broke(f"{rubric.name} is a label rubric, it gives no grade", **fields)
    if judge is None:
        return EvaluationResult.broke("no judge configured", **fields)
    if is_blank(ctx.evidence.reply):
        return EvaluationResult.inconclusive("no reply to read", **fields)
    try:
        reply = await judge.grade(grade_request(rubric, ctx.case, ctx.evidence))
    except JudgeError as failed:
        return EvaluationResult.broke(f"the judge failed: {failed.detail}", **fields)
    if reply.declined:
        return EvaluationResult.inconclusive("the judge declined to judge", **fields)
    grade = parse_grade(rubric, reply.text)
    if grade is None:
        return EvaluationResult.inconclusive("the judge's answer holds no readable grade", **fields)
    said = f"grade {grade.value}: {grade.reason}" if grade.reason else f"grade {grade.value}"
    fields = {**fields, "grade": grade.value}
    match band(grade.value):
        case Band.passed:
            return EvaluationResult.passed(said, **fields)
        case Band.failed:
            return EvaluationResult.failed(said, **fields)
        case Band.undecided:
            return EvaluationResult.undecided(said, **fields)
