"""A code-first experiment over a real HTTP service: every rule of the core through the one lane loop."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from experiments.evaluation import (
    AttemptMark,
    CaseVerdict,
    Cause,
    CriterionSpec,
    EvalCase,
    EvalCaseResults,
    ExperimentReport,
    Fixture,
    Policy,
    Replay,
    Rubric,
    SettleMode,
)
from experiments.runner.experiment import ExperimentRefusedError, ExperimentSetup
from experiments.runner.loop import ExperimentRunner
from experiments.runner.retry import NO_RETRIES
from experiments.wire.judge import JudgeConfig
from experiments.wire.target import ContractHttpConfig
from tests.local_http import Answer, LocalHttp, Respond, Seen, always, contract

POLICY = Policy(name="p", version=1, text="be kind")
RUBRIC = Rubric(name="r", template="{replay_history}{simulation_history}{system_output}{expected_outcome}")


def setup(*cases: EvalCase, **fields: Any) -> ExperimentSetup:
    return ExperimentSetup(cases=cases, **{"policy": POLICY, "rubric": RUBRIC, "lanes": 4, **fields})


def run(
    setup: ExperimentSetup, respond: Respond, **options: Any
) -> tuple[list[EvalCaseResults], ExperimentReport, LocalHttp]:
    async def work() -> tuple[list[EvalCaseResults], ExperimentReport, LocalHttp]:
        async with LocalHttp(respond) as server:
            target = ContractHttpConfig(url=server.url, read_seconds=1)
            results, report = await ExperimentRunner.run(setup, target, retry=NO_RETRIES, **options)
            return results, report, server

    return asyncio.run(work())


def phrase(case_id: str, **fields: Any) -> EvalCase:
    return EvalCase(**{"id": case_id, "turn": case_id, "required_phrases": ("thirty days",), **fields})


async def mixed(seen: Seen) -> Answer:
    """Good, bad, varying, silent and broken answers, by the case's turn and the attempt's number."""
    turn = seen.json["text"]
    odd = int(seen.json["idempotency_key"].split("-")[1].split(".")[0]) <= 5
    replies = {
        "good": "thirty days",
        "bad": "soon",
        "varies": "thirty days" if odd else "soon",
        "silent": None,
    }
    return Answer({"reply": replies.get(turn, "thirty days")}) if turn != "broken" else Answer("", status=500)


def test_an_experiment_gives_every_case_and_a_report_that_adds_up() -> None:
    names = ("good", "bad", "varies", "silent", "broken")
    cases = [phrase(name) for name in names]
    results, report, server = run(setup(*cases, repeats=2), contract(mixed))
    verdicts = {one.case.id: one.verdict for one in results}
    assert verdicts == {
        "good": CaseVerdict.PASSED,
        "bad": CaseVerdict.FAILED,
        "varies": CaseVerdict.VARIED,
        "silent": CaseVerdict.NO_RESULT,
        "broken": CaseVerdict.NO_RESULT,
    }
    assert [one.case.id for one in results] == list(names)
    assert all([attempt.number for attempt in one.attempts] == [1, 2] for one in results)
    assert (report.total, report.judged, report.passed, report.failed) == (10, 6, 3, 3)
    assert (report.not_reached, report.no_reply) == (4, 4)
    assert report.pass_rate == 0.5
    assert len(server.paths("/submit")) == 10
    assert server.most_at_once <= 4


def test_a_setup_that_fails_only_when_built_is_counted_as_such() -> None:
    able = Answer({"version": "1", "fixtures": {"late": "a late order"}})
    respond = contract(capabilities=able, prepare=Answer({"failed": "the order store is away"}))
    (one,), report, _ = run(setup(phrase("c", setup=Fixture(name="late"))), respond)
    failure = one.attempts[0].failure
    assert failure is not None
    assert (failure.cause, failure.detail) == (Cause.SETUP_FAILED, "the order store is away")
    assert (report.setup_failed, report.pass_rate) == (1, None)


def test_replayed_cases_walk_their_path() -> None:
    case = phrase("good", setup=Replay(user_turns=("hello", "order 4417")))
    (one,), report, server = run(setup(case), contract(mixed))
    assert one.marks == (AttemptMark.passed,)
    assert [seen.json["text"] for seen in server.paths("/submit")] == ["hello", "order 4417", "good"]
    assert report.walked == 1


def test_criteria_settle_when_there_are_any_and_both_when_asked() -> None:
    short = CriterionSpec(kind="reply.max_length", params={"max": 5})
    (by_criteria,), report, _ = run(
        setup(phrase("good", required_phrases=()), criteria=[short]), contract(mixed)
    )
    assert by_criteria.marks == (AttemptMark.failed,)
    assert report.by_criteria == 1
    both = setup(phrase("good"), criteria=[short], settle_mode=SettleMode.both)
    assert run(both, contract(mixed))[0][0].marks == (AttemptMark.failed,)


def test_the_judge_grades_over_its_own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k")
    says: dict[str, Any] = {"type": "message", "content": [{"type": "text", "text": "8"}]}
    says |= {"stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 1}}

    async def work() -> tuple[list[EvalCaseResults], ExperimentReport, int]:
        async with LocalHttp(always(Answer(says))) as judge, LocalHttp(contract()) as service:
            results, report = await ExperimentRunner.run(
                setup(EvalCase(id="c", turn="hi", expected="it greets"), repeats=3),
                ContractHttpConfig(url=service.url),
                judge=JudgeConfig(model="m", base_url=judge.url, api_key="env:JUDGE_KEY"),
            )
            return results, report, len(judge.seen)

    (one,), report, asked = asyncio.run(work())
    assert [attempt.result.grade for attempt in one.attempts if attempt.result] == [8, 8, 8]
    assert (report.scored, asked) == (3, 3)
    assert report.counts.judge_prompt_tokens == 15


def test_every_reason_not_to_start_comes_at_once_and_nothing_is_asked() -> None:
    cases = (
        phrase("twin"),
        phrase("twin"),
        phrase("c", setup=Fixture(name="x")),
        EvalCase(id="j", turn="hi"),
    )
    asked: list[str] = []

    async def watched(seen: Seen) -> Answer:
        asked.append(seen.path)
        return await contract()(seen)

    with pytest.raises(ExperimentRefusedError) as caught:
        run(setup(*cases, lanes=999, repeats=0), watched)
    codes = {refusal.code for refusal in caught.value.refusals}
    assert {"duplicate_case", "unknown_fixture", "missing_service", "lanes", "repeats"} <= codes
    assert asked == ["/capabilities"]


def test_a_target_nobody_answers_for_is_a_refusal_with_its_sentence() -> None:
    async def work() -> None:
        await ExperimentRunner.run(setup(phrase("c")), ContractHttpConfig(url="http://127.0.0.1:9"))

    with pytest.raises(ExperimentRefusedError, match="no connection"):
        asyncio.run(work())


def test_hostile_replies_reach_the_results_as_they_were_said() -> None:
    hostile = "thirty days \x00 \ud800 ‮ <script>"
    (one,), _, _ = run(setup(phrase("c")), contract(Answer({"reply": hostile})))
    assert one.marks == (AttemptMark.passed,)
    assert one.attempts[0].evidence is not None
    assert one.attempts[0].evidence.reply == hostile


def test_two_runs_never_share_an_idempotency_key() -> None:
    keys = [
        seen.json["idempotency_key"]
        for _ in range(2)
        for seen in run(setup(phrase("good"), repeats=3), contract(mixed))[2].paths("/submit")
    ]
    assert len(set(keys)) == len(keys) == 6


def test_an_experiment_needs_neither_django_nor_the_judges_sdk() -> None:
    code = (
        "import sys; import experiments.runner.experiment, experiments.targets.opening; "
        "print(sorted({'django', 'anthropic', 'scipy'} & sys.modules.keys()))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_the_language_of_replies_can_be_graded_without_naming_a_detector() -> None:
    dutch = "De verhuurder moet de waarborgsom binnen veertien dagen terugbetalen."
    asks = setup(phrase("a", criteria=(CriterionSpec(kind="reply.language", params={"language": "nl"}),)))
    _, report, _ = run(asks, contract(Answer({"reply": dutch})))
    assert (report.passed, report.judged) == (1, 1)
