"""Grading beside the lanes: evaluators run in a thread of their own, judge calls in the lanes' loop.

The lanes' loop must never wait for an evaluator's CPU: a slow regex there would hold up every lane. So
``EvaluationThread`` keeps one event loop in one thread, and each attempt's evaluation is a task in it. An
evaluation that asks the judge awaits there while others go on; the call itself hops back to the lanes'
loop (``_LaneJudge``), because the judge's client belongs to that loop and closes with it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from experiments.evaluation import (
    CriterionContext,
    EvaluationResult,
    Evidence,
    GradeRequest,
    Judge,
    JudgeError,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
    Ruler,
    evaluate_attempt,
)
from experiments.runner.ports import PlannedAttempt
from experiments.runner.retry import RetryPolicy, pause_before_retry, spread_of

T = TypeVar("T")


class EvaluationThread:
    """One thread with an event loop in which evaluators run. Use it as a context manager.

    ``executor``: a pool whose one thread is taken until the end of the context, for a caller that has to
    run something in that thread afterwards (close database connections); without it a thread is made.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._ended: Future[None] = Future()

    def __enter__(self) -> Self:
        if self._executor is None:
            threading.Thread(target=self._work, name="evaluators", daemon=True).start()
        else:
            self._executor.submit(self._work)
        self._ready.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the thread once the evaluation it is at returns; what has not finished is cancelled."""
        loop = self._ready.result()
        loop.call_soon_threadsafe(loop.stop)
        self._ended.result()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """``work`` as a task in the thread's loop; cancelling the caller cancels it there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._ready.result()))

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            asyncio.set_event_loop(loop)
            self._ready.set_result(loop)
            loop.run_forever()
        self._ended.set_result(None)


class Grading:
    """The runner's ``Evaluate``: every attempt by one ruler and one set of services.

    Make it in the loop the lanes run in: judge calls come back to that loop. They follow the same retry
    policy as the target's calls; the attempt's deadline ends them by cancelling.
    """

    def __init__(
        self,
        ruler: Ruler,
        services: CriterionContext,
        thread: EvaluationThread,
        retry: RetryPolicy | None = None,
    ) -> None:
        judge = services.judge
        if judge is not None:
            judge = _LaneJudge(judge, asyncio.get_running_loop(), retry or RetryPolicy())
        self._services = replace(services, judge=judge)
        self._ruler = ruler
        self._thread = thread

    async def __call__(
        self, planned: PlannedAttempt, evidence: Evidence, started: datetime
    ) -> EvaluationResult:
        services = replace(self._services, today=started.date())
        return await self._thread.run(evaluate_attempt(planned.case, evidence, self._ruler, services))


class _LaneJudge:
    """A judge used from the evaluators' loop whose calls run in the lanes' loop."""

    def __init__(self, judge: Judge, lanes: asyncio.AbstractEventLoop, retry: RetryPolicy) -> None:
        self._judge = judge
        self._lanes = lanes
        self._retry = retry

    @property
    def model(self) -> str:
        return self._judge.model

    async def grade(self, request: GradeRequest) -> JudgeReply:
        return await self._there(lambda: self._judge.grade(request), request.prompt_hash)

    async def label(self, request: JudgeRequest) -> JudgeResult:
        return await self._there(lambda: self._judge.label(request), request.instruction)

    async def _there(self, call: Callable[[], Awaitable[T]], key: str) -> T:
        repeated = _repeated(call, key, self._retry)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(repeated, self._lanes))


async def _repeated(call: Callable[[], Awaitable[T]], key: str, retry: RetryPolicy) -> T:
    made = 0
    while True:
        made += 1
        try:
            return await call()
        except JudgeError as error:
            pause = pause_before_retry(
                retry,
                made,
                permanent=error.permanent,
                timed_out=getattr(error, "timed_out", False),
                retry_after=getattr(error, "retry_after", None),
                remaining=float("inf"),
                spread=spread_of(key, made),
            )
            if pause is None:
                raise
            await asyncio.sleep(pause)
