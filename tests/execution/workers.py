"""Real Celery workers for tests: processes over Redis, or a worker in a thread over the broker in memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import current_app
from celery.signals import worker_ready
from celery.worker import state
from django.conf import settings

from tests.sites import ROOT

START_SECONDS = 60
STOP_SECONDS = 30


def until(condition: Callable[[], bool], seconds: float = 30, pause: float = 0.02) -> None:
    """Wait for the condition; fail when it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(pause)


def over_redis() -> bool:
    """Whether this test run was given a broker that other processes reach."""
    return bool(settings.BROKER_URL.startswith("redis"))


class Worker:
    """`celery worker` as a process of its own, on both queues."""

    def __init__(self, environment: dict[str, str], name: str, pool: str = "threads") -> None:
        self._process = subprocess.Popen(
            [
                *[sys.executable, "-m", "celery", "-A", "evalsite", "worker", "-P", pool],
                *["-Q", "lanes,quick", "-c", "4", "-n", f"{name}@%h", "--loglevel", "WARNING"],
                *["--without-gossip", "--without-mingle", "--without-heartbeat"],
            ],
            cwd=ROOT,
            env={**environment, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """kill -9, and the process is gone."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_SECONDS)

    def stop(self) -> float:
        """SIGTERM; the seconds until it had ended by itself."""
        before = time.monotonic()
        self._process.terminate()
        self._process.wait(STOP_SECONDS)
        return time.monotonic() - before

    def ended(self) -> tuple[int, str]:
        """Wait for it to end; its code and what it printed."""
        said, _ = self._process.communicate(timeout=START_SECONDS)
        return self._process.returncode, said

    def close(self) -> None:
        """Whatever it is doing, it ends."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate(timeout=STOP_SECONDS)


@contextmanager
def worker_processes(environment: dict[str, str], *names: str) -> Iterator[list[Worker]]:
    """Workers that listen; they end with the context."""
    current_app.control.purge()
    workers = [Worker(environment, name) for name in names]
    try:
        until(lambda: len(current_app.control.ping(timeout=0.5) or []) >= len(names), START_SECONDS)
        yield workers
    finally:
        for worker in workers:
            worker.close()


@contextmanager
def worker_in_thread(threads: int = 4) -> Iterator[None]:
    """A worker of this process on both queues, as the embedded site has them, over the broker in memory."""
    ready = threading.Event()

    def is_ready(consumer: Any) -> None:
        worker_ready.send(sender=consumer)
        ready.set()

    worker = current_app.WorkController(
        app=current_app,
        hostname="test@here",
        queues=["lanes", "quick"],
        pool_cls="threads",
        concurrency=threads,
        ready_callback=is_ready,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    thread = threading.Thread(target=worker.start, daemon=True)
    thread.start()
    try:
        assert ready.wait(START_SECONDS)
        yield
    finally:
        state.should_stop = 0  # type: ignore[assignment]  # stubs: the initial None
        thread.join(STOP_SECONDS)
        state.should_stop = None
        assert not thread.is_alive()
