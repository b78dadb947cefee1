"""One attempt against scripted and real targets: what becomes a failure, what becomes evidence."""

import asyncio
import logging
from datetime import datetime

import pytest

from experiments.evaluation import (
    Cause,
    EvalSetup,
    EvaluationOutcome,
    EvaluationResult,
    Evidence,
    FailingTool,
    Fixture,
    ModelCall,
    NoSetup,
    Passage,
    Replay,
    ToolCall,
    failure_of,
)
from experiments.runner.attempt import run_attempt
from experiments.runner.ports import Evaluate, FinishedAttempt, PlannedAttempt
from experiments.runner.retry import NO_RETRIES, RetryPolicy
from experiments.targets.base import Ready, Reply, SetupFailed, TargetError
from experiments.targets.opening import open_target
from experiments.wire.target import ContractHttpConfig
from tests.local_http import Answer, LocalHttp, Respond, Seen, contract
from tests.runner.helpers import Say, ScriptedTarget, a_pass, hello, passes, planned

QUICK = RetryPolicy(tries=3, first_pause=0.02, longest_pause=0.05)


def attempt(
    say: Say = hello,
    *,
    setup: EvalSetup | None = None,
    made: Ready | SetupFailed | Exception | None = None,
    evaluate: Evaluate = passes,
    deadline: float = 5.0,
    retry: RetryPolicy = QUICK,
) -> tuple[FinishedAttempt, ScriptedTarget]:
    target = ScriptedTarget(say, made or Ready("s1"))
    run = run_attempt(planned(setup=setup), target, evaluate, deadline=deadline, retry=retry)
    return asyncio.run(run), target


def not_reached(finished: FinishedAttempt, cause: Cause) -> str:
    assert finished.result is None
    assert finished.failure is not None
    assert finished.failure.cause is cause
    return finished.failure.detail


def test_a_plain_attempt_is_prepared_asked_released_and_graded() -> None:
    finished, target = attempt()
    assert finished.failure is None
    assert finished.result == a_pass()
    assert finished.evidence is not None
    assert finished.evidence.reply == "you said hi"
    assert target.log == [("prepare", "none"), ("submit", "hi", "run1-1.1.1"), ("release", "s1")]
    assert finished.started.tzinfo is not None
    assert 0 < (finished.evidence.seconds or 0) <= finished.seconds


@pytest.mark.parametrize("wrap", [False, True])
def test_replay_turns_are_spoken_one_by_one_before_the_graded_one(wrap: bool) -> None:
    setup: EvalSetup = Replay(user_turns=("one", "two"))
    if wrap:
        setup = FailingTool(tool="t", message="down", then=setup)
    finished, target = attempt(setup=setup)
    assert [entry[1:] for entry in target.log if entry[0] == "submit"] == [
        ("one", "run1-1.1.1"),
        ("two", "run1-1.1.2"),
        ("hi", "run1-1.1.3"),
    ]
    assert finished.evidence is not None
    assert [turn.prompt for turn in finished.evidence.turns] == ["one", "two", "hi"]
    assert finished.evidence.reply == "you said hi"


def test_a_failing_tool_around_a_replay_is_broken_over_the_wire_before_the_turns_are_sent() -> None:
    walked = FailingTool(tool="orders", message="down", then=Replay(user_turns=("one",)))
    nested = FailingTool(tool="orders", message="down", then=Fixture(name="late"))

    async def run() -> list[Seen]:
        async with LocalHttp(contract()) as server:
            target = open_target(ContractHttpConfig(url=server.url))
            for setup in (walked, nested):
                await run_attempt(planned(setup=setup), target, passes, deadline=5)
            await target.aclose()
            return server.seen

    seen = asyncio.run(run())
    assert [one.path for one in seen] == [
        *("/prepare", "/submit", "/submit", "/release"),
        *("/prepare", "/submit", "/release"),
    ]
    assert seen[0].json["setup"]["then"] == {"kind": "none"}
    assert [one.json["text"] for one in seen if one.path == "/submit"] == ["one", "hi", "hi"]
    assert seen[4].json["setup"]["then"]["kind"] == "fixture"


