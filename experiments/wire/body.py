"""What every document from outside shares: tolerant bodies and one JSON reader.

``json`` reads lone surrogates and NUL where pydantic's own JSON reader refuses them, so a hostile reply
is data here and never a crash.
"""

import json
import math
from typing import Any, NoReturn, Self

from pydantic import ConfigDict, ValidationError

from experiments.evaluation.base import FrozenModel, JsonObject, JsonValue
from experiments.evaluation.evidence import Citation, ModelCall, Passage, Seconds, Tokens, ToolCall


class BodyError(ValueError):
    """A body that is no such document; the message is one sentence without the body's own text."""


def _refuse_constant(name: str) -> NoReturn:
    raise BodyError(f"holds {name}, which is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BodyError("holds a number that is too large")
    return number


def read_json(raw: bytes | str) -> Any:
    """The JSON value of ``raw`` (UTF-8 when bytes, BOM allowed); BodyError for anything else.

    NaN and Infinity are refused; numbers of absurd length and nesting deeper than Python's stack too.
    """
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError as broken:
        raise BodyError(f"is not UTF-8 (byte {broken.start + 1})") from broken
    except json.JSONDecodeError as broken:
        line = f"line {broken.lineno}, " if broken.lineno > 1 else ""
        raise BodyError(f"is not JSON: {broken.msg} at {line}column {broken.colno}") from broken
    except RecursionError as broken:
        raise BodyError("is nested too deeply") from broken
    except BodyError:
        raise
    except ValueError as broken:
        raise BodyError("holds a number that is too long") from broken


class Body(FrozenModel):
    """A document another service sends: unknown fields are left out, values are never echoed in errors."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    @classmethod
    def read(cls, raw: bytes | str) -> Self:
        """The document in ``raw``; BodyError with every offending path otherwise."""
        value = read_json(raw)
        if not isinstance(value, dict):
            raise BodyError("is not a JSON object")
        try:
            return cls.model_validate(value)
        except ValidationError as refused:
            where = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'body'}: {problem['msg']}"
                for problem in refused.errors(include_input=False, include_url=False)[:10]
            )
            raise BodyError(f"does not follow the contract: {where}") from refused


class CitationBody(Body):
    """One cited source: ``{id, quote?}``."""

    id: str
    quote: str | None = None

    def value(self) -> Citation:
        return Citation(id=self.id, quote=self.quote)


class ToolCallBody(Body):
    """One tool call as the service reports it: ``{name, arguments, result?, failed?}``."""

    name: str
    arguments: JsonObject = {}
    result: JsonValue = None
    failed: bool = False

    def value(self) -> ToolCall:
        return ToolCall(name=self.name, arguments=self.arguments, result=self.result, failed=self.failed)


class ModelCallBody(Body):
    """One call to a language model behind the service; None means not recorded, never zero."""

    model: str | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    seconds: Seconds | None = None

    def value(self) -> ModelCall:
        return ModelCall(
            model=self.model,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=self.seconds,
        )


class PassageBody(Body):
    """One retrieved passage: ``{id, text}``."""

    id: str
    text: str = ""

    def value(self) -> Passage:
        return Passage(id=self.id, text=self.text)
