"""One run of the demo's suite without a database: the product's own client, runner and rules, over HTTP."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from experiments.demo.handbook import DATA, load_handbook
from experiments.demo.servers import DemoServices
from experiments.evaluation import (
    AttemptMark,
    CaseVerdict,
    CorpusUnit,
    CriterionContext,
    EvalCase,
    EvaluationResult,
    Evidence,
    Rubric,
    Ruler,
    SettleMode,
    builtin_metrics,
    collapse,
    evaluate_attempt,
    mark_of,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.judge.opening import open_judge
from experiments.runner.attempt import run_attempt
from experiments.runner.ports import FinishedAttempt, PlannedAttempt
from experiments.targets.opening import open_target
from experiments.transfer.suite_file import SuiteFile, read_suite
from experiments.wire.corpus import MemoryCorpus
from experiments.wire.judge import JudgeConfig
from experiments.wire.suite import suite_criteria, to_cases
from experiments.wire.target import ContractHttpConfig

REPEATS = 5
LANES = 8


def handbook_corpus() -> MemoryCorpus:
    """The handbook as the corpus that criteria look citations up in."""
    units = load_handbook().units
    return MemoryCorpus(
        CorpusUnit(id=unit.id, parent=unit.parent, title=unit.title, text=unit.text) for unit in units
    )


@dataclass
class Story:
    """What a run found: every attempt by case, in the order of attempt numbers."""

    attempts: dict[str, list[FinishedAttempt]] = field(default_factory=dict)

    def marks(self, case: str) -> list[AttemptMark]:
        return [mark_of(attempt.result, attempt.failure) for attempt in self.attempts[case]]

    def verdict(self, case: str) -> CaseVerdict:
        return collapse(self.marks(case))

    def verdicts(self) -> dict[str, str]:
        return {case: self.verdict(case).value for case in self.attempts}

    def results(self, case: str) -> list[EvaluationResult]:
        return [attempt.result for attempt in self.attempts[case] if attempt.result is not None]


def demo_suite() -> SuiteFile:
    return read_suite(DATA / "suite.yaml", builtin_registry(), builtin_metrics())


def demo_cases() -> tuple[EvalCase, ...]:
    return to_cases(demo_suite().document)


def demo_rubric() -> Rubric:
    return Rubric(name="desk-judge", template=(DATA / "rubric.txt").read_text(encoding="utf-8"))


def tell(
    demo: DemoServices, mode: SettleMode, run: str = "run-1", only: frozenset[str] = frozenset()
) -> Story:
    """Every case (of `only`, when it names some) five times in eight lanes, settled by `mode`."""
    return asyncio.run(_tell(demo, mode, run, only))


async def _tell(demo: DemoServices, mode: SettleMode, run: str, only: frozenset[str]) -> Story:
    suite = demo_suite().document
    cases = [case for case in to_cases(suite) if not only or case.id in only]
    ruler = Ruler(
        registry=builtin_registry(),
        settle_mode=mode,
        pass_score=suite.pass_score,
        criteria=suite_criteria(suite),
        rubric=demo_rubric(),
    )
    judge = open_judge(
        JudgeConfig(model="demo-judge", base_url=demo.messages_url, api_key="env:DEMO_KEY"),
        environ={"DEMO_KEY": "demo"},
    )
    services = CriterionContext(judge=judge, corpus=handbook_corpus())

    async def evaluate(planned: PlannedAttempt, evidence: Evidence, started: datetime) -> EvaluationResult:
        return await evaluate_attempt(planned.case, evidence, ruler, services)

    waiting = [
        PlannedAttempt(id=0, case=case, number=number, tries=1, key=f"{run}:{case.id}:{number}")
        for number in range(1, REPEATS + 1)
        for case in cases
    ][::-1]
    done: dict[str, list[FinishedAttempt]] = defaultdict(list)

    async def lane() -> None:
        target = open_target(ContractHttpConfig(url=demo.service_url))
        try:
            while waiting:
                finished = await run_attempt(waiting.pop(), target, evaluate, deadline=30.0)
                done[finished.planned.case.id].append(finished)
        finally:
            await target.aclose()

    try:
        await asyncio.gather(*(lane() for _ in range(LANES)))
    finally:
        await judge.aclose()
    ordered = {case.id: sorted(done[case.id], key=lambda one: one.planned.number) for case in cases}
    return Story(ordered)
