"""A case against its variants: the same question asked otherwise should get the same answer.

Evaluated on the base case only: its attempt against the attempt with the same number of every variant, given
as ``ctx.variants``. No attempt is paired with one of another number.
"""

from collections.abc import Iterable, Mapping

from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.asking import Part, final_turn, question
from experiments.evaluation.criteria.base import (
    Builtin,
    CriterionKind,
    NoParams,
    error,
    judge_label,
    missing_reply,
    not_applicable,
    outcome,
)
from experiments.evaluation.criteria.corpora import article_of
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import printable

_ID_SHOWN = 100
_SHOWN = 5

_EQUIVALENT = (
    "The transcript holds one question asked in two ways, and an assistant's reply to each. Say whether the "
    "replies are equivalent: a reader would learn the same and do the same after either. Wording, order, "
    "length and tone make no difference; a fact, a condition, a figure, a source or a refusal that only one "
    "of them has does."
)


def _sides(
    case: EvalCase, evidence: Evidence, variants: Mapping[str, Evidence | None]
) -> dict[str, Evidence] | Verdict:
    """The variants' evidence by case id, or the verdict when there is nothing to compare or a side lacks."""
    if case.variant_of is not None:
        return not_applicable("the case is a variant itself; its base case is compared")
    if not variants:
        return not_applicable("the case has no variants")
    if evidence.reply is None:
        return missing_reply()
    sides = {name: side for name, side in variants.items() if side is not None and side.reply is not None}
    lacking = [printable(name, _ID_SHOWN) for name in variants if name not in sides]
    if lacking:
        return error(f"no reply of the variant {_listed(lacking)} to compare with")
    return sides


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


async def equivalent(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when a judge finds each variant's reply equivalent to the base case's; a call a variant."""
    sides = _sides(case, evidence, ctx.variants)
    if isinstance(sides, Verdict):
        return sides
    labels: dict[str, str] = {}
    for name, side in sides.items():
        parts = [*_numbered("one", evidence), *_numbered("two", side)]
        answer = await judge_label(question(_EQUIVALENT, parts, ("equivalent", "different")), ctx)
        if isinstance(answer, Verdict):
            return answer
        labels[name] = answer.label
    different = [printable(name, _ID_SHOWN) for name, label in labels.items() if label != "equivalent"]
    detail = f"{len(labels) - len(different)} of {len(labels)} variants answered equivalently"
    if different:
        detail += f"; differently: {_listed(different)}"
    return outcome(passed=not different, detail=detail, data={"labels": labels})


def _numbered(which: str, side: Evidence) -> list[Part]:
    return [(f"{name} {which}", text) for name, text in final_turn(side)]


async def same_citations(
    case: EvalCase, evidence: Evidence, *, params: NoParams, ctx: CriterionContext
) -> Verdict:
    """Passes when each variant cites the same set of articles as the base case."""
    sides = _sides(case, evidence, ctx.variants)
    if isinstance(sides, Verdict):
        return sides
    base = _articles(evidence)
    differing: dict[str, dict[str, list[str]]] = {}
    for name, side in sides.items():
        other = _articles(side)
        if other != base:
            differing[name] = {"only_base": sorted(base - other), "only_variant": sorted(other - base)}
    detail = f"{len(sides) - len(differing)} of {len(sides)} variants cite the same articles"
    if differing:
        name, sets = next(iter(differing.items()))
        only = [printable(one, _ID_SHOWN) for one in (*sets["only_base"], *sets["only_variant"])]
        detail += f"; {printable(name, _ID_SHOWN)} differs in {_listed(only)}"
    return outcome(passed=not differing, detail=detail, data={"differing": differing})


def _articles(evidence: Evidence) -> set[str]:
    return {article_of(citation.id) for citation in evidence.citations}


def kinds() -> Iterable[CriterionKind]:
    """The kinds of this family."""
    return (
        Builtin("compare.equivalent", NoParams, equivalent, needs=frozenset({"judge"})),
        Builtin("compare.same_citations", NoParams, same_citations),
    )
