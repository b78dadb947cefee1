"""Criteria that are a judge's word: nuggets.coverage and rubric.judge."""

import math
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.asking import conversation, final_turn, question
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    judge_label,
    missing_reply,
    not_applicable,
    outcome,
)
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict, reaches
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import is_blank, printable

_NUGGET_SHOWN = 200
_REASON_SHOWN = 500
_LONGEST_RUBRIC = 20_000
_WORTH = {"found": 1.0, "partial": 0.5, "missing": 0.0}

_NUGGET = (
    "The transcript holds a fact, a question and an assistant's reply. Say whether the reply states the "
    "fact, in whatever words. found: it states all of it. partial: it states some of it, or states it less "
    "precisely. missing: it does not state it, or contradicts it."
)


class CoverageParams(FrozenModel):
    """``min``: the least coverage of vital nuggets, 0 to 1, inclusive."""

    model_config = ConfigDict(hide_input_in_errors=True)

    min: float = Field(default=1.0, ge=0.0, le=1.0, strict=True, allow_inf_nan=False)


def _require_text(value: str) -> str:
    if is_blank(value):
        raise ValueError("must not be blank")
    if len(value) > _LONGEST_RUBRIC:
        raise ValueError(f"must have at most {_LONGEST_RUBRIC:,} characters")
    return value


Text = Annotated[str, AfterValidator(_require_text)]


class RubricParams(FrozenModel):
    """``rubric``: what the judge is asked, in words. It answers with one of ``labels``; those in
    ``pass_labels`` pass."""

    model_config = ConfigDict(hide_input_in_errors=True)

    rubric: Text
    labels: tuple[Text, ...] = Field(min_length=1, max_length=50)
    pass_labels: tuple[Text, ...] = Field(min_length=1, max_length=50)

    @model_validator(mode="after")
    def _pass_labels_are_labels(self) -> Self:
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("labels names a label twice")
        unknown = [label for label in self.pass_labels if label not in self.labels]
        if unknown:
            raise ValueError(f"pass_labels must be some of the labels, {printable(unknown[0], 80)!r} is not")
        return self


async def coverage(
    case: EvalCase, evidence: Evidence, *, params: CoverageParams, ctx: CriterionContext
) -> Verdict:
    """Passes when (found + half of partial) / vital nuggets reaches ``min``; one judge call a nugget."""
    vital = [nugget.text for nugget in case.nuggets if nugget.vital]
    if not vital:
        return not_applicable("the case has no vital nuggets")
    if evidence.reply is None:
        return missing_reply()
    labels: list[str] = []
    for nugget in vital:
        parts = [("fact", nugget), *final_turn(evidence)]
        answer = await judge_label(question(_NUGGET, parts, _WORTH), ctx)
        if isinstance(answer, Verdict):
            return answer
        labels.append(answer.label)
    share = math.fsum(_WORTH[label] for label in labels) / len(vital)
    detail = f"{labels.count('found')} of {len(vital)} vital nuggets found, {labels.count('partial')} partly"
    lacking = next((nugget for nugget, label in zip(vital, labels, strict=True) if label != "found"), None)
    if lacking is not None:
        detail += f"; not all of “{printable(lacking, _NUGGET_SHOWN)}”"
    return outcome(
        passed=reaches(share, params.min),
        detail=detail,
        data={
            "coverage": share,
            "nuggets": [{"text": text, "label": label} for text, label in zip(vital, labels, strict=True)],
        },
    )


async def rubric_judge(
    case: EvalCase, evidence: Evidence, *, params: RubricParams, ctx: CriterionContext
) -> Verdict:
    """Passes when the judge's label of the whole conversation is a pass label."""
    if evidence.reply is None:
        return missing_reply()
    answer = await judge_label(question(params.rubric, conversation(evidence), params.labels), ctx)
    if isinstance(answer, Verdict):
        return answer
    why = f": {printable(answer.reason, _REASON_SHOWN)}" if answer.reason else ""
    return outcome(
        passed=answer.label in params.pass_labels,
        detail=f"{printable(answer.label, 100)}{why}",
        data={"label": answer.label},
    )


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    judge = frozenset({"judge"})
    return (
        Builtin("nuggets.coverage", CoverageParams, coverage, needs=judge),
        Builtin("rubric.judge", RubricParams, rubric_judge, needs=judge),
    )
