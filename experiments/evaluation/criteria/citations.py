"""Criteria over the citations of the final turn, against the sources of the case and the corpus."""

from collections.abc import Iterable, Sequence

from pydantic import ConfigDict, Field

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    NoParams,
    error,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.matching import Match, distinct, matches_any, uncovered_groups
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext

_SLACK = 1e-9
_SHOWN = 5


class MatchParams(FrozenModel):
    """``match``: hierarchical (a citation at or below a source matches it) or exact."""

    model_config = ConfigDict(hide_input_in_errors=True)

    match: Match = "hierarchical"


class RequiredParams(MatchParams):
    """``min``: the share of required source groups that must be covered, 0 to 1, inclusive."""

    min: float = Field(default=1.0, ge=0.0, le=1.0, allow_inf_nan=False)


def _cited(evidence: Evidence) -> list[str]:
    return distinct(citation.id for citation in evidence.citations)


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(one[:120] for one in ids[:_SHOWN])
    return shown if len(ids) <= _SHOWN else f"{shown} and {len(ids) - _SHOWN} more"


async def required(
    case: EvalCase, evidence: Evidence, *, params: RequiredParams, ctx: CriterionContext
) -> Verdict:
    """Passes when the citations cover at least ``min`` of the required groups; one source covers a group."""
    groups = case.sources.required
    if not groups:
        return not_applicable("the case requires no source")
    uncovered = uncovered_groups(groups, _cited(evidence), params.match)
    covered = len(groups) - len(uncovered)
    share = covered / len(groups)
    detail = f"{covered} of {len(groups)} required source groups cited"
    if uncovered:
        detail += "; not cited: " + _listed([" or ".join(group) for group in uncovered])
    return outcome(
        passed=share >= params.min - _SLACK,
        detail=detail,
        data={"share": share, "uncovered": [list(group) for group in uncovered]},
    )


async def forbidden(
    case: EvalCase, evidence: Evidence, *, params: MatchParams, ctx: CriterionContext
) -> Verdict:
    """Passes when no citation matches a forbidden source; the parent of a forbidden source is allowed."""
    sources = case.sources.forbidden
    if not sources:
        return not_applicable("the case forbids no source")
    hits = [one for one in _cited(evidence) if matches_any(sources, one, params.match)]
    detail = f"forbidden source cited: {_listed(hits)}" if hits else "no forbidden source cited"
    return outcome(passed=not hits, detail=detail, data={"forbidden": hits})


async def in_corpus(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when each cited id is a unit of the corpus."""
    cited = _cited(evidence)
    if not cited:
        return not_applicable("the reply cites nothing")
    corpus = ctx.corpus
    if corpus is None:
        return error("no corpus configured")
    unknown = [one for one in cited if one not in corpus]
    detail = f"not in the corpus: {_listed(unknown)}" if unknown else f"{len(cited)} cited, all in the corpus"
    return outcome(passed=not unknown, detail=detail, data={"unknown": unknown})


async def unseen(
    case: EvalCase, evidence: Evidence, *, params: MatchParams, ctx: CriterionContext
) -> Verdict:
    """Always passes; lists the distinct cited ids that match no source of any role, for adjudication."""
    roles = case.sources
    known = [*(source for group in roles.required for source in group), *roles.acceptable, *roles.forbidden]
    new = [one for one in _cited(evidence) if not matches_any(known, one, params.match)]
    detail = f"no role yet: {_listed(new)}" if new else "every citation has a role"
    return outcome(passed=True, detail=detail, data={"unseen": new})


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (
        Builtin("citations.required", RequiredParams, required),
        Builtin("citations.forbidden", MatchParams, forbidden),
        Builtin("citations.in_corpus", NoParams, in_corpus, needs=frozenset({"corpus"})),
        Builtin("citations.unseen", MatchParams, unseen, default_weight=0.0),
    )
