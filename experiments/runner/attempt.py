"""One attempt: ask the target, keep what it said, have it graded. Never raises but ``CancelledError``."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError

from experiments.evaluation import (
    Cause,
    EvalSetup,
    EvaluationResult,
    Evidence,
    FailingTool,
    Failure,
    ModelCall,
    Replay,
    SettledBy,
    ToolCall,
    Turn,
)
from experiments.evaluation.outcome import REASON_LIMIT
from experiments.evaluation.text import is_blank, printable
from experiments.runner.ports import Clock, Evaluate, FinishedAttempt, PlannedAttempt
from experiments.runner.retry import RetryPolicy, pause_before_retry, spread_of
from experiments.targets.base import Reply, SetupFailed, Target, TargetError

log = logging.getLogger("experiments.runner")
T = TypeVar("T")

RELEASE_SECONDS = 5.0
"""Releasing a session is a courtesy: a service that hangs there may not hold a lane longer than this."""

DEFAULT_RETRY = RetryPolicy()


def utc_now() -> datetime:
    """The default clock of the runner."""
    return datetime.now(UTC)


def replay_turns(setup: EvalSetup) -> tuple[str, ...]:
    """The user turns to speak before the graded one: a Replay's, also inside FailingTool."""
    while isinstance(setup, FailingTool):
        setup = setup.then
    return setup.user_turns if isinstance(setup, Replay) else ()


