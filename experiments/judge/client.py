"""The judge over Anthropic's Messages API, by the real SDK.

The SDK is told not to retry (``max_retries=0``): when a call is made again is decided by the runner.
It uses httpx2, refuses httpx clients and would build its own SSL context, so it gets a client of ours.
"""

import asyncio
import ssl
from collections.abc import Awaitable
from typing import Any, TypeGuard, TypeVar

import anthropic
import httpx2
from anthropic.types import Message, TextBlock, ToolUseBlock

from experiments.evaluation import (
    GradeRequest,
    JudgeError,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
    printable,
)
from experiments.judge.prompts import LABEL_TOOL, label_message, label_system
from experiments.wire.judge import JudgeConfig
from experiments.wire.secrets import redact

DEFAULT_URL = "https://api.anthropic.com"
T = TypeVar("T")

_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_SAID_LIMIT = 200


class JudgeCallError(JudgeError):
    """A judge call that gave no answer, with what the retry policy asks (as ``TargetError`` has it)."""

    def __init__(
        self, detail: str, *, permanent: bool, retry_after: float | None = None, timed_out: bool = False
    ) -> None:
        super().__init__(detail, permanent=permanent)
        self.retry_after = retry_after
        self.timed_out = timed_out


class AnthropicJudge:
    """One judge model, for one event loop: make it there, ``aclose`` it there.

    It keeps nothing between calls; one call is one request. ``api_key`` is the resolved secret.
    """

    def __init__(self, config: JudgeConfig, api_key: str, ssl_context: ssl.SSLContext) -> None:
        self._config = config
        self._api_key = api_key
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            # Always given: the SDK would otherwise take a URL from the environment.
            base_url=config.base_url or DEFAULT_URL,
            max_retries=0,
            timeout=config.total_seconds,
            http_client=httpx2.AsyncClient(
                verify=ssl_context,
                trust_env=False,
                follow_redirects=False,
                timeout=config.total_seconds,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
            ),
        )

    @property
    def model(self) -> str:
        """The model's name as configured; a run pins it."""
        return self._config.model

    async def grade(self, request: GradeRequest) -> JudgeReply:
        """The model's whole text. ``declined`` when it stopped by refusing. JudgeError otherwise."""
        message = await self._ask(messages=[_user(request.prompt)])
        text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
        prompt_tokens, completion_tokens = _usage(message)
        return JudgeReply(
            text=text,
            declined=message.stop_reason == "refusal",
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )

    async def label(self, request: JudgeRequest) -> JudgeResult:
        """The label given through the one tool the model must use; JudgeError when it gave none."""
        message = await self._ask(
            system=printable(label_system(request)),
            messages=[_user(label_message(request.transcript))],
            tools=[_label_tool(request.allowed_labels)],
            tool_choice={"type": "tool", "name": LABEL_TOOL},
        )
        if message.stop_reason == "refusal":
            raise JudgeError(f"the judge {self.model} declined to judge", permanent=True)
        given = [block.input for block in message.content if isinstance(block, ToolUseBlock)]
        answer = given[0] if len(given) == 1 and isinstance(given[0], dict) else {}
        label, reason = answer.get("label"), answer.get("reason", "")
        if not isinstance(label, str) or not isinstance(reason, str):
            raise JudgeError(f"the judge {self.model} answered without one readable label", permanent=True)
        prompt_tokens, completion_tokens = _usage(message)
        return JudgeResult(
            label=label, reason=reason, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )

    async def aclose(self) -> None:
        """Close the connections. Safe to call twice."""
        await self._client.close()

    async def _ask(self, **request: Any) -> Message:
        create = self._client.messages.create(
            model=self.model, max_tokens=self._config.max_tokens, stream=False, **request
        )
        message = await self._within_time(create)
        if not _is_sound(message):
            detail = f"the judge's endpoint gave no Messages API answer for {self.model}; check its base_url"
            raise JudgeCallError(detail, permanent=True)
        return message

    async def _within_time(self, call: Awaitable[T]) -> T:
        seconds = self._config.total_seconds
        late = f"the judge {self.model} did not answer within {seconds:g} s"
        try:
            async with asyncio.timeout(seconds):
                return await call
        except (TimeoutError, anthropic.APITimeoutError):
            raise JudgeCallError(late, permanent=False, timed_out=True) from None
        except anthropic.APIConnectionError:
            detail = f"no connection to the judge {self.model}; check its base_url and the network"
            raise JudgeCallError(detail, permanent=False) from None
        except anthropic.APIStatusError as error:
            raise self._refused(error) from None
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError, TypeError, RecursionError) as error:
            # The SDK parses leniently and fails in many ways on an answer that is none.
            detail = f"the judge {self.model} gave an answer that could not be read ({type(error).__name__})"
            raise JudgeCallError(detail, permanent=True) from None

    def _refused(self, error: anthropic.APIStatusError) -> JudgeCallError:
        status = error.status_code
        wait = error.response.headers.get("retry-after", "").strip()
        retry_after = min(float(wait[:10]), 3600.0) if wait.isascii() and wait.isdigit() else None
        if status in (401, 403):
            variable = self._config.api_key.removeprefix("env:")
            detail = f"the judge {self.model} refused the key in {variable} (status {status})"
        elif status == 429:
            detail = f"the judge {self.model} asked us to slow down (status 429); use fewer lanes"
        elif status in _TRANSIENT:
            detail = f"the judge {self.model} failed (status {status})"
        else:
            said = redact(_said(error.body), self._api_key)
            detail = f"the judge {self.model} refused the request (status {status}{said})"
        return JudgeCallError(detail, permanent=status not in _TRANSIENT, retry_after=retry_after)


def _said(body: object) -> str:
    """The API's own message of an error body, for 4xx answers: it names the wrong model or parameter."""
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return f": {printable(message, _SAID_LIMIT)}" if isinstance(message, str) and message else ""


def _is_sound(message: object) -> TypeGuard[Message]:
    """Whether this is a message all the way down: the SDK builds one from anything without a look."""
    if not isinstance(message, Message) or not isinstance(message.content, list):
        return False
    for block in message.content:
        if not isinstance(getattr(block, "type", None), str):
            return False
        if isinstance(block, TextBlock) and not isinstance(getattr(block, "text", None), str):
            return False
        if isinstance(block, ToolUseBlock) and not hasattr(block, "input"):
            return False
    return True


def _user(text: str) -> dict[str, str]:
    # UTF-8 cannot carry a lone surrogate; the judge then reads U+FFFD in its place.
    return {"role": "user", "content": printable(text)}


def _label_tool(labels: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": LABEL_TOOL,
        "description": "Give the one label that fits the transcript, and why in one or two sentences.",
        "input_schema": {
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "label": {"type": "string", "enum": list(labels)},
            },
            "required": ["reason", "label"],
        },
    }


def _usage(message: Message) -> tuple[int | None, int | None]:
    """Prompt and completion tokens; cached prompt tokens are prompt tokens. None: not reported."""
    usage = getattr(message, "usage", None)
    sent = getattr(usage, "input_tokens", None)
    got = getattr(usage, "output_tokens", None)
    cached = [
        getattr(usage, name, None) for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    prompt = sent + sum(n for n in cached if isinstance(n, int)) if isinstance(sent, int) else None
    return prompt, got if isinstance(got, int) else None