@pytest.mark.parametrize(
    "made",
    [SetupFailed("no such fixture"), TargetError("POST /prepare failed: no such fixture", permanent=True)],
)
def test_a_setup_that_cannot_be_built_is_setup_failed_and_nothing_is_asked(
    made: SetupFailed | TargetError,
) -> None:
    finished, target = attempt(made=made, setup=Fixture(name="x"))
    assert "no such fixture" in not_reached(finished, Cause.SETUP_FAILED)
    assert finished.evidence is None
    assert [entry[0] for entry in target.log] == ["prepare"]


@pytest.mark.parametrize(
    "broken", [Reply(None), Reply(" \n"), TargetError("POST /submit broke", permanent=True)]
)
def test_a_failing_replay_turn_is_setup_failed_with_its_reason(broken: Reply | TargetError) -> None:
    async def second_fails(text: str, key: str) -> Reply:
        if text != "two":
            return Reply("fine")
        if isinstance(broken, TargetError):
            raise broken
        return broken

    finished, target = attempt(second_fails, setup=Replay(user_turns=("one", "two", "three")))
    assert not_reached(finished, Cause.SETUP_FAILED).startswith("replay turn 2 of 3: ")
    assert finished.evidence is not None
    assert [turn.reply for turn in finished.evidence.turns[:1]] == ["fine"]
    assert finished.evidence.turns[1].failure
    assert ("release", "s1") in target.log
    recorded = failure_of(
        finished.evidence.model_copy(update={"turns": (*finished.evidence.turns, *_more())})
    )
    assert recorded is not None
    assert recorded.cause is Cause.SETUP_FAILED


def _more() -> tuple[object, ...]:
    """A further turn, so that the core reads the last one recorded as an earlier one."""
    return Evidence.model_validate({"turns": [{"prompt": "graded"}]}).turns


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(None), "without a reply"),
        (Reply(""), "empty"),
        (Reply(" \n\t  "), "empty"),
        (Reply(None, failure="out of memory"), "out of memory"),
        (Reply("par", incomplete=True, notes=("cut at 3 bytes",)), "cut at 3 bytes"),
    ],
)
def test_nothing_to_read_is_no_reply_before_any_evaluator_runs(reply: Reply, says: str) -> None:
    async def say(text: str, key: str) -> Reply:
        return reply

    finished, _ = attempt(say, evaluate=_never)
    assert says in not_reached(finished, Cause.NO_REPLY)
    assert finished.evidence is not None
    assert finished.evidence.reply == reply.text
    assert finished.evidence.cut == reply.notes


async def _never(planned: PlannedAttempt, evidence: Evidence, started: datetime) -> EvaluationResult:
    pytest.fail("nothing is there to grade")


def test_a_failure_beside_a_reply_is_recorded_and_graded() -> None:
    async def say(text: str, key: str) -> Reply:
        return Reply("fine", failure="the cache was down")

    finished, _ = attempt(say, setup=Replay(user_turns=("one",)))
    assert finished.result is not None
    assert finished.evidence is not None
    assert [turn.failure for turn in finished.evidence.turns] == ["the cache was down"] * 2


def test_the_evidence_joins_calls_of_all_turns_and_takes_the_rest_from_the_last() -> None:
    async def say(text: str, key: str) -> Reply:
        if text == "silent":
            return Reply("x")
        return Reply(
            text,
            node=f"node {text}",
            tools_called=(ToolCall(name=text),),
            model_calls=(ModelCall(model=text),),
            context=(Passage(id=text),),
            end_state={"at": text},
            prompt_tokens=2,
            completion_tokens=3,
        )

    finished, _ = attempt(say, setup=Replay(user_turns=("one", "silent")))
    evidence = finished.evidence
    assert evidence is not None
    assert evidence.tools_called is not None
    assert [call.name for call in evidence.tools_called] == ["one", "hi"]
    assert evidence.model_calls is not None
    assert len(evidence.model_calls) == 2
    assert (evidence.node, evidence.context, evidence.end_state) == (
        "node hi",
        (Passage(id="hi"),),
        {"at": "hi"},
    )
    assert evidence.prompt_tokens is None
    last, _ = attempt(say, setup=Replay(user_turns=("one",)))
    assert last.evidence is not None
    assert (last.evidence.prompt_tokens, last.evidence.completion_tokens) == (4, 6)
    assert attempt()[0].evidence.tools_called is None  # type: ignore[union-attr]


