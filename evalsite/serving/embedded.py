"""The whole site in one process: waitress in the main thread, two Celery workers and beat in threads.

Celery's own `Worker` program installs signal handlers and prints a banner; the `WorkController` underneath
does neither, so Ctrl-C and SIGTERM stay ours.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.conf import settings

from evalsite.serving import StartError

WEB_THREADS = 8
START_SECONDS = 20
STOP_SECONDS = 10


class Workers:
    """Two workers and beat of this process."""

    def __init__(self) -> None:
        # serve has just run them; each worker would run them again.
        os.environ["CELERY_SKIP_CHECKS"] = "1"
        self._threads: list[threading.Thread] = []
        self._beat: Any = None

    def start(self) -> None:
        """Start both workers, one after the other, then beat. Raises StartError."""
        # The choice of queues lies on the application and is read when a worker connects: they take turns.
        self._start_worker("lanes", settings.LANES_THREADS)
        self._start_worker("quick", settings.QUICK_THREADS)
        from celery import beat

        from evalsite.celery import app

        # The embedded service does not read the setting and would keep a file in the working directory.
        self._beat = beat.EmbeddedService(app, thread=True, scheduler_cls=settings.CELERY_BEAT_SCHEDULER)
        self._beat.start()

    def _start_worker(self, queue: str, threads: int) -> None:
        from celery.signals import worker_ready

        from evalsite.celery import app

        ready = threading.Event()

        def is_ready(consumer: Any) -> None:
            worker_ready.send(sender=consumer)
            ready.set()

        worker = app.WorkController(
            app=app,
            hostname=f"{queue}@{socket.gethostname()}",
            queues=[queue],
            pool_cls="threads",
            concurrency=threads,
            ready_callback=is_ready,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        thread = threading.Thread(target=worker.start, name=f"worker-{queue}", daemon=True)
        thread.start()
        self._threads.append(thread)
        if not ready.wait(START_SECONDS):
            raise StartError(f"The worker for {queue} did not start within {START_SECONDS} s; see the log.")

    def stop(self, seconds: float) -> bool:
        """Ask every task to hand its work back, wait at most `seconds`; False when one is still at it."""
        from celery.signals import worker_shutting_down
        from celery.worker import state

        until = time.monotonic() + seconds
        # As `celery worker` does on SIGTERM: tasks that listen let go, then the consumers leave their loops.
        worker_shutting_down.send(sender="evalsite", sig="SIGTERM", how="Warm", exitcode=0)
        state.should_stop = 0  # type: ignore[assignment]  # stubs: the initial None
        if self._beat is not None:
            threading.Thread(target=self._beat.stop, daemon=True).start()
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def serve(bound: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve until SIGINT or SIGTERM. `ready` runs once requests are answered. True when all came to rest."""
    import waitress

    from evalsite.wsgi import application

    server = waitress.create_server(
        application,
        sockets=[bound],
        threads=WEB_THREADS,
        ident="evalsite",
        # Whether a proxy spoke matters to the sign-in link, so its headers must stay visible.
        clear_untrusted_proxy_headers=False,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 64 * 1024 * 1024,
    )
    _stop_by_signal()
    workers = Workers()
    try:
        # Requests that come before the workers stand wait in the backlog for a few tenths of a second.
        workers.start()
        ready()
        server.run()
    except (SystemExit, KeyboardInterrupt):
        pass
    finally:
        _impatient()
        bound.close()
        rested = workers.stop(STOP_SECONDS)
    return rested


def _stop_by_signal() -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


def _impatient() -> None:
    """A second Ctrl-C ends at once; what was in flight comes back by its lease."""

    def end(_number: int, _frame: FrameType | None) -> None:
        os._exit(130)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
