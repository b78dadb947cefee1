"""Secrets are references to environment variables (``env:CLAIMS_TOKEN``): never stored, never shown.

Source: the target contract in docs/target-contract.md.
"""

import os
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,127}")


class SecretError(LookupError):
    """A secret reference that cannot be resolved; the message names the variable, never a value."""


def _require_reference(value: str) -> str:
    # The value itself stays out of the message: it may be a secret pasted by mistake.
    if not _REFERENCE.fullmatch(value):
        raise ValueError("must be a reference to an environment variable, such as env:CLAIMS_TOKEN")
    return value


SecretRef = Annotated[str, AfterValidator(_require_reference)]
"""A string of the form ``env:NAME``; the only form of a secret that a configuration may hold."""


def resolve_secret(reference: str, environ: Mapping[str, str] | None = None) -> str:
    """The value behind ``env:NAME``; SecretError when the form is wrong or the variable unset or empty."""
    if not _REFERENCE.fullmatch(reference):
        raise SecretError("a secret must be a reference to an environment variable, such as env:CLAIMS_TOKEN")
    name = reference.removeprefix("env:")
    value = (os.environ if environ is None else environ).get(name, "").strip()
    if not value:
        raise SecretError(f"the environment variable {name} is not set")
    return value


def redact(text: str, *secrets: str | None) -> str:
    """``text`` with every given secret replaced by ``***``, for errors and logs. None and "" are skipped."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return text