def test_an_adapter_that_breaks_costs_its_own_attempt_only_and_shows_no_text_of_the_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def say(text: str, key: str) -> Reply:
        raise RuntimeError("secret-in-exception")

    detail = not_reached(attempt(say)[0], Cause.NO_REPLY)
    assert "RuntimeError" in detail
    assert "secret" not in detail


def test_figures_beyond_all_bounds_are_no_reply_and_no_crash() -> None:
    async def say(text: str, key: str) -> Reply:
        return Reply("x", prompt_tokens=10**15)

    assert "bounds" in not_reached(attempt(say)[0], Cause.NO_REPLY)


def test_an_adapter_that_returns_nonsense_costs_its_own_attempt_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for nonsense in (Reply("x", node=7), Reply(7), Reply("x", end_state=7), None):  # type: ignore[arg-type]

        async def say(text: str, key: str, nonsense: Reply = nonsense) -> Reply:  # type: ignore[assignment]
            return nonsense

        assert not_reached(attempt(say)[0], Cause.NO_REPLY)


def test_a_megabyte_of_reason_is_cut_in_the_failure_and_stays_storable() -> None:
    finished, _ = attempt(made=SetupFailed("\x00\ud800" * 500_000))
    detail = not_reached(finished, Cause.SETUP_FAILED)
    assert len(detail) < 10_000
    assert detail.isprintable() or "\ufffd" in detail
    assert "\x00" not in detail


def flaky(failures: int, **facts: object) -> Say:
    tries = {"made": 0}

    async def say(text: str, key: str) -> Reply:
        tries["made"] += 1
        if tries["made"] <= failures:
            raise TargetError("POST /submit failed (status 503)", **{"permanent": False, **facts})  # type: ignore[arg-type]
        return Reply("at last")

    return say


def test_a_passing_fault_is_asked_again_with_the_same_key_and_noted() -> None:
    finished, target = attempt(flaky(2))
    assert finished.evidence is not None
    assert finished.evidence.reply == "at last"
    assert {entry[2] for entry in target.log if entry[0] == "submit"} == {"run1-1.1.1"}
    assert len(finished.evidence.retries) == 2
    assert "status 503" in finished.evidence.retries[0]
    assert (finished.evidence.seconds or 1) < 0.02, "the duration is the answered call's own"


def test_a_fault_that_stays_ends_after_the_last_try_and_says_how_often() -> None:
    finished, target = attempt(flaky(99))
    assert "asked 3 times" in not_reached(finished, Cause.NO_REPLY)
    assert sum(entry[0] == "submit" for entry in target.log) == 3
    assert finished.evidence is not None
    assert len(finished.evidence.retries) == 2


@pytest.mark.parametrize("facts", [{"permanent": True}, {"timed_out": True}, {"retry_after": 60.0}])
def test_what_cannot_help_in_time_is_not_asked_again(facts: dict[str, object]) -> None:
    finished, target = attempt(flaky(1, **facts))
    not_reached(finished, Cause.NO_REPLY)
    assert sum(entry[0] == "submit" for entry in target.log) == 1


def test_the_deadline_ends_an_attempt_that_hangs_and_keeps_what_was_said() -> None:
    async def say(text: str, key: str) -> Reply:
        await asyncio.sleep(60 if text == "hi" else 0)
        return Reply("fine")

    finished, target = attempt(say, setup=Replay(user_turns=("one",)), deadline=0.15)
    assert "deadline of 0.15 s" in not_reached(finished, Cause.NO_REPLY)
    assert finished.evidence is not None
    assert [turn.reply for turn in finished.evidence.turns] == ["fine", None]
    assert (finished.evidence.turns[1].seconds or 0) > 0.1
    assert target.log[-1] == ("release", "s1")
    assert finished.seconds < 1


