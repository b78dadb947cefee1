"""Giving a cited source a role in a case, taking it away again, and grading anew what that can change."""

from experiments.evaluation.case import CriterionSpec, EvalCase, SourceRoles
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import EvaluationResult, Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.settle import Ruler, SettleMode, combine_both, settle_criteria

REQUIRED, ACCEPTABLE, FORBIDDEN = "required", "acceptable", "forbidden"


def with_role(case: EvalCase, unit_id: str, role: str, group: int | None = None) -> EvalCase:
    """`case` with `unit_id` as a source of this role, whatever role this id had before.

    For `required`, `group` is the index of the group it joins as an alternative; None, or an index not
    there, makes a group of its own. Any other role than the three leaves it without one.
    """
    bare = without_role(case, unit_id)
    if role == REQUIRED:
        # The index is of the groups as they were seen, also of one that held nothing but this id.
        groups = [_others(group_, unit_id) for group_ in case.sources.required]
        if group is not None and 0 <= group < len(groups):
            groups[group] = (*groups[group], unit_id)
        else:
            groups.append((unit_id,))
        changed: dict[str, object] = {"required": tuple(each for each in groups if each)}
    elif role in (ACCEPTABLE, FORBIDDEN):
        changed = {role: (*getattr(bare.sources, role), unit_id)}
    else:
        return bare
    return case.model_copy(update={"sources": bare.sources.model_copy(update=changed)})


def without_role(case: EvalCase, unit_id: str) -> EvalCase:
    """`case` without this id among its sources; a required group that held nothing else goes with it."""
    sources = case.sources
    groups = (_others(group, unit_id) for group in sources.required)
    changed = SourceRoles(
        required=tuple(group for group in groups if group),
        acceptable=_others(sources.acceptable, unit_id),
        forbidden=_others(sources.forbidden, unit_id),
    )
    return case.model_copy(update={"sources": changed})


def _others(ids: tuple[str, ...], unit_id: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != unit_id)


async def regrade_roles(
    case: EvalCase, evidence: Evidence, old: EvaluationResult, ruler: Ruler, ctx: CriterionContext
) -> EvaluationResult:
    """The result of an attempt under `case`, which differs in source roles only from the case of `old`.

    Only criteria that read roles are evaluated; every other verdict, the expectation's part and what the
    judge said are taken over from `old`, so the judge is never called. Raises `ValueError` when the criteria
    of `old` are not those of `case` under `ruler`.
    """
    if ruler.settle_mode is SettleMode.expectation:
        return old
    specs = ruler.criteria_of(case)
    if [spec.kind for spec in specs] != [verdict.kind for verdict in old.verdicts]:
        raise ValueError("the attempt was graded by other criteria: grade the whole run anew instead")
    verdicts = [
        await _again(spec, verdict, case, evidence, ruler, ctx)
        for spec, verdict in zip(specs, old.verdicts, strict=True)
    ]
    criteria = settle_criteria(verdicts, ruler.pass_score)
    if ruler.settle_mode is SettleMode.both:
        if old.expectation is None:
            raise ValueError("the expectation's own result was not kept: grade the whole run anew instead")
        criteria = combine_both(old.expectation, criteria)
    return criteria.model_copy(update={"judge_use": old.judge_use})


async def _again(
    spec: CriterionSpec,
    verdict: Verdict,
    case: EvalCase,
    evidence: Evidence,
    ruler: Ruler,
    ctx: CriterionContext,
) -> Verdict:
    if spec.kind in ruler.registry and ruler.registry.reads_sources(spec.kind):
        return await ruler.registry.evaluate(spec, case, evidence, ctx)
    return verdict
