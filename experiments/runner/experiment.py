"""Code-first experiments: a setup and a target in, every case's attempts and the report out. No database."""

import asyncio
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from experiments.detect.languages import LinguaDetector
from experiments.evaluation import (
    AttemptCounts,
    AttemptResult,
    CaseVerdict,
    CriterionContext,
    CriterionGrader,
    CriterionSpec,
    EvalCase,
    EvalCaseResults,
    ExperimentReport,
    Judge,
    MetricRegistry,
    Plan,
    Policy,
    Refusal,
    Rubric,
    Ruler,
    SettleMode,
    builtin_metrics,
    count_attempt,
    default_settle_mode,
    preflight,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.judge.opening import open_judge
from experiments.runner.attempt import DEFAULT_RETRY, utc_now
from experiments.runner.grading import EvaluationThread, Grading
from experiments.runner.loop import ExperimentRunner, LaneFigures
from experiments.runner.ports import Clock, Exhausted, FinishedAttempt, OpenTarget, PlannedAttempt
from experiments.runner.retry import RetryPolicy
from experiments.targets.base import Capabilities, TargetError
from experiments.targets.opening import open_target
from experiments.wire.judge import JudgeConfig
from experiments.wire.target import TargetConfig

CAPABILITIES_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class ExperimentSetup:
    """What to run. ``settle_mode`` None: by criteria when the setup or a case has any, else by expectation.

    ``deadline``: seconds for one attempt, over all its turns and the judge.
    """

    cases: Sequence[EvalCase]
    policy: Policy
    rubric: Rubric
    lanes: int = 8
    repeats: int = 1
    criteria: Sequence[CriterionSpec] = ()
    settle_mode: SettleMode | None = None
    pass_score: float = 1.0
    deadline: float = 120.0
    registry: CriterionGrader = field(default_factory=builtin_registry)
    metrics: MetricRegistry = field(default_factory=builtin_metrics)

    def ruler(self) -> Ruler:
        """By what every attempt of the experiment is graded."""
        has_criteria = bool(self.criteria) or any(case.criteria for case in self.cases)
        return Ruler(
            registry=self.registry,
            settle_mode=self.settle_mode or default_settle_mode(has_criteria=has_criteria),
            pass_score=self.pass_score,
            criteria=tuple(self.criteria),
            rubric=self.rubric,
            metrics=self.metrics,
        )


class ExperimentRefusedError(Exception):
    """Pre-flight found reasons not to start; nothing was asked. ``refusals`` holds all of them."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("\n".join(f"{refusal.where}: {refusal.sentence}" for refusal in refusals))
        self.refusals = tuple(refusals)


async def run_experiment(
    setup: ExperimentSetup,
    target: TargetConfig | OpenTarget,
    *,
    judge: Judge | JudgeConfig | None = None,
    services: CriterionContext | None = None,
    accept_missing_services: bool = False,
    retry: RetryPolicy = DEFAULT_RETRY,
    clock: Clock = utc_now,
) -> tuple[list[EvalCaseResults], ExperimentReport]:
    """See ``ExperimentRunner.run``."""
    services = services or CriterionContext()
    if services.detector is None:
        services = replace(services, detector=LinguaDetector())
    opened = open_judge(judge) if isinstance(judge, JudgeConfig) else None
    if judge is not None:
        services = replace(services, judge=opened if isinstance(judge, JudgeConfig) else judge)
    opening = target if callable(target) else lambda: open_target(target)
    try:
        await _refuse(setup, opening, services, accept_missing_services)
        memory = _Memory(setup)
        with EvaluationThread() as thread:
            runner = ExperimentRunner(
                lanes=setup.lanes,
                source=memory,
                sink=memory,
                open_target=opening,
                evaluate=Grading(setup.ruler(), services, thread, retry),
                deadline=setup.deadline,
                clock=clock,
                retry=retry,
            )
            figures = await runner.drive()
    finally:
        if opened is not None:
            await opened.aclose()
    return _report(setup, memory.finished, figures)


async def _refuse(
    setup: ExperimentSetup, opening: OpenTarget, services: CriterionContext, accept_missing: bool
) -> None:
    """ExperimentRefusedError with every reason at once."""
    capabilities, problem = await ask_capabilities(opening)
    ruler = setup.ruler()
    names = ("judge", "detector", "corpus", "refusal_detector")
    refusals = preflight(
        Plan(
            cases=tuple(setup.cases),
            settle_mode=ruler.settle_mode,
            registry=setup.registry,
            metrics=setup.metrics,
            lanes=setup.lanes,
            repeats=setup.repeats,
            criteria=ruler.criteria,
            rubric=setup.rubric,
            policy=setup.policy,
            capabilities=capabilities,
            target_problem=problem,
            services=frozenset(name for name in names if getattr(services, name) is not None),
            accept_missing_services=accept_missing,
        )
    )
    if refusals:
        raise ExperimentRefusedError(refusals)


async def ask_capabilities(opening: OpenTarget) -> tuple[Capabilities | None, str]:
    """What the target can do, or None and one sentence why it could not be asked."""
    try:
        target = opening()
    except TargetError as error:
        return None, error.detail
    try:
        async with asyncio.timeout(CAPABILITIES_SECONDS):
            return await target.capabilities(), ""
    except TargetError as error:
        return None, error.detail
    except TimeoutError:
        return None, f"the target did not say what it can do within {CAPABILITIES_SECONDS:g} s"
    finally:
        await target.aclose()


class _Memory:
    """Source and sink in one: every attempt of the setup, the first of each case before any second."""

    def __init__(self, setup: ExperimentSetup) -> None:
        # New for each run: a service may answer a key it knows from memory.
        token = uuid.uuid4().hex
        numbered = enumerate(itertools.product(range(1, setup.repeats + 1), setup.cases), start=1)
        self._left = [
            PlannedAttempt(id=index, case=case, number=number, tries=1, key=f"{token}-{index}-{number}")
            for index, (number, case) in numbered
        ]
        self._left.reverse()
        self.finished: list[FinishedAttempt] = []

    async def claim(self, n: int) -> Sequence[PlannedAttempt]:
        if not self._left:
            raise Exhausted
        return [self._left.pop() for _ in range(min(n, len(self._left)))]

    async def give_back(self, attempts: Sequence[PlannedAttempt]) -> None:
        self._left.extend(reversed(attempts))

    async def begin(self, planned: PlannedAttempt) -> bool:  # noqa: ARG002 - nobody else can hold it
        return True

    async def finish(self, finished: FinishedAttempt) -> None:
        self.finished.append(finished)


def _report(
    setup: ExperimentSetup, finished: Sequence[FinishedAttempt], figures: LaneFigures
) -> tuple[list[EvalCaseResults], ExperimentReport]:
    by_case: dict[str, list[AttemptResult]] = {case.id: [] for case in setup.cases}
    for one in finished:
        by_case[one.planned.case.id].append(
            AttemptResult(one.planned.number, one.evidence, one.result, one.failure, one.seconds)
        )
    results = [EvalCaseResults(case, tuple(by_case[case.id])) for case in setup.cases]
    counts = AttemptCounts.sum(
        count_attempt(
            *(one.planned.case, one.evidence, one.result, one.failure),
            seconds=one.seconds,
            deadline=setup.deadline,
        )
        for one in finished
    )
    report = ExperimentReport.build(
        counts,
        repeats=setup.repeats,
        clean_sweeps=sum(
            case.verdict is CaseVerdict.PASSED and case.passes == setup.repeats for case in results
        ),
        lanes=setup.lanes,
        wall_seconds=figures.wall_seconds,
    )
    return results, report