def test_a_deadline_that_passes_in_the_setup_is_setup_failed() -> None:
    async def say(text: str, key: str) -> Reply:
        await asyncio.sleep(60)
        return Reply("never")

    finished, _ = attempt(say, setup=Replay(user_turns=("one",)), deadline=0.05)
    assert "replay turn 1 of 1" in not_reached(finished, Cause.SETUP_FAILED)


def test_a_deadline_that_passes_while_grading_keeps_the_reply_and_is_a_broken_evaluator() -> None:
    async def slow(planned: PlannedAttempt, evidence: Evidence, started: datetime) -> EvaluationResult:
        await asyncio.sleep(60)
        return a_pass()

    finished, _ = attempt(evaluate=slow, deadline=0.05)
    assert finished.failure is None
    assert finished.result is not None
    assert finished.result.outcome is EvaluationOutcome.FAILED
    assert "0.05 s" in finished.result.reason
    assert finished.evidence is not None
    assert finished.evidence.reply == "you said hi"


def test_an_evaluation_that_raises_is_a_broken_evaluator() -> None:
    async def raising(planned: PlannedAttempt, evidence: Evidence, started: datetime) -> EvaluationResult:
        raise KeyError("x")

    finished, _ = attempt(evaluate=raising)
    assert finished.result is not None
    assert finished.result.outcome is EvaluationOutcome.FAILED
    assert "KeyError" in finished.result.reason


def test_a_release_that_breaks_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Rude(ScriptedTarget):
        async def release(self, session_id: str) -> None:
            raise TargetError("no", permanent=False) if self.closed == 0 else RuntimeError("no")

    async def run() -> None:
        for closed in (0, 1):
            target = Rude(hello, closed=closed)
            finished = await run_attempt(planned(), target, passes, deadline=5)
            assert finished.result == a_pass()

    asyncio.run(run())


def test_cancelling_an_attempt_cancels_it() -> None:
    async def say(text: str, key: str) -> Reply:
        await asyncio.sleep(60)
        return Reply("never")

    async def run() -> None:
        task = asyncio.create_task(run_attempt(planned(), ScriptedTarget(say), passes, deadline=60))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


async def _page(seen: Seen) -> Answer:
    return Answer("<html>", kind="text/html")


async def _stuck(seen: Seen) -> Answer:
    await asyncio.sleep(30)
    return Answer({})


@pytest.mark.parametrize(
    ("submit", "says"),
    [
        (Answer({"reply": ""}), "empty"),
        (Answer({"reply": None}), "without a reply"),
        (_page, "text/html"),
        (Answer("no", status=500), "status 500"),
        (Answer("{"), "not JSON"),
        (_stuck, "silent"),
    ],
)
def test_a_misbehaving_service_makes_one_not_reached_attempt_and_the_next_is_unharmed(
    submit: Respond | Answer, says: str
) -> None:
    async def only_bad_turns(seen: Seen) -> Answer:
        if seen.json["text"] != "bad":
            return Answer({"reply": "hi there"})
        return submit if isinstance(submit, Answer) else await submit(seen)

    async def run() -> list[FinishedAttempt]:
        async with LocalHttp(contract(only_bad_turns)) as server:
            target = open_target(ContractHttpConfig(url=server.url, read_seconds=0.2))
            both = [
                await run_attempt(planned(turn=turn), target, passes, deadline=3, retry=NO_RETRIES)
                for turn in ("bad", "good")
            ]
            await target.aclose()
            return both

    bad, good = asyncio.run(run())
    assert says in not_reached(bad, Cause.NO_REPLY)
    assert good.result == a_pass()


def test_no_setup_has_no_turns_before_the_graded_one() -> None:
    assert len(attempt(setup=NoSetup())[0].evidence.turns) == 1  # type: ignore[union-attr]


def test_nothing_is_logged_above_debug_for_what_a_service_does_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="experiments")
    attempt(flaky(99))
    assert not caplog.records