class _NotReachedError(Exception):
    """The target is not reached; carries the failure the attempt ends with."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        # A target may give a megabyte of reason; the whole of it stands in the evidence.
        self.failure = Failure(cause=cause, detail=printable(detail, REASON_LIMIT))


class Conversation:
    """What is said with the target in one attempt. What was said so far stays readable when it breaks off."""

    def __init__(self, planned: PlannedAttempt, target: Target, deadline: float, retry: RetryPolicy) -> None:
        """``deadline``: the loop's time at which the attempt's time is over."""
        self._planned = planned
        self._target = target
        self._deadline = deadline
        self._retry = retry
        self._session: str | None = None
        self._turns: list[Turn] = []
        self._replies: list[Reply] = []
        self._retries: list[str] = []
        self._open: tuple[str, float] | None = None
        self._cause = Cause.SETUP_FAILED
        self._doing = "the setup stood"

    async def hold(self) -> Failure | None:
        """Prepare, speak the Replay turns, ask the graded turn. None: there is a reply to grade."""
        try:
            await self._prepare()
            replayed = replay_turns(self._planned.case.setup)
            for number, text in enumerate(replayed, start=1):
                where = f"replay turn {number} of {len(replayed)}"
                self._doing = f"a reply to {where}"
                await self._say(text, Cause.SETUP_FAILED, f"{where}: ")
            self._cause, self._doing = Cause.NO_REPLY, "a reply"
            await self._say(self._planned.case.turn, Cause.NO_REPLY, "")
        except _NotReachedError as stop:
            return stop.failure
        except ValidationError:
            return Failure(cause=self._cause, detail="the target's answer holds a figure beyond all bounds")
        return None

    def broken_off(self, deadline: float) -> Failure:
        """The failure of a conversation that was still going on when ``deadline`` seconds were over."""
        detail = f"not {self._doing} within the attempt's deadline of {deadline:g} s"
        if self._open is not None:
            prompt, begun = self._open
            self._keep(prompt, None, time.perf_counter() - begun, detail)
        return Failure(cause=self._cause, detail=detail)

    def evidence(self) -> Evidence | None:
        """Everything recorded so far; None before the first turn was sent.

        Tool and model calls are those of all turns in order, and None when no turn reported them; node,
        refusal code, context and end state are the last turn's.
        """
        if not self._turns:
            return None
        last = self._replies[-1] if len(self._replies) == len(self._turns) else Reply(None)
        return Evidence(
            turns=tuple(self._turns),
            node=last.node,
            refusal_code=last.refusal_code,
            tools_called=_tools(self._replies),
            model_calls=_calls(self._replies),
            context=last.context,
            end_state=None if last.end_state is None else dict(last.end_state),
            cached=any(reply.cached for reply in self._replies),
            cut=tuple(note for reply in self._replies for note in reply.notes),
            retries=tuple(self._retries),
        )

    async def release(self) -> None:
        """Give the session back. Whatever goes wrong here changes nothing."""
        if self._session is None:
            return
        session, self._session = self._session, None
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._target.release(session)
        except (TargetError, TimeoutError):
            log.debug("attempt %s: the session could not be released", self._planned.id)
        except Exception:
            log.warning("attempt %s: the adapter broke in release", self._planned.id, exc_info=True)

    async def _prepare(self) -> None:
        setup = self._planned.case.setup
        try:
            made = await self._again_if_needed("prepare", lambda: self._target.prepare(setup))
        except TargetError as error:
            raise _NotReachedError(Cause.SETUP_FAILED, error.detail) from None
        if isinstance(made, SetupFailed):
            raise _NotReachedError(
                Cause.SETUP_FAILED, made.reason or "the target could not build the setup and gave no reason"
            )
        self._session = made.session_id

    async def _say(self, text: str, cause: Cause, where: str) -> None:
        """One turn: kept with its reply, or kept with its failure and ending the conversation."""
        assert self._session is not None
        session = self._session
        key = self._planned.submit_key(len(self._turns) + 1)
        self._open = (text, time.perf_counter())

        async def submit() -> Reply:
            # From here, so that the duration is the answered call's and not that of the tries before it.
            self._open = (text, time.perf_counter())
            return await self._target.submit(session, text, key)

        try:
            reply = await self._again_if_needed("submit", submit)
        except TargetError as error:
            self._keep(text, None, time.perf_counter() - self._open[1], error.detail)
            raise _NotReachedError(cause, where + error.detail) from None
        problem = _no_reply(reply)
        self._replies.append(reply)
        self._keep(text, reply, time.perf_counter() - self._open[1], reply.failure or problem)
        if problem is not None:
            raise _NotReachedError(cause, where + problem)

    def _keep(self, prompt: str, reply: Reply | None, seconds: float, failure: str | None) -> None:
        self._open = None
        said = reply or Reply(None)
        self._turns.append(
            Turn(
                prompt=prompt,
                reply=said.text,
                citations=said.citations,
                prompt_tokens=said.prompt_tokens,
                completion_tokens=said.completion_tokens,
                seconds=seconds,
                failure=failure,
            )
        )

    async def _again_if_needed(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        """``call``, repeated as the retry policy says; TargetError for good otherwise."""
        made = 0
        while True:
            made += 1
            try:
                return await call()
            except TargetError as error:
                pause = pause_before_retry(
                    self._retry,
                    made,
                    permanent=error.permanent,
                    timed_out=error.timed_out,
                    retry_after=error.retry_after,
                    remaining=self._deadline - asyncio.get_running_loop().time(),
                    spread=spread_of(self._planned.key, made),
                )
                if pause is None:
                    raise _after(error, made) from None
                self._retries.append(f"{what}, try {made}: {error.detail}; asked again after {pause:.2f} s")
                await asyncio.sleep(pause)
            except Exception as error:
                # An adapter's own bug must not cost more than this attempt; its text may hold anything.
                log.warning("attempt %s: the adapter broke in %s", self._planned.id, what, exc_info=True)
                detail = f"the adapter itself broke in {what} ({type(error).__name__}); see the worker's log"
                raise TargetError(detail, permanent=True) from None


def _after(error: TargetError, made: int) -> TargetError:
    return (
        error if made == 1 else TargetError(f"{error.detail} (asked {made} times)", permanent=error.permanent)
    )


def _no_reply(reply: Reply) -> str | None:
    """Why there is nothing to grade in this reply, or None."""
    if reply.incomplete:
        return reply.notes[-1] if reply.notes else "only a part of the reply could be read"
    if not is_blank(reply.text):
        return None
    if reply.failure:
        return f"the target gave no reply and says: {reply.failure}"
    return "the target answered without a reply" if reply.text is None else "the reply is empty"


def _tools(replies: list[Reply]) -> tuple[ToolCall, ...] | None:
    reported = [reply.tools_called for reply in replies if reply.tools_called is not None]
    return tuple(call for calls in reported for call in calls) if reported else None


def _calls(replies: list[Reply]) -> tuple[ModelCall, ...] | None:
    reported = [reply.model_calls for reply in replies if reply.model_calls is not None]
    return tuple(call for calls in reported for call in calls) if reported else None


async def run_attempt(
    planned: PlannedAttempt,
    target: Target,
    evaluate: Evaluate,
    *,
    deadline: float,
    clock: Clock = utc_now,
    retry: RetryPolicy = DEFAULT_RETRY,
) -> FinishedAttempt:
    """The whole attempt within ``deadline`` seconds over all turns and the judge.

    Out of time before the reply is there: not reached. Out of time while grading: the reply stays as
    evidence and the result says that the evaluators did not finish.
    """
    started, begun = clock(), time.perf_counter()
    try:
        evidence, failure, result = await _run(planned, target, evaluate, deadline, started, retry)
    except Exception as error:
        # A target of a team's own may return anything; no attempt may take its lane down with it.
        log.warning("attempt %s: its answer could not be recorded", planned.id, exc_info=True)
        detail = f"the target's answer could not be recorded ({type(error).__name__}); see the worker's log"
        evidence, result = None, None
        failure = Failure(cause=Cause.NO_REPLY, detail=detail)
    return FinishedAttempt(planned, evidence, failure, result, time.perf_counter() - begun, started)


async def _run(
    planned: PlannedAttempt,
    target: Target,
    evaluate: Evaluate,
    deadline: float,
    started: datetime,
    retry: RetryPolicy,
) -> tuple[Evidence | None, Failure | None, EvaluationResult | None]:
    over = asyncio.get_running_loop().time() + deadline
    talk = Conversation(planned, target, over, retry)
    try:
        async with asyncio.timeout_at(over):
            failure = await talk.hold()
    except TimeoutError:
        failure = talk.broken_off(deadline)
    evidence = talk.evidence()
    # Before the judge is asked: a service should not hold a session while somebody else works.
    await talk.release()
    result: EvaluationResult | None = None
    if failure is None:
        try:
            async with asyncio.timeout_at(over):
                result = await _graded(evaluate, planned, evidence or Evidence(), started)
        except TimeoutError:
            result = _broke(f"the evaluators did not finish within the attempt's deadline of {deadline:g} s")
    return evidence, failure, result


async def _graded(
    evaluate: Evaluate, planned: PlannedAttempt, evidence: Evidence, started: datetime
) -> EvaluationResult:
    try:
        return await evaluate(planned, evidence, started)
    except Exception as error:
        log.warning("attempt %s: the evaluation broke", planned.id, exc_info=True)
        return _broke(f"the evaluation itself broke ({type(error).__name__}); see the worker's log")


def _broke(reason: str) -> EvaluationResult:
    return EvaluationResult.broke(reason, evaluator="runner", settled_by=SettledBy.criteria)
