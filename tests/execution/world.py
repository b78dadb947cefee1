"""A run to drive: a desk that answers by what it is asked, an experiment that asks it, and lanes at work."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from django.db import connection

from experiments import models as m
from experiments.evaluation import (
    Cause,
    Citation,
    CriterionStatus,
    EvaluationResult,
    Evidence,
    Failure,
    SettledBy,
    Turn,
    Verdict,
)
from experiments.execution import attempts, dispatch, lanes, leases
from experiments.execution.attempts import Claim, Hold
from experiments.execution.recording import Place
from experiments.execution.setting import Cases
from experiments.mapping import search_of
from experiments.runner.ports import FinishedAttempt, PlannedAttempt
from tests.factories import (
    NOWHERE,
    make_case,
    make_experiment,
    make_grading,
    make_run,
    make_suite,
    make_target,
)
from tests.local_http import Answer, LocalHttp, Seen, served

T = TypeVar("T")
TEMPLATE = "{replay_history}{simulation_history}{system_output}{expected_outcome} SCORE: REASON:"
_numbers = count(1)


# -- the system under test ----------------------------------------------------------------------------------


@dataclass
class Desk:
    """Answers "yes ..." with what was expected, "no ..." with something else, "silent ..." with nothing,
    "broken ..." with a 500; every answer takes `seconds`.

    Until `hold` is set, texts that begin with `held` get no answer. `asked` counts submits by idempotency
    key; `most` is how many were answered at once at most.
    """

    seconds: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    now: int = 0
    most: int = 0
    hold: threading.Event | None = None
    held: str = ""
    server: LocalHttp | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    async def respond(self, seen: Seen) -> Answer:
        name = seen.path.strip("/")
        if name == "submit":
            return await self._submit(seen)
        return Answer({"capabilities": {"version": "4"}, "prepare": {"session_id": "s"}}.get(name, {}))

    async def _submit(self, seen: Seen) -> Answer:
        text = seen.json["text"]
        self.asked[seen.json["idempotency_key"]] += 1
        self.texts[text] += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
            while self.hold is not None and text.startswith(self.held) and not self.hold.is_set():
                await asyncio.sleep(0.01)
        finally:
            self.now -= 1
        if text.startswith("broken"):
            return Answer("<html>no</html>", status=500, kind="text/html")
        reply = {"yes": "within thirty days", "no": "I do not know", "silent": " "}[text.split()[0]]
        return Answer(
            {
                "reply": reply,
                "citations": [{"id": "desk/1", "quote": "thirty"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 4},
            }
        )


@contextmanager
def open_desk(**fields: Any) -> Iterator[Desk]:
    """A desk behind a real HTTP server."""
    desk = Desk(**fields)
    with served(desk.respond) as server:
        desk.server = server
        yield desk
        if desk.hold is not None:
            desk.hold.set()


# -- what is asked ------------------------------------------------------------------------------------------


def experiment_for(url: str, turns: list[str], **fields: Any) -> m.Experiment:
    """An experiment that starts: one case a turn, settled by the phrase "thirty days"."""
    number = next(_numbers)
    suite = make_suite(**fields.pop("version", {}))
    for position, turn in enumerate(turns):
        make_case(suite, f"case-{position}", turn=turn, required_phrases=["thirty days"])
    rubric = m.Rubric.objects.create(name=f"judge-{number}")
    rubric.current = m.RubricVersion.objects.create(
        rubric=rubric, number=1, fingerprint="f", template=TEMPLATE
    )
    rubric.save()
    policy = m.Policy.objects.create(name=f"desk-{number}")
    policy.current = m.PolicyVersion.objects.create(policy=policy, number=1, fingerprint="f", text="Be kind.")
    policy.save()
    return make_experiment(suite=suite, target=make_target(url=url), rubric=rubric, policy=policy, **fields)


@dataclass
class Planned:
    """A run as rows, ready to be claimed."""

    run: m.Run
    grading: m.Grading
    cases: list[m.Case]

    @property
    def place(self) -> Place:
        return Place(self.run.pk, self.grading.pk, float(self.run.attempt_seconds))

    def states(self) -> Counter[str]:
        return Counter(self.run.attempts.values_list("state", flat=True))

    def case_result(self, index: int = 0) -> m.CaseResult:
        return m.CaseResult.objects.get(grading=self.grading, case=self.cases[index])


def plan(cases: int = 2, repeats: int = 2, lanes: int = 4, **run_fields: Any) -> Planned:
    """A run whose attempts are all PENDING; nothing is dispatched."""
    suite = make_suite()
    made = [make_case(suite, f"case-{number}", required_phrases=["thirty days"]) for number in range(cases)]
    experiment = make_experiment(suite=suite, lanes=lanes, repeats=repeats)
    run = make_run(
        experiment,
        **{
            "lanes": lanes,
            "repeats": repeats,
            "requested": cases * repeats,
            "target_config": NOWHERE,
            "started_at": None,
            **run_fields,
        },
    )
    grading = make_grading(run)
    versions = {version.case_id: version for version in m.CaseVersion.objects.filter(case__in=made)}
    for position, case in enumerate(made):
        version = versions[case.pk]
        m.CaseResult.objects.create(
            grading=grading,
            case=case,
            case_version=version,
            graded_version=version,
            position=position,
            requested=repeats,
            search=search_of(Cases()(version.pk)),
        )
    for number in range(1, repeats + 1):
        for case in made:
            m.Attempt.objects.create(run=run, case=case, case_version=versions[case.pk], number=number)
    return Planned(run, grading, made)


def begun_group(planned: Planned) -> Hold:
    """A lane group of the run that has begun, with as many lanes as allocation gives it."""
    dispatch.allocate(planned.run.pk)
    waiting = m.LaneGroup.objects.filter(run=planned.run, state="waiting").order_by("id")[0]
    hold = leases.begin_group(waiting.pk, waiting.epoch)
    assert hold is not None
    return hold


def asked(hold: Hold, number: int) -> list[Claim]:
    """So many attempts, claimed and begun."""
    claims = attempts.claim(hold, number)
    assert len(claims) == number
    assert len(attempts.begin(hold, [(claim.attempt_id, claim.tries) for claim in claims])) == number
    return claims


# -- what comes back ----------------------------------------------------------------------------------------


def finished(claim: Claim, passed: bool = True, **changes: Any) -> FinishedAttempt:
    """A claim with a reply, graded by its phrase; `changes` replace fields of the FinishedAttempt."""
    case = Cases()(claim.case_version_id)
    evidence = Evidence(
        turns=(
            Turn(
                prompt=case.turn,
                reply="within thirty days",
                citations=(Citation(id="desk/1"),),
                prompt_tokens=10,
                completion_tokens=4,
                seconds=0.2,
            ),
        )
    )
    result = EvaluationResult.passed if passed else EvaluationResult.failed
    fields = {
        "planned": PlannedAttempt(claim.attempt_id, case, claim.number, claim.tries, "key"),
        "evidence": evidence,
        "failure": None,
        "result": result("because", evaluator="contains-all", settled_by=SettledBy.contains_all),
        "seconds": 0.5,
        "started": datetime.now(UTC),
    }
    return FinishedAttempt(**{**fields, **changes})


def by_criteria(*statuses: CriterionStatus, **fields: Any) -> EvaluationResult:
    """A result settled by criteria of these statuses, which passes when all do."""
    verdicts = tuple(
        Verdict(status=status, kind=f"reply.kind-{position}", detail=f"detail {position}")
        for position, status in enumerate(statuses)
    )
    passed = all(status is CriterionStatus.PASS for status in statuses)
    result = EvaluationResult.passed if passed else EvaluationResult.failed
    return result(
        "by criteria",
        **{"evaluator": "criteria", "settled_by": SettledBy.criteria, "verdicts": verdicts, **fields},
    )


def not_reached(claim: Claim, cause: Cause = Cause.NO_REPLY) -> FinishedAttempt:
    """A claim that ended without a reply."""
    failure = Failure(cause=cause, detail="nothing came")
    return finished(claim, evidence=None, result=None, failure=failure)


# -- threads ------------------------------------------------------------------------------------------------


class Other(threading.Thread):
    """A function in a thread with a database connection of its own; `result()` gives what it gave."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._value: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error
        finally:
            connection.close()

    def result(self, seconds: float = 20) -> Any:
        self.join(seconds)
        assert not self.is_alive(), "the thread did not end in time"
        if self._error is not None:
            raise self._error
        return self._value


def drive_all(run: m.Run) -> None:
    """Drive every group of the run in this thread, one after the other, until none waits."""
    while True:
        waiting = m.LaneGroup.objects.filter(run=run, state="waiting").first()
        if waiting is None:
            return
        lanes.drive(waiting.pk, waiting.epoch)
