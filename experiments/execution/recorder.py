"""The one recorder of a lane group: finished attempts wait here for a few hundredths of a second, then are
written together. A lane is free as soon as its result is in this queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from django.conf import settings

from experiments.evaluation import EvaluationResult, SettledBy
from experiments.execution.caseresults import CaseOf
from experiments.execution.database import GONE, DatabaseThread
from experiments.execution.recording import Place, record
from experiments.runner.ports import FinishedAttempt

log = logging.getLogger("experiments.execution")

FLUSH_SECONDS = 0.05
"""How long a result waits for others to be written with, on a machine that keeps up."""
LONGEST_FLUSH_SECONDS = 0.5
WRITING_SHARE = 4
"""A result waits so many times longer than the last batch took to write: a slow database is asked less
often for more, and its thread stays free for claims and begins most of the time."""
FLUSH_COUNT = 64
"""So many results are written at once at most."""
QUEUE_LIMIT = 512
"""Lanes wait when so many results are not written yet: a database that is gone must not fill the memory."""


class Recorder:
    """Writes what the lanes finish, in batches, in order. All methods belong to the group's event loop."""

    def __init__(
        self, db: DatabaseThread, place: Place, case_of: CaseOf, let_go: Callable[[int], None]
    ) -> None:
        """`let_go` is called with each attempt's id when it is written, or will never be."""
        self._db, self._place, self._case_of, self._let_go = db, place, case_of, let_go
        self._queue: list[FinishedAttempt] = []
        self._first = asyncio.Event()
        self._full = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False
        self._pause = FLUSH_SECONDS
        self.recorded = 0
        """Attempts this group's recorder has ended."""

    async def put(self, finished: FinishedAttempt) -> None:
        """Take a result; returns when it is in the queue."""
        while len(self._queue) >= QUEUE_LIMIT:
            self._room.clear()
            await self._room.wait()
        self._queue.append(finished)
        self._first.set()
        if len(self._queue) >= FLUSH_COUNT:
            self._full.set()

    def close(self) -> None:
        """No more results will come; `run` returns when the last one is written."""
        self._closing = True
        self._first.set()
        self._full.set()

    async def run(self) -> None:
        """Write until closed."""
        while True:
            await self._first.wait()
            if not self._closing and len(self._queue) < FLUSH_COUNT:
                try:
                    async with asyncio.timeout(self._pause):
                        await self._full.wait()
                except TimeoutError:
                    pass
            batch, self._queue = self._queue[:FLUSH_COUNT], self._queue[FLUSH_COUNT:]
            self._room.set()
            if not self._closing:
                self._full.clear()
                if not self._queue:
                    self._first.clear()
            if batch:
                begun = time.monotonic()
                await self._write(batch)
                took = WRITING_SHARE * (time.monotonic() - begun)
                self._pause = min(max(took, FLUSH_SECONDS), LONGEST_FLUSH_SECONDS)
                for finished in batch:
                    self._let_go(finished.planned.id)
            elif self._closing:
                return

    async def _write(self, batch: Sequence[FinishedAttempt]) -> None:
        try:
            # Longer than a lease is in vain: by then the attempts are somebody else's.
            written = await self._db.patiently(
                settings.LEASE_SECONDS, record, self._place, batch, self._case_of
            )
        except GONE:
            log.exception("%d results could not be written; the attempts are made again", len(batch))
        except Exception:
            await self._write_apart(batch)
        else:
            self.recorded += written
            if written < len(batch):
                log.info("%d results came too late and were dropped", len(batch) - written)

    async def _write_apart(self, batch: Sequence[FinishedAttempt]) -> None:
        """One result the database refuses must not cost its neighbours, nor come back for ever."""
        if len(batch) > 1:
            for finished in batch:
                await self._write([finished])
            return
        (finished,) = batch
        log.exception("the result of attempt %s cannot be stored", finished.planned.id)
        told = EvaluationResult.broke(
            "the evidence or result cannot be stored; see the worker's log",
            evaluator="recorder",
            settled_by=SettledBy.criteria,
        )
        bare = replace(finished, evidence=None, failure=None, result=told)
        try:
            self.recorded += await self._db.patiently(
                settings.LEASE_SECONDS, record, self._place, [bare], self._case_of
            )
        except Exception:
            log.exception("attempt %s could not be ended; its lease runs out", finished.planned.id)
