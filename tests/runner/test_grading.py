"""Evaluators beside the lanes: a slow one never stalls them, and the judge is asked in the lanes' loop."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
import regex

from experiments.evaluation import (
    CriterionContext,
    CriterionSpec,
    EvalCase,
    EvaluationOutcome,
    EvaluationResult,
    Evidence,
    GradeRequest,
    Judge,
    JudgeError,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
    Rubric,
    Ruler,
    SettleMode,
    Turn,
    Verdict,
)
from experiments.evaluation.criteria import Builtin, NoParams, builtin_registry, outcome
from experiments.runner.grading import EvaluationThread, Grading
from experiments.runner.loop import ExperimentRunner
from experiments.runner.ports import PlannedAttempt
from experiments.runner.retry import RetryPolicy
from tests.runner.helpers import ListSink, ListSource, ScriptedTarget, hello, planned

T = TypeVar("T")
STARTED = datetime(2024, 5, 17, 23, 30, tzinfo=UTC)
EVIDENCE = Evidence(turns=(Turn(prompt="hi", reply="hi there"),))
RUBRIC = Rubric(name="r", template="{replay_history}{simulation_history}{system_output}{expected_outcome}")
JUDGED = PlannedAttempt(
    id=1, case=EvalCase(id="c", turn="hi", expected="it greets"), number=1, tries=1, key="k"
)


class CountingJudge:
    """Answers by script after ``seconds``; remembers in which threads it was asked and how many at once."""

    def __init__(self, *script: str | JudgeError, seconds: float = 0.0) -> None:
        self.script = list(script)
        self.seconds = seconds
        self.threads: set[int] = set()
        self.calls = self.now = self.most = self.cancelled = 0

    @property
    def model(self) -> str:
        return "judge-1"

    async def grade(self, request: GradeRequest) -> JudgeReply:
        return JudgeReply(text=await self._said(), prompt_tokens=1, completion_tokens=1)

    async def label(self, request: JudgeRequest) -> JudgeResult:
        return JudgeResult(label=await self._said())

    async def _said(self) -> str:
        self.threads.add(threading.get_ident())
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, JudgeError):
            raise said
        return said


def graded(
    work: Callable[[Grading], Awaitable[T]], *, judge: Judge | None = None, ruler: Ruler | None = None
) -> T:
    async def run() -> T:
        with EvaluationThread() as thread:
            services = CriterionContext(judge=judge)
            used = ruler or Ruler(registry=builtin_registry(), rubric=RUBRIC)
            return await work(Grading(used, services, thread, RetryPolicy(tries=3, first_pause=0.01)))

    return asyncio.run(run())


def one(
    judge: Judge | None = None, ruler: Ruler | None = None, about: PlannedAttempt | None = None
) -> EvaluationResult:
    return graded(lambda grading: grading(about or planned(), EVIDENCE, STARTED), judge=judge, ruler=ruler)


def with_kind(evaluate: Any) -> Ruler:
    registry = builtin_registry()
    registry.register(Builtin("custom.kind", NoParams, evaluate))
    criteria = (CriterionSpec(kind="custom.kind"),)
    return Ruler(registry=registry, settle_mode=SettleMode.criteria, criteria=criteria)


def test_evaluators_run_in_their_own_thread_on_the_day_the_attempt_started() -> None:
    seen: list[object] = []

    async def look(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        seen.extend([threading.get_ident(), ctx.today])
        return outcome(passed=True)

    assert one(ruler=with_kind(look)).passed
    assert seen[0] != threading.get_ident()
    assert seen[1] == STARTED.date()


def test_the_judge_is_asked_in_the_loop_of_the_lanes() -> None:
    judge = CountingJudge("9")
    result = one(judge, about=JUDGED)
    assert (result.passed, result.grade) == (True, 9)
    assert judge.threads == {threading.get_ident()}
    assert result.judge_use is not None
    assert (result.judge_use.calls, result.judge_use.model) == (1, "judge-1")


def test_one_slow_judge_call_does_not_hold_up_another() -> None:
    judge = CountingJudge("9", seconds=0.1)

    async def ten(grading: Grading) -> float:
        begun = time.perf_counter()
        await asyncio.gather(*(grading(JUDGED, EVIDENCE, STARTED) for _ in range(10)))
        return time.perf_counter() - begun

    assert graded(ten, judge=judge) < 0.5
    assert judge.most == 10


def test_a_passing_fault_of_the_judge_is_asked_again_and_a_lasting_one_is_a_broken_evaluator() -> None:
    busy = JudgeError("asked us to slow down", permanent=False)
    judge = CountingJudge(busy, "9")
    assert one(judge, about=JUDGED).passed
    assert judge.calls == 2

    judge = CountingJudge(busy)
    assert one(judge, about=JUDGED).outcome is EvaluationOutcome.FAILED
    assert judge.calls == 3

    judge = CountingJudge(JudgeError("refused the key", permanent=True))
    assert "refused the key" in one(judge, about=JUDGED).reason
    assert judge.calls == 1


def test_cancelling_an_evaluation_cancels_its_judge_call() -> None:
    judge = CountingJudge("9", seconds=60)

    async def cut(grading: Grading) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await grading(JUDGED, EVIDENCE, STARTED)
        async with asyncio.timeout(2):
            while not judge.cancelled:
                await asyncio.sleep(0.005)

    graded(cut, judge=judge)


SLOW = "four of these"


async def sleeps(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
    time.sleep(0.2 if case.turn == SLOW else 0)
    return outcome(passed=True)


async def searches(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
    with contextlib.suppress(TimeoutError):
        regex.search("(a|aa)+$", "a" * 5000 + "b" if case.turn == SLOW else "a", timeout=0.2)
    return outcome(passed=True)


@pytest.mark.parametrize("slow", [sleeps, searches])
def test_a_slow_evaluator_never_stalls_32_lanes(slow: Any) -> None:
    async def longest_wait() -> float:
        """How long the lanes' loop was kept from its next turn, in seconds."""
        gap = 0.0
        sink = ListSink()
        attempts = [planned(number, turn=SLOW if number <= 4 else "hi") for number in range(1, 97)]
        with EvaluationThread() as thread:
            runner = ExperimentRunner(
                lanes=32,
                source=ListSource(attempts),
                sink=sink,
                open_target=lambda: ScriptedTarget(hello),
                evaluate=Grading(with_kind(slow), CriterionContext(), thread),
                deadline=10,
            )
            drive = asyncio.create_task(runner.drive())
            while not drive.done():
                begun = time.perf_counter()
                await asyncio.sleep(0.002)
                gap = max(gap, time.perf_counter() - begun)
        assert len(sink.finished) == 96
        assert all(one.result and one.result.passed for one in sink.finished)
        return gap

    # In the loop itself each slow evaluation would hold it for 0.2 s, each time. Best of three: other work
    # on the machine only makes it longer.
    assert any(asyncio.run(longest_wait()) < 0.1 for _ in range(3))


