"""What a run would do, before it starts: its cases, what settles them, and every reason not to start."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from experiments.evaluation import (
    CriterionSpec,
    EvalCase,
    Refusal,
    Rubric,
    SettledBy,
    SettleMode,
    default_settle_mode,
    route,
)
from experiments.evaluation.preflight import Plan, preflight
from experiments.evaluation.text import printable
from experiments.hooks import load_hooks
from experiments.mapping import case_of, criteria_of, policy_of, rubric_of
from experiments.models import CaseVersion, Experiment, Target
from experiments.targets.base import Capabilities, TargetError
from experiments.targets.opening import open_target
from experiments.wire.judge import judge_config
from experiments.wire.target import target_config

CAPABILITIES_SECONDS = 5.0
"""How long a target may take to say what it can do; a person waits for it."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A run as it would start now. Nothing has been asked of the system but what it can do.

    `settled_by` counts cases by what will settle their attempts; `versions` are the cases in the order of the
    suite. `metric_versions` are those of the metrics that settle a case (`{id: version}`).
    """

    cases: int
    repeats: int
    settle_mode: SettleMode
    settled_by: Counter[SettledBy]
    refusals: tuple[Refusal, ...]
    capabilities: Capabilities | None = None
    metric_versions: dict[str, int] = field(default_factory=dict)
    versions: tuple[tuple[CaseVersion, EvalCase], ...] = field(repr=False, default=())

    @property
    def attempts(self) -> int:
        """Cases x repeats."""
        return self.cases * self.repeats


def plan_run(experiment: Experiment) -> RunPlan:
    """The plan of `experiment` as it stands. Asks the target for its capabilities, so never call it inside a
    transaction; an unreachable target is a refusal, not an exception."""
    suite = experiment.suite.current
    versions = tuple((version, case_of(version)) for version in _selected(experiment))
    cases = tuple(case for _, case in versions)
    criteria = criteria_of(suite) if suite else ()
    mode = settle_mode_of(experiment, criteria, cases)
    capabilities, problem = ask_capabilities(experiment.target)
    rubric, broken_rubric = _rubric(experiment)
    hooks = load_hooks()
    refusals = preflight(
        Plan(
            cases=cases,
            settle_mode=mode,
            registry=hooks.criteria,
            metrics=hooks.metrics,
            lanes=experiment.lanes,
            repeats=experiment.repeats,
            criteria=criteria,
            rubric=rubric,
            policy=policy_of(experiment.policy.current)
            if experiment.policy and experiment.policy.current
            else None,
            target_named=experiment.target is not None,
            capabilities=capabilities,
            target_problem=problem,
            services=_services(experiment),
            accept_missing_services=experiment.accept_errors,
        )
    )
    return RunPlan(
        cases=len(cases),
        repeats=experiment.repeats,
        settle_mode=mode,
        settled_by=Counter(
            SettledBy.criteria if mode is SettleMode.criteria else route(case) for case in cases
        ),
        refusals=(*broken_rubric, *_judge_refusals(experiment), *refusals),
        capabilities=capabilities,
        metric_versions=_metric_versions(cases, mode),
        versions=versions,
    )


def settle_mode_of(
    experiment: Experiment, criteria: tuple[CriterionSpec, ...], cases: tuple[EvalCase, ...]
) -> SettleMode:
    """The experiment's mode, or by default criteria when the suite or any case has some."""
    if experiment.settle_mode:
        return SettleMode(experiment.settle_mode)
    return default_settle_mode(has_criteria=bool(criteria) or any(case.criteria for case in cases))


def _selected(experiment: Experiment) -> list[CaseVersion]:
    rows = CaseVersion.objects.filter(
        case__suite=experiment.suite_id,
        case__archived_at=None,
        pk__in=experiment.suite.cases.values("current"),
    ).order_by("case__position", "case_id")
    wanted = set(experiment.tags)
    return [row for row in rows if not wanted or wanted & set(row.tags)]


def ask_capabilities(target: Target | None) -> tuple[Capabilities | None, str]:
    """What the target can do, or None and one sentence on why it could not be asked."""
    if target is None:
        return None, ""
    try:
        return asyncio.run(_capabilities(target)), ""
    except TargetError as error:
        return None, error.detail
    except TimeoutError:
        return None, f"no answer within {CAPABILITIES_SECONDS:.0f} seconds"
    except ValueError as error:
        return None, f"its configuration is not valid ({error})"


async def _capabilities(target: Target) -> Capabilities:
    client = open_target(target_config(target.config))
    try:
        async with asyncio.timeout(CAPABILITIES_SECONDS):
            return await client.capabilities()
    finally:
        await client.aclose()


def _rubric(experiment: Experiment) -> tuple[Rubric | None, tuple[Refusal, ...]]:
    """The rubric's current version; one that breaks the rules of today is a refusal and counts as none."""
    version = experiment.rubric.current if experiment.rubric else None
    if version is None:
        return None, ()
    try:
        return rubric_of(version), ()
    except ValueError as broken:
        sentence = f"The rubric {version} cannot be used: {broken}"
        return None, (Refusal(code="rubric_broken", where="rubric", sentence=printable(sentence, 1000)),)


def _services(experiment: Experiment) -> frozenset[str]:
    hooks = load_hooks()
    names = {"detector"}
    if hooks.refusal_detector is not None:
        names.add("refusal_detector")
    if hooks.corpus is not None:
        names.add("corpus")
    if experiment.judge is not None:
        names.add("judge")
    if experiment.corpus is not None and experiment.corpus.current is not None:
        names.add("corpus")
    return frozenset(names)


def _judge_refusals(experiment: Experiment) -> tuple[Refusal, ...]:
    if experiment.judge is None:
        return ()
    try:
        judge_config(experiment.judge.config)
    except ValueError as error:
        return (
            Refusal(
                code="judge_config",
                where="judge",
                sentence=f"The judge's configuration is not valid: {error}",
            ),
        )
    return ()


def _metric_versions(cases: tuple[EvalCase, ...], mode: SettleMode) -> dict[str, int]:
    if mode is SettleMode.criteria:
        return {}
    used = {SettledBy.metric, SettledBy.end_state}
    return {case.metric.id: case.metric.version for case in cases if case.metric and route(case) in used}
