"""Regular expressions that users write: length-capped, compiled once at load, searched with a time-out."""

from functools import lru_cache
from typing import Annotated

import regex
from pydantic import AfterValidator

MAX_PATTERN = 1_000
"""Characters of one pattern."""

SEARCH_SECONDS = 1.0
"""For one search; a TimeoutError after it. One second keeps a lane's attempt well inside its deadline."""

# A recursive pattern may eat hundreds of megabytes before its second is over.
_RECURSIVE = regex.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d+|&\w+|P>\w+)\)")


@lru_cache(maxsize=2_048)
def compiled(pattern: str, case_sensitive: bool) -> "regex.Pattern[str]":
    """The compiled pattern; ValueError with the reason when it is none."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a pattern has at most {MAX_PATTERN} characters, this one has {len(pattern)}")
    if _RECURSIVE.search(pattern):
        raise ValueError("recursive patterns are not allowed")
    try:
        return regex.compile(pattern, 0 if case_sensitive else regex.IGNORECASE)
    except regex.error as wrong:
        raise ValueError(f"is no regular expression: {wrong}") from wrong
    except (RecursionError, OverflowError, MemoryError) as wrong:
        raise ValueError("is too deeply nested for a regular expression") from wrong


def _require_pattern(pattern: str) -> str:
    if not pattern:
        raise ValueError("must not be empty")
    compiled(pattern, case_sensitive=False)
    return pattern


UserPattern = Annotated[str, AfterValidator(_require_pattern)]


def occurs(pattern: str, text: str, *, case_sensitive: bool) -> bool:
    """Whether the pattern matches anywhere in the text; TimeoutError after SEARCH_SECONDS."""
    return compiled(pattern, case_sensitive).search(text, timeout=SEARCH_SECONDS) is not None
