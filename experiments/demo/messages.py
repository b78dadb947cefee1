"""A local Messages API endpoint for the demo: the real anthropic client runs against it, no model is behind
it.

`POST /v1/messages` with Anthropic's request and response bodies (source: the public Messages API reference),
for plain text and for structured answers (a forced tool, or `output_config.format` with a JSON schema). Any
key that is not empty is accepted. Streaming is refused.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from experiments.demo.judge_script import LABEL, ScriptedJudge
from experiments.demo.wsgi import HttpError, json_app

_ERROR_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    500: "api_error",
}


def messages_app(judge: ScriptedJudge | None = None) -> WSGIApplication:
    """The endpoint as a WSGI application."""
    judge = judge or ScriptedJudge()

    def create(body: dict[str, Any]) -> dict[str, Any]:
        model, prompt = _read_request(body)
        content, stop_reason = _answer(judge, body, prompt)
        return {
            "id": f"msg_demo_{hashlib.sha256(prompt.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [content],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": _tokens(prompt), "output_tokens": _tokens(json.dumps(content))},
        }

    return json_app({("POST", "/v1/messages"): create}, _error_body, _require_key)


def _answer(judge: ScriptedJudge, body: dict[str, Any], prompt: str) -> tuple[dict[str, Any], str]:
    """The content block and the stop reason."""
    tool, schema = _structured(body)
    if schema is None:
        graded = judge.grade(prompt)
        return {"type": "text", "text": graded.text}, "refusal" if graded.declined else "end_turn"
    filled = _filled(judge, schema, prompt)
    if tool is None:
        return {"type": "text", "text": json.dumps(filled)}, "end_turn"
    return {"type": "tool_use", "id": "toolu_demo_1", "name": tool, "input": filled}, "tool_use"


def _structured(body: dict[str, Any]) -> tuple[str | None, dict[str, Any] | None]:
    """The tool to call (None for a text answer) and the JSON schema of a structured answer, when one is
    asked."""
    tools = body.get("tools")
    if isinstance(tools, list) and tools and isinstance(tools[0], dict):
        schema = tools[0].get("input_schema")
        return str(tools[0].get("name", "")), schema if isinstance(schema, dict) else None
    output = body.get("output_config")
    wanted = output.get("format") if isinstance(output, dict) else body.get("output_format")
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    return None, schema if isinstance(schema, dict) else None


def _filled(judge: ScriptedJudge, schema: dict[str, Any], prompt: str) -> dict[str, Any]:
    """An object for a schema of one field with an `enum` (the label) and others that are text."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        raise HttpError(400, "the schema has no properties")
    filled: dict[str, Any] = {}
    why = f"{LABEL} no label was asked for."
    for name, wanted in properties.items():
        labels = wanted.get("enum") if isinstance(wanted, dict) else None
        if isinstance(labels, list) and labels:
            filled[name], why = judge.label(prompt, [str(label) for label in labels])
    return {name: filled.get(name, why) for name in properties}


def _read_request(body: dict[str, Any]) -> tuple[str, str]:
    """The model named and all text that was sent, joined."""
    model, messages, most = body.get("model"), body.get("messages"), body.get("max_tokens")
    if not isinstance(model, str) or not model:
        raise HttpError(400, "model: Field required")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise HttpError(400, "max_tokens: Input should be a whole number from 1")
    if not isinstance(messages, list) or not messages:
        raise HttpError(400, "messages: at least one message is required")
    if body.get("stream"):
        raise HttpError(400, "stream: the demo endpoint does not stream")
    parts = [_text(body.get("system"))]
    for message in messages:
        if not isinstance(message, dict):
            raise HttpError(400, "messages: Input should be an object")
        parts.append(_text(message.get("content")))
    return model, "\n".join(part for part in parts if part)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)


def _require_key(environ: WSGIEnvironment) -> None:
    if not (environ.get("HTTP_X_API_KEY") or environ.get("HTTP_AUTHORIZATION")):
        raise HttpError(401, "x-api-key header is required")


def _error_body(status: int, detail: str) -> dict[str, Any]:
    kind = _ERROR_TYPES.get(status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": f"{detail} (demo endpoint)"}}


def _tokens(text: str) -> int:
    return (len(text) + 3) // 4
