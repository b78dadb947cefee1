"""The site as one parent and its children: granian for the pages, two Celery workers, beat.

A child that ends by itself is started again; one that keeps ending stops the whole with one sentence.
Children die with their parent: the kernel tells them, whatever happened to it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from django.conf import settings

from evalsite.local import private_file
from evalsite.serving import StartError

START_SECONDS = 30
STOP_SECONDS = 15
SHORTEST_LIFE = 10.0
"""A child that lived shorter than this, in seconds, is not started again."""


@dataclass
class Child:
    """One program of the site."""

    name: str
    arguments: list[str]
    # Granian must end its own workers; the others hold nothing that the sweep would not bring back.
    at_parents_death: signal.Signals = signal.SIGKILL
    process: subprocess.Popen[bytes] | None = None
    since: float = field(default=0.0)

    def start(self) -> None:
        """Start it in a process group of its own, so that a Ctrl-C reaches it through us, once."""
        wrapper = [sys.executable, "-m", "evalsite.serving.child", str(os.getpid())]
        # What it says before its log stands, or as it dies, is kept beside the log and not on the terminal.
        with private_file(settings.VAR_DIR / "log" / f"{self.name}.stderr") as errors:
            self.process = subprocess.Popen(  # noqa: S603
                [*wrapper, str(int(self.at_parents_death)), sys.executable, *self.arguments],
                cwd=settings.BASE_DIR,
                env={
                    **os.environ,
                    "EVALSITE_LOG_NAME": self.name,
                    "DJANGO_SETTINGS_MODULE": "evalsite.settings",
                },
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self.since = time.monotonic()


def web_arguments(port: int) -> list[str]:
    """Granian over WSGI on the loopback interface."""
    workers = "2" if (os.cpu_count() or 1) > 1 else "1"
    return (
        f"-m granian --interface wsgi --host 127.0.0.1 --port {port} --workers {workers}"
        " --blocking-threads 4 --no-ws --log-level warning --workers-kill-timeout 5 evalsite.wsgi:application"
    ).split()


def worker_arguments(queue: str, threads: int) -> list[str]:
    """A Celery worker on one queue, quiet, without the chatter between workers."""
    return (
        f"-m celery -A evalsite -q worker -P threads -Q {queue} -c {threads} -n {queue}@%h"
        " --without-gossip --without-mingle --without-heartbeat --loglevel WARNING"
    ).split()


def family() -> list[Child]:
    """Every program of the site."""
    return [
        Child("web", web_arguments(settings.PORT), signal.SIGTERM),
        Child("worker-lanes", worker_arguments("lanes", settings.LANES_THREADS)),
        Child("worker-quick", worker_arguments("quick", settings.QUICK_THREADS)),
        Child(
            "beat", ["-m", "celery", "-A", "evalsite", "-q", "beat", "--loglevel", "WARNING", "--pidfile="]
        ),
    ]


def serve(bound: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve until SIGINT or SIGTERM. True when every child ended by itself in time. Raises StartError."""
    # Granian opens the port itself; until here it was held so that nobody else took it.
    bound.close()
    stop = threading.Event()
    _stop_by_signal(stop)
    children = family()
    try:
        for child in children:
            child.start()
        _wait_for_web(children, stop)
        if not stop.is_set():
            ready()
        while not stop.wait(0.2):
            _look_after(children)
    finally:
        rested = _end(children)
    return rested


def _look_after(children: list[Child]) -> None:
    for child in children:
        if child.process is None or child.process.poll() is None:
            continue
        if time.monotonic() - child.since < SHORTEST_LIFE:
            raise StartError(
                f"The process {child.name} ended with code {child.process.returncode} soon after its start;"
                f" see {settings.VAR_DIR / 'log'}."
            )
        child.start()


def _wait_for_web(children: list[Child], stop: threading.Event) -> None:
    until = time.monotonic() + START_SECONDS
    while not stop.wait(0.05):
        _look_after(children)
        try:
            with socket.create_connection(("127.0.0.1", settings.PORT), timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise StartError(f"The pages did not answer within {START_SECONDS} s.") from None


def _end(children: list[Child]) -> bool:
    """SIGTERM to all, SIGKILL to those that stay longer than STOP_SECONDS."""
    living = [child.process for child in children if child.process and child.process.poll() is None]
    for process in living:
        process.terminate()
    until = time.monotonic() + STOP_SECONDS
    rested = True
    for process in living:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            rested = False
            process.kill()
            process.wait()
    return rested


def _stop_by_signal(stop: threading.Event) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
