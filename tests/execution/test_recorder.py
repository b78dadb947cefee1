"""The recorder's queue: small batches soon, full ones at once, nothing forgotten, no memory without end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import OperationalError

from experiments.evaluation import EvalCase, EvaluationResult, Evidence, SettledBy
from experiments.execution import recorder
from experiments.execution.database import DatabaseThread
from experiments.execution.recorder import Recorder
from experiments.execution.recording import Place
from experiments.runner.ports import FinishedAttempt, PlannedAttempt

CASE = EvalCase(id="a", turn="q")


def result(number: int) -> FinishedAttempt:
    planned = PlannedAttempt(number, CASE, 1, 1, "k")
    value = EvaluationResult.passed("yes", evaluator="e", settled_by=SettledBy.judge)
    return FinishedAttempt(planned, Evidence(), None, value, 0.1, datetime.now(UTC))


class Table:
    """Stands in for the database: what was written together, and when."""

    def __init__(self, fails: Callable[[list[int]], Exception | None] = lambda _: None, seconds: float = 0):
        self.batches: list[list[int]] = []
        self.times: list[float] = []
        self._fails, self._seconds = fails, seconds

    def record(self, _place: Place, batch: list[FinishedAttempt], _case_of: Any) -> int:
        time.sleep(self._seconds)
        ids = [finished.planned.id for finished in batch]
        if (error := self._fails(ids)) is not None:
            raise error
        self.batches.append(ids)
        self.times.append(time.monotonic())
        return len(ids)


def recorded(
    table: Table, monkeypatch: pytest.MonkeyPatch, work: Callable[[Recorder], Coroutine[Any, Any, None]]
) -> list[int]:
    """Run `work` with a recorder over the table, close it; the ids that were let go."""
    monkeypatch.setattr(recorder, "record", table.record)
    let_go: list[int] = []

    async def main() -> None:
        db = DatabaseThread("test")
        one = Recorder(db, Place(1, 1, 60.0), lambda _: CASE, let_go.append)
        running = asyncio.create_task(one.run())
        try:
            await work(one)
        finally:
            one.close()
            await running
            db.close()

    asyncio.run(main())
    return let_go


async def put(one: Recorder, *numbers: int) -> None:
    for number in numbers:
        await one.put(result(number))


def test_results_of_the_same_moment_are_written_together_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table()

    async def work(one: Recorder) -> None:
        await put(one, 1, 2)
        await asyncio.sleep(0.3)
        await put(one, 3)
        await asyncio.sleep(0.3)

    before = time.monotonic()
    assert recorded(table, monkeypatch, work) == [1, 2, 3]
    assert table.batches == [[1, 2], [3]]
    assert table.times[0] - before < 0.3


def test_a_full_batch_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 30.0)
    table = Table()

    async def work(one: Recorder) -> None:
        await put(one, *range(recorder.FLUSH_COUNT))
        while not table.batches:
            await asyncio.sleep(0.01)

    assert len(recorded(table, monkeypatch, work)) == recorder.FLUSH_COUNT
    assert [len(batch) for batch in table.batches] == [recorder.FLUSH_COUNT]


def test_closing_writes_what_is_left_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FLUSH_SECONDS", 30.0)
    table = Table()

    async def work(one: Recorder) -> None:
        await put(one, *range(100))

    assert recorded(table, monkeypatch, work) == list(range(100))
    assert [number for batch in table.batches for number in batch] == list(range(100))


def test_a_slow_database_is_asked_less_often_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(seconds=0.1)

    async def work(one: Recorder) -> None:
        for number in range(30):
            await put(one, number)
            await asyncio.sleep(0.03)

    assert len(recorded(table, monkeypatch, work)) == 30
    assert len(table.batches) <= 6


def test_lanes_wait_while_too_much_is_unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "QUEUE_LIMIT", 10)
    gone = [True]
    table = Table(lambda _: OperationalError("gone") if gone[0] else None)

    async def work(one: Recorder) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await put(one, *range(200))
        gone[0] = False

    let_go = recorded(table, monkeypatch, work)
    assert let_go == list(range(len(let_go)))
    assert 10 <= len(let_go) <= 10 + 2 * recorder.FLUSH_COUNT


def test_results_that_cannot_be_written_for_a_lease_are_let_go(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LEASE_SECONDS = 0.2
    table = Table(lambda _: OperationalError("gone"))
    assert recorded(table, monkeypatch, lambda one: put(one, 1, 2)) == [1, 2]
    assert table.batches == []


def test_one_result_that_is_refused_costs_its_neighbours_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(
        lambda ids: ValueError("no") if 2 in ids and table.batches.count([2]) == 0 and apart(ids) else None
    )
    tried: list[list[int]] = []

    def apart(ids: list[int]) -> bool:
        tried.append(ids)
        return tried.count([2]) < 2

    assert recorded(table, monkeypatch, lambda one: put(one, 1, 2, 3)) == [1, 2, 3]
    assert table.batches == [[1], [2], [3]], "the second time bare, as an evaluator that failed"
