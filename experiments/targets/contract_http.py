"""A service that implements the HTTP target contract (``docs/target-contract.md``).

One instance is one lane's client. It speaks through ``httpx.AsyncHTTPTransport`` and not through
``httpx.AsyncClient``: a client would keep the service's cookies from one attempt to the next, and costs
0.2 ms CPU more a request. The transport follows no redirects and reads no proxy from the environment.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic_core import from_json

from experiments.evaluation import EvalSetup
from experiments.targets.base import Capabilities, Ready, Reply, SetupFailed, Target, TargetError
from experiments.targets.http_errors import broken_connection, wrong_media_type, wrong_status
from experiments.wire.body import BodyError
from experiments.wire.secrets import redact
from experiments.wire.target import (
    CapabilitiesBody,
    ContractHttpConfig,
    PrepareReply,
    SubmitReply,
    prepare_request,
)

_PATHS = ("/capabilities", "/prepare", "/submit", "/release")
CONTRACT = "see docs/target-contract.md"
MAX_DEPTH = 64
"""Deeper nesting in a free-form value is refused: later JSON writers recurse."""

_REDACTED_LENGTH = 8
# A shorter token would be replaced in the middle of ordinary words of a reply.


class ContractHttpTarget(Target):
    """One lane's client of a contract service. ``token`` is the resolved secret, never shown again.

    The base class is a protocol; naming it makes the type checker compare the two.
    """

    def __init__(self, config: ContractHttpConfig, ssl_context: ssl.SSLContext, token: str | None) -> None:
        self._config = config
        self._token = token
        root = httpx.URL(config.url)
        base = urlsplit(config.url).path
        # Made once: taking a URL apart costs a tenth of a whole request.
        self._urls = {path: root.copy_with(path=base + path) for path in _PATHS}
        self._transport = httpx.AsyncHTTPTransport(
            verify=ssl_context, trust_env=False, limits=httpx.Limits(max_connections=1)
        )
        self._headers = [
            (b"host", root.netloc),
            (b"accept", b"application/json"),
            # A compressed answer could be a thousand times its size on the wire.
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"evalsite"),
        ]
        if token is not None:
            self._headers.append((b"authorization", b"Bearer " + token.encode("ascii")))
        self._extensions = {
            "timeout": {
                "connect": config.connect_seconds,
                "read": config.read_seconds,
                "write": config.read_seconds,
                "pool": config.connect_seconds,
            }
        }
        self._has_release = True

    async def capabilities(self) -> Capabilities:
        raw, _ = await self._call("GET", "/capabilities", None)
        try:
            body = CapabilitiesBody.read(raw)
        except BodyError as broken:
            raise self._misfit("GET /capabilities", broken) from None
        return Capabilities(body.version, body.fixtures, body.breakable_tools, body.emittable_nodes)

    async def prepare(self, setup: EvalSetup) -> Ready | SetupFailed:
        request = prepare_request(setup).model_dump(mode="python")
        raw, _ = await self._call("POST", "/prepare", request)
        try:
            body = PrepareReply.read(raw)
        except BodyError as broken:
            raise self._misfit("POST /prepare", broken) from None
        if body.session_id is not None:
            return Ready(body.session_id)
        return SetupFailed(redact(body.failed or "", self._token))

    async def submit(self, session_id: str, text: str, idempotency_key: str) -> Reply:
        request = {"session_id": session_id, "text": text, "idempotency_key": idempotency_key}
        raw, whole = await self._call("POST", "/submit", request, partly=True)
        if not whole:
            return self._part_of_reply(raw)
        raw, notes = self._without_token(raw)
        try:
            return _reply(SubmitReply.read(raw), notes)
        except BodyError as broken:
            raise self._misfit("POST /submit", broken) from None

    async def release(self, session_id: str) -> None:
        if not self._has_release:
            return
        try:
            await self._call("POST", "/release", {"session_id": session_id}, may_be_empty=True)
        except TargetError as error:
            # The contract leaves /release out; asking a service again that lacks it costs a call an attempt.
            self._has_release = not error.permanent
            raise

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        partly: bool = False,
        may_be_empty: bool = False,
    ) -> tuple[bytes, bool]:
        """The answer's body and whether it is whole; an overlong one is an error unless ``partly``."""
        name = f"{method} {path}"
        total = self._config.total_seconds
        try:
            async with asyncio.timeout(total):
                raw, whole = await self._exchange(method, path, body, name, may_be_empty)
        except TimeoutError:
            detail = f"{name} did not finish within {total:g} s; is it stuck, or total_seconds too low?"
            raise TargetError(detail, permanent=False, timed_out=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            connect, read = self._config.connect_seconds, self._config.read_seconds
            raise broken_connection(name, error, connect, read) from None
        if not whole and not partly:
            raise TargetError(f"{name} {self._too_long()}", permanent=True)
        if not raw.strip() and not may_be_empty:
            raise TargetError(
                f"{name} answered with an empty body instead of JSON; {CONTRACT}", permanent=True
            )
        return raw, whole

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None, name: str, may_be_empty: bool
    ) -> tuple[bytes, bool]:
        headers = self._headers
        content = b""
        if body is not None:
            # ASCII JSON carries NUL and lone surrogates as escapes, which UTF-8 could not.
            content = json.dumps(body).encode("ascii")
            length = str(len(content)).encode("ascii")
            headers = [*headers, (b"content-type", b"application/json"), (b"content-length", length)]
        request = httpx.Request(
            method,
            self._urls[path],
            headers=headers,
            stream=httpx.ByteStream(content),
            extensions=self._extensions,
        )
        response = await self._transport.handle_async_request(request)
        try:
            refused = wrong_status(name, response, has_token=self._token is not None)
            if refused is None and not may_be_empty:
                refused = wrong_media_type(name, response)
            if refused is not None:
                raise refused
            return await self._read(response)
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response) -> tuple[bytes, bool]:
        most = self._config.max_reply_bytes
        chunks: list[bytes] = []
        size = 0
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for chunk in response.stream:
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                return b"".join(chunks)[:most], False
        return b"".join(chunks), True

    def _too_long(self) -> str:
        most = self._config.max_reply_bytes
        return f"answered with more than {most:,} bytes and was cut there; raise max_reply_bytes if need be"

    def _part_of_reply(self, raw: bytes) -> Reply:
        """What can be read of an overlong answer: kept as evidence, never graded."""
        try:
            found = from_json(self._without_token(raw)[0], allow_partial="trailing-strings")
        except ValueError:
            found = None
        text = found.get("reply") if isinstance(found, dict) else None
        return Reply(
            text if isinstance(text, str) else None,
            notes=(f"POST /submit {self._too_long()}",),
            incomplete=True,
        )

    def _without_token(self, raw: bytes) -> tuple[bytes, tuple[str, ...]]:
        """A service that echoes our token must not bring it into stored evidence."""
        if self._token is None or len(self._token) < _REDACTED_LENGTH:
            return raw, ()
        token = self._token.encode("ascii")
        if token not in raw:
            return raw, ()
        return raw.replace(token, b"***"), ("the service's answer held our token; it was replaced by ***",)

    def _misfit(self, name: str, broken: BodyError) -> TargetError:
        detail = f"{name}: the answer {broken}; {CONTRACT}"
        return TargetError(redact(detail, self._token), permanent=True)


def _reply(body: SubmitReply, notes: tuple[str, ...]) -> Reply:
    """The contract's body as a value; BodyError when a free-form value nests too deeply."""
    free = [body.end_state, *((call.arguments, call.result) for call in body.tools_called or ())]
    if _deeper_than(free, MAX_DEPTH):
        raise BodyError(f"nests deeper than {MAX_DEPTH} levels")
    usage = body.usage
    return Reply(
        body.reply,
        node=body.node,
        citations=tuple(citation.value() for citation in body.citations or ()),
        refusal_code=body.refusal_code,
        tools_called=None if body.tools_called is None else tuple(one.value() for one in body.tools_called),
        model_calls=None if body.model_calls is None else tuple(one.value() for one in body.model_calls),
        context=None if body.context is None else tuple(one.value() for one in body.context),
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        end_state=body.end_state,
        failure=body.failure,
        cached=body.cached,
        notes=notes,
    )


def _deeper_than(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most + 2):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list | tuple)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True
