"""The few lines of HTTP the demo's two servers share: JSON in, JSON out, one error shape."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

MAX_BODY = 4_000_000

_PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    422: "Unprocessable Content",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

Handler = Callable[[dict[str, Any]], dict[str, Any]]
ErrorBody = Callable[[int, str], dict[str, Any]]


class HttpError(Exception):
    """Answered with `status` and a body that holds `detail`."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def json_app(
    routes: dict[tuple[str, str], Handler],
    error_body: ErrorBody,
    authorise: Callable[[WSGIEnvironment], None],
) -> WSGIApplication:
    """A WSGI application of `(method, path) -> handler`. A handler gets the JSON object that was sent.

    Whatever goes wrong is answered as JSON; a handler's own exception is a 500 without its text.
    """
    paths = {path for _, path in routes}

    def answer(environ: WSGIEnvironment) -> tuple[int, dict[str, Any]]:
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        try:
            handler = routes.get((method, path))
            if handler is None:
                raise HttpError(405 if path in paths else 404, f"no {method} on this path")
            authorise(environ)
            return 200, handler(_read_object(environ) if method == "POST" else {})
        except HttpError as refused:
            return refused.status, error_body(refused.status, refused.detail)
        except Exception:
            # The thread must live on, and the caller gets no stack trace.
            return 500, error_body(500, "the demo server met an error of its own")

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        status, body = answer(environ)
        # ASCII with escapes: a lone surrogate in a text that is given back stays sendable.
        payload = json.dumps(body).encode("ascii")
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(payload)))]
        start_response(f"{status} {_PHRASES.get(status, 'Error')}", headers)
        return [payload]

    return app


def bearer(token: str | None) -> Callable[[WSGIEnvironment], None]:
    """A check of `Authorization: Bearer <token>`; every request passes when `token` is None."""
    wanted = f"Bearer {token}".encode()

    def check(environ: WSGIEnvironment) -> None:
        sent = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1", "replace")
        if token is not None and not hmac.compare_digest(sent, wanted):
            raise HttpError(401, "a valid bearer token is required")

    return check


def text_field(body: dict[str, Any], name: str) -> str:
    """`body[name]` when it is a string; HttpError 422 otherwise."""
    value = body.get(name)
    if not isinstance(value, str):
        raise HttpError(422, f"{name} must be a string")
    return value


def _read_object(environ: WSGIEnvironment) -> dict[str, Any]:
    raw = environ["wsgi.input"].read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise HttpError(413, f"a body has at most {MAX_BODY:,} bytes")
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HttpError(400, "the body is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise HttpError(400, "the body is not a JSON object")
    return value
