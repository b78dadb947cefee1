"""Starts the demo's two servers in threads of this process, and ends them cleanly."""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.server import create_server

from experiments.demo.desk import Desk
from experiments.demo.messages import messages_app
from experiments.demo.service import service_app

SERVICE_THREADS = 64
MESSAGES_THREADS = 16


class DemoServerError(RuntimeError):
    """A demo server could not be started; the message is one sentence for the person who starts it."""


class ServerThread:
    """A waitress server in a thread. Port 0 takes a free one; `port` says which."""

    def __init__(self, app: WSGIApplication, host: str, port: int, *, threads: int, name: str) -> None:
        # More requests than threads is a normal moment in a run with many lanes, not a warning.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        listening = _listen(host, port, name)
        self.host = host
        self.port: int = listening.getsockname()[1]
        self._map: dict[int, Any] = {}
        self._server = create_server(
            app,
            map=self._map,
            sockets=[listening],
            threads=threads,
            ident="evalsite-demo",
            connection_limit=1000,
            max_request_body_size=8_000_000,
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to give to clients, without a trailing slash."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def close(self) -> None:
        """Answers what is being answered (5 s at most), then closes every connection. Twice is once."""
        if self._stopping.is_set():
            return
        self._server.task_dispatcher.shutdown(timeout=5)
        self._stopping.set()
        self._server.pull_trigger()
        self._thread.join(timeout=5)

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set():
                wasyncore.loop(timeout=1.0, map=self._map, count=1)
            self._send_what_is_left()
        finally:
            wasyncore.close_all(self._map, ignore_all=True)

    def _send_what_is_left(self) -> None:
        """Answers that are made and not yet on the wire leave before the connections close (1 s at most)."""
        give_up = time.monotonic() + 1.0
        while time.monotonic() < give_up and any(
            getattr(channel, "total_outbufs_len", 0) for channel in self._map.values()
        ):
            wasyncore.loop(timeout=0.05, map=self._map, count=1)


def _listen(host: str, port: int, name: str) -> socket.socket:
    try:
        if not 0 <= port <= 65_535:
            # getaddrinfo would quietly take the port modulo 65,536.
            raise OSError(errno.EINVAL, "no such port")
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as unknown:
        raise DemoServerError(
            f"The {name} cannot listen on {host} port {port}: no such address."
        ) from unknown
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as refused:
        listening.close()
        why = "it is in use" if refused.errno == errno.EADDRINUSE else (refused.strerror or "refused").lower()
        raise DemoServerError(f"The {name} cannot listen on {host} port {port}: {why}.") from refused
    return listening


@dataclass(frozen=True, slots=True)
class DemoServices:
    """Both running servers: the system under test and the judge's endpoint."""

    service: ServerThread
    messages: ServerThread

    @property
    def service_url(self) -> str:
        return self.service.url

    @property
    def messages_url(self) -> str:
        return self.messages.url

    def close(self) -> None:
        """Stops both; may be called twice."""
        self.service.close()
        self.messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_demo_services(
    host: str = "127.0.0.1",
    service_port: int = 0,
    messages_port: int = 0,
    *,
    seed: int = 0,
    pace: float = 1.0,
    token: str | None = None,
) -> DemoServices:
    """Starts the demo service and the demo judge; they listen when this returns.

    Port 0 takes a free port. `seed` and `pace` are the desk's (see :class:`Desk`), `token` is the service's
    bearer token. Raises DemoServerError, and leaves nothing running, when a port cannot be had.
    """
    desk = Desk(seed=seed, pace=pace)
    earlier = Desk(seed=seed, pace=pace, handbook=desk.handbook, earlier=True)
    service = ServerThread(
        service_app(desk, token, earlier),
        host,
        service_port,
        threads=SERVICE_THREADS,
        name="demo service",
    )
    try:
        messages = ServerThread(
            messages_app(), host, messages_port, threads=MESSAGES_THREADS, name="demo judge"
        )
    except DemoServerError:
        service.close()
        raise
    return DemoServices(service, messages)
