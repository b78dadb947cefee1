"""The demo's system under test: the target contract (`docs/target-contract.md`) over HTTP, for real.

`GET /capabilities`, `POST /prepare`, `POST /submit`, `POST /release`. It answers from the handbook and from a
script; no model is behind it. What it does on purpose is in `topics.py`, how in `desk.py`.
"""

from __future__ import annotations

import threading
from typing import Any
from wsgiref.types import WSGIApplication

from experiments.demo.desk import Desk, DeskError
from experiments.demo.wsgi import Handler, HttpError, bearer, json_app, text_field

EARLIER = "/0.9"
"""The path under which the release before this one still answers."""


def service_app(
    desk: Desk | None = None, token: str | None = None, earlier: Desk | None = None
) -> WSGIApplication:
    """The service as a WSGI application; with `token` every request needs that bearer token.

    `earlier` answers below `EARLIER`, so that a run of each release can be compared.
    """
    routes = _routes(desk or Desk())
    if earlier is not None:
        routes |= {(method, EARLIER + path): handler for (method, path), handler in _routes(earlier).items()}
    return json_app(routes, lambda _status, detail: {"error": detail}, bearer(token))


def _routes(desk: Desk) -> dict[tuple[str, str], Handler]:
    def capabilities(_body: dict[str, Any]) -> dict[str, Any]:
        # Whoever asks what the desk can do will ask it something: its index is ready by then.
        threading.Thread(target=desk.handbook.warm, name="demo-index", daemon=True).start()
        return desk.capabilities()

    def prepare(body: dict[str, Any]) -> dict[str, Any]:
        setup = body.get("setup")
        if not isinstance(setup, dict):
            raise HttpError(422, "setup must be an object")
        return _translated(lambda: desk.prepare(setup))

    def submit(body: dict[str, Any]) -> dict[str, Any]:
        session_id, text = text_field(body, "session_id"), text_field(body, "text")
        key = text_field(body, "idempotency_key")
        return _translated(lambda: desk.submit(session_id, text, key))

    def release(body: dict[str, Any]) -> dict[str, Any]:
        session_id = text_field(body, "session_id")
        return _translated(lambda: desk.release(session_id))

    return {
        ("GET", "/capabilities"): capabilities,
        ("POST", "/prepare"): prepare,
        ("POST", "/submit"): submit,
        ("POST", "/release"): release,
    }


def _translated(call: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = call()
    except DeskError as refused:
        raise HttpError(refused.status, refused.detail) from refused
    return answer
