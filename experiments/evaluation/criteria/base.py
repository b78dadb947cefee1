"""What a criterion kind is, and the small helpers a team's own kinds are written with.

Source: docs/criteria.md ("Write your own kind").
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from pydantic import ConfigDict, ValidationError

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CriterionContext, JudgeError, JudgeRequest, JudgeResult

Params = Mapping[str, Any] | FrozenModel
"""A kind's parameters: as a suite writes them, or validated already."""


class NoParams(FrozenModel):
    """Parameters of a kind that takes none; any field is refused with its name."""

    model_config = ConfigDict(hide_input_in_errors=True)


class Evaluator(Protocol):
    """Grades the evidence of one attempt of a case.

    Does no I/O: judge, detector and corpus come in ``ctx`` and each may be None. Applicability is decided
    first. ``params`` is an instance of the kind's ``params_model``.
    """

    async def __call__(
        self, case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext
    ) -> Verdict: ...


@runtime_checkable
class CriterionKind(Protocol):
    """A named kind: what a registry holds. ``params`` is validated by ``evaluate`` itself.

    A kind may also carry ``default_weight`` (float) and ``needs`` (names of the services it cannot do
    without: judge, detector, corpus, refusal_detector), and ``reads_sources`` (whether its verdict can
    depend on the case's source roles; a kind that does not say is taken to, unless it asks the judge).
    """

    @property
    def name(self) -> str: ...

    @property
    def params_model(self) -> type[FrozenModel]: ...

    async def evaluate(
        self,
        case: EvalCase,
        evidence: Evidence,
        *,
        params: Mapping[str, Any] | FrozenModel,
        ctx: CriterionContext,
    ) -> Verdict: ...


class Builtin:
    """A kind made of a name, a parameter model and an evaluator function.

    ``default_weight``: the weight of a suite's entry that names none. ``needs``: services without which
    the kind can only answer ``error``; pre-flight reads it. ``reads_sources``: see ``CriterionKind``.
    """

    def __init__(
        self,
        name: str,
        params_model: type[FrozenModel],
        evaluator: Evaluator,
        *,
        default_weight: float = 1.0,
        needs: frozenset[str] = frozenset(),
        reads_sources: bool | None = None,
    ) -> None:
        self.name = name
        self.params_model = params_model
        self.evaluator = evaluator
        self.default_weight = default_weight
        self.needs = needs
        self.reads_sources = reads_sources

    async def evaluate(
        self,
        case: EvalCase,
        evidence: Evidence,
        *,
        params: Mapping[str, Any] | FrozenModel,
        ctx: CriterionContext,
    ) -> Verdict:
        """The verdict; raises pydantic.ValidationError when the parameters do not fit the kind."""
        checked = params if isinstance(params, self.params_model) else self._validated(params)
        return await self.evaluator(case, evidence, params=checked, ctx=ctx)

    def _validated(self, params: Params) -> FrozenModel:
        given = params.model_dump() if isinstance(params, FrozenModel) else dict(params)
        return self.params_model.model_validate(given)

    def __repr__(self) -> str:
        return f"Builtin({self.name!r})"


def outcome(*, passed: bool, detail: str = "", data: Mapping[str, Any] | None = None) -> Verdict:
    """A ``pass`` or ``fail`` with its detail; ``data`` must be JSON."""
    status = CriterionStatus.PASS if passed else CriterionStatus.FAIL
    return Verdict(status=status, detail=detail, data=dict(data or {}))


def error(detail: str) -> Verdict:
    """The criterion applies but could not be decided: never a pass and never a fail."""
    return Verdict(status=CriterionStatus.ERROR, detail=detail)


def not_applicable(detail: str) -> Verdict:
    """The case gives this criterion nothing to decide; left out of the score."""
    return Verdict(status=CriterionStatus.NOT_APPLICABLE, detail=detail)


def missing_reply() -> Verdict:
    """What every kind that reads the reply answers when there is none."""
    return error("missing final reply")


async def judge_label(request: JudgeRequest, ctx: CriterionContext) -> JudgeResult | Verdict:
    """The judge's label, or the ``error`` verdict to return as it is.

    An error verdict comes of: no judge, a JudgeError, an answer that is no JudgeResult, or a label outside
    ``request.allowed_labels``.
    """
    if ctx.judge is None:
        return error("no judge configured")
    try:
        answer = await ctx.judge.label(request)
        result = answer if isinstance(answer, JudgeResult) else JudgeResult.model_validate(answer)
    except JudgeError as failed:
        return error(f"the judge failed: {failed}")
    except ValidationError as unreadable:
        return error(f"the judge's answer could not be read ({unreadable.error_count()} problems)")
    if result.label not in request.allowed_labels:
        return error(f"the judge answered {result.label[:100]!r}, which is none of the labels asked for")
    return result