def test_an_evaluator_that_blocks_for_ever_costs_attempts_their_deadline_and_no_more() -> None:
    let_go = threading.Event()

    async def blocks(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        let_go.wait(10)
        return outcome(passed=True)

    async def run() -> ListSink:
        sink = ListSink()
        with EvaluationThread() as thread:
            runner = ExperimentRunner(
                lanes=2,
                source=ListSource([planned(1), planned(2)]),
                sink=sink,
                open_target=lambda: ScriptedTarget(hello),
                evaluate=Grading(with_kind(blocks), CriterionContext(), thread),
                deadline=0.2,
            )
            await runner.drive()
            let_go.set()
        return sink

    for finished in asyncio.run(run()).finished:
        assert finished.result is not None
        assert finished.result.outcome is EvaluationOutcome.FAILED
        assert "deadline" in finished.result.reason
        assert finished.evidence is not None


def test_a_callers_own_pool_lends_its_thread_and_has_it_back_afterwards() -> None:
    threads: list[int] = []

    async def look(case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext) -> Verdict:
        threads.append(threading.get_ident())
        return outcome(passed=True)

    async def run(pool: ThreadPoolExecutor) -> None:
        with EvaluationThread(pool) as thread:
            grading = Grading(with_kind(look), CriterionContext(), thread)
            assert (await grading(planned(), EVIDENCE, STARTED)).passed

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(run(pool))
        assert pool.submit(threading.get_ident).result(timeout=2) == threads[0]


def test_grading_costs_the_lanes_less_than_a_third_of_a_millisecond_beside_the_evaluator() -> None:
    async def many(grading: Grading) -> float:
        begun = time.thread_time()
        for _ in range(20):
            await asyncio.gather(*(grading(planned(), EVIDENCE, STARTED) for _ in range(50)))
        return (time.thread_time() - begun) / 1000

    assert min(graded(many) for _ in range(3)) < 0.0003
