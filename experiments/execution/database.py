"""A lane group's one database thread.

ORM work of an event loop goes through a pool of exactly one thread that belongs to the loop: asgiref's
`sync_to_async` would send the groups of a whole process through one shared thread, one after the other.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import Error, InterfaceError, OperationalError, close_old_connections, connections

log = logging.getLogger("experiments.execution")

P = ParamSpec("P")
T = TypeVar("T")

GONE = (OperationalError, InterfaceError)
"""What a database that is away, locked or in a deadlock raises; the same statement may work a moment
later."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


class DatabaseThread:
    """Runs functions one after the other in its own thread, which keeps one connection between them.

    Nothing waits for the outside in it, so the connection is never held over such a call by a transaction.
    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `work(...)`, run in the thread. Raises what it raised; after a database error the
        connection is replaced if it no longer works."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: _run(work, *args, **kwargs)
        )

    async def patiently(self, seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(...)`, again with growing pauses while the database is gone, for `seconds` at most."""
        until, pause = time.monotonic() + seconds, FIRST_PAUSE
        while True:
            try:
                return await self(work, *args, **kwargs)
            except GONE as error:
                if time.monotonic() + pause > until:
                    raise
                log.warning("the database is gone (%s); again in %.1f s", type(error).__name__, pause)
                await asyncio.sleep(pause * random.uniform(0.7, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Wait for what was handed in, then close the thread's connection."""
        self._pool.submit(connections.close_all)
        self._pool.shutdown(wait=True)


def _run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return work(*args, **kwargs)
    except Error:
        close_old_connections()
        raise
