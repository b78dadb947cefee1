"""Text that may hold anything: NUL, lone surrogates, a megabyte, right-to-left marks.

Replies come from systems under test, so no character may break storing, hashing or comparing them.
"""

import hashlib
import json
import re
from typing import Any

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def to_json(value: Any) -> str:
    """`value` as canonical JSON: sorted keys, no spaces, characters as they are, encodable as UTF-8.

    NUL and lone surrogates are written as `\\uXXXX` escapes, so reading the text back gives the same value.
    Raises `ValueError` for NaN or infinity (JSON has neither) and `TypeError` for what JSON cannot hold.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable(text: str, limit: int | None = None) -> str:
    """`text` for a database text column: NUL and lone surrogates become U+FFFD, at most `limit` characters.

    A text that had to be cut ends in "…", which counts towards `limit`.
    """
    clean = _UNSTORABLE.sub(REPLACEMENT, text if limit is None else text[: limit + 1])
    if limit is None or len(clean) <= limit:
        return clean
    return clean[: max(limit - 1, 0)] + "…"[:limit]


def is_storable(text: str) -> bool:
    """Whether `printable` would leave `text` as it is, length apart."""
    return _UNSTORABLE.search(text) is None


def squeeze(text: str) -> str:
    """`text` with each run of whitespace as one space and none at the ends."""
    return " ".join(text.split())


def is_blank(text: str | None) -> bool:
    """Whether there is nothing to read: no text, or whitespace only."""
    return text is None or not text.strip()


def sha256_of(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of `value`; a text is hashed as it is."""
    text = value if isinstance(value, str) else to_json(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def percent(share: float, digits: int = 1) -> str:
    """A share from 0 to 1 as "79.3%". Only exactly 0 reads 0% and only exactly 1 reads 100%."""
    if share in (0, 1):
        return f"{share:.0%}"
    step = 10.0**-digits
    return f"{min(max(100 * share, step), 100 - step):.{digits}f}%"


def plural(count: int, one: str, many: str | None = None) -> str:
    """`count` with its noun: "1 case", "2 cases"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
