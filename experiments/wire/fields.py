"""Field types that several configurations share."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field


def _base_url(value: str) -> str:
    # No part of the value enters a message: a URL with a password in it is the mistake this catches.
    try:
        parts = urlsplit(value.strip())
        port = parts.port
    except ValueError as broken:
        raise ValueError("is not a URL") from broken
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("must be an http or https URL with a host")
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password; use token: env:NAME")
    if parts.query or parts.fragment:
        raise ValueError("must not hold a query or fragment")
    if any(character.isspace() or ord(character) < 32 for character in value.strip()):
        raise ValueError("must not hold white space")
    return value.strip().rstrip("/")


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""An http(s) URL without credentials, query or trailing slash."""

Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
"""A duration in seconds, at most an hour."""
