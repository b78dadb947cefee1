"""A real HTTP server on 127.0.0.1 that answers as a test says, misbehaves on purpose, counts what it saw."""

import asyncio
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """``raw`` is written as it is instead of a whole response; ``close`` ends the connection after it."""

    body: bytes | str | dict[str, Any] = b""
    status: int = 200
    kind: str | None = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    close: bool = False

    def encoded(self) -> bytes:
        if self.raw is not None:
            return self.raw
        body = json.dumps(self.body) if isinstance(self.body, dict) else self.body
        content = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {self.status} x", f"content-length: {len(content)}"]
        lines += [f"content-type: {self.kind}"] if self.kind else []
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


Respond = Callable[[Seen], Awaitable[Answer]]


class LocalHttp:
    """``async with LocalHttp(respond) as server``: ``.url``, ``.seen``, ``.most_at_once``."""

    def __init__(self, respond: Respond, tls: ssl.SSLContext | None = None) -> None:
        self._respond = respond
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.seen: list[Seen] = []
        self.now = 0
        self.most_at_once = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**24, ssl=self._tls)
        scheme = "https" if self._tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def paths(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.path == path]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        seen = Seen(method, path, headers, body)
        self.seen.append(seen)
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        try:
            answer = await self._respond(seen)
        finally:
            self.now -= 1
        writer.write(answer.encoded())
        await writer.drain()
        return not answer.close


def always(answer: Answer) -> Respond:
    """The same answer to everything."""

    async def respond(seen: Seen) -> Answer:
        return answer

    return respond


def contract(submit: Respond | Answer | None = None, **paths: Answer) -> Respond:
    """A well-behaved contract service, but for what the test replaces."""

    async def respond(seen: Seen) -> Answer:
        name = seen.path.strip("/")
        if name in paths:
            return paths[name]
        if name == "submit" and submit is not None:
            return submit if isinstance(submit, Answer) else await submit(seen)
        usual = {
            "capabilities": {"version": "1"},
            "prepare": {"session_id": "s1"},
            "submit": {"reply": "hello"},
            "release": {},
        }
        return Answer(usual[name])

    return respond


@contextmanager
def served(respond: Respond) -> Iterator[LocalHttp]:
    """The same server in a thread with a loop of its own, for tests that are not coroutines."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = LocalHttp(respond)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
