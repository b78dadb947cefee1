"""Plain far ends for the runner's tests: a scripted target, a source and a sink in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from experiments.evaluation import EvalCase, EvalSetup, EvaluationResult, Evidence, NoSetup, SettledBy
from experiments.runner.ports import Exhausted, FinishedAttempt, PlannedAttempt
from experiments.targets.base import Capabilities, Ready, Reply, SetupFailed

Say = Callable[[str, str], Awaitable[Reply]]


@dataclass
class ScriptedTarget:
    """Answers each submit by ``say(text, key)``; counts how many calls are open at once over all lanes."""

    say: Say
    made: Ready | SetupFailed | Exception = field(default_factory=lambda: Ready("s1"))
    log: list[tuple[str, ...]] = field(default_factory=list)
    closed: int = 0

    async def capabilities(self) -> Capabilities:
        return Capabilities("test")

    async def prepare(self, setup: EvalSetup) -> Ready | SetupFailed:
        self.log.append(("prepare", setup.kind))
        if isinstance(self.made, Exception):
            raise self.made
        return self.made

    async def submit(self, session_id: str, text: str, idempotency_key: str) -> Reply:
        self.log.append(("submit", text, idempotency_key))
        return await self.say(text, idempotency_key)

    async def release(self, session_id: str) -> None:
        self.log.append(("release", session_id))

    async def aclose(self) -> None:
        self.closed += 1


async def hello(text: str, key: str) -> Reply:
    return Reply(f"you said {text}")


def planned(number: int = 1, *, turn: str = "hi", setup: EvalSetup | None = None) -> PlannedAttempt:
    case = EvalCase(id="case", turn=turn, setup=setup or NoSetup(), required_phrases=("hi",))
    return PlannedAttempt(id=number, case=case, number=number, tries=1, key=f"run1-{number}")


def a_pass(reason: str = "") -> EvaluationResult:
    return EvaluationResult.passed(reason, evaluator="test", settled_by=SettledBy.contains_all)


async def passes(planned: PlannedAttempt, evidence: Evidence, started: datetime) -> EvaluationResult:
    return a_pass()


class ListSource:
    """Hands out a list, then is exhausted; ``claims`` records what was asked and given."""

    def __init__(self, attempts: Sequence[PlannedAttempt]) -> None:
        self.left = list(attempts)
        self.claims: list[tuple[int, int]] = []
        self.returned: list[PlannedAttempt] = []

    async def claim(self, n: int) -> Sequence[PlannedAttempt]:
        assert n >= 1
        if not self.left:
            raise Exhausted
        taken, self.left = self.left[:n], self.left[n:]
        self.claims.append((n, len(taken)))
        await asyncio.sleep(0)
        return taken

    async def give_back(self, attempts: Sequence[PlannedAttempt]) -> None:
        self.returned += attempts


class ListSink:
    """Keeps what it gets; ``refuse`` names attempts whose claim is lost."""

    def __init__(self, refuse: frozenset[int] = frozenset()) -> None:
        self.refuse = refuse
        self.begun: list[int] = []
        self.finished: list[FinishedAttempt] = []

    async def begin(self, planned: PlannedAttempt) -> bool:
        self.begun.append(planned.id)
        return planned.id not in self.refuse

    async def finish(self, finished: FinishedAttempt) -> None:
        self.finished.append(finished)
