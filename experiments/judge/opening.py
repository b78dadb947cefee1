"""From a stored configuration to a judge."""

import functools
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.evaluation import JudgeError
from experiments.wire.judge import JudgeConfig
from experiments.wire.secrets import SecretError, resolve_secret

if TYPE_CHECKING:
    from experiments.judge.client import AnthropicJudge


@functools.cache
def _shared_ssl_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def open_judge(
    config: JudgeConfig,
    ssl_context: ssl.SSLContext | None = None,
    environ: Mapping[str, str] | None = None,
) -> "AnthropicJudge":
    """A judge for one event loop, to be closed there. It connects at its first call.

    JudgeError (permanent) when the key's variable is unset or its value cannot be a header.
    """
    try:
        key = resolve_secret(config.api_key, environ)
    except SecretError as missing:
        raise JudgeError(f"the judge's key: {missing}", permanent=True) from None
    if not (key.isascii() and key.isprintable()):
        variable = config.api_key.removeprefix("env:")
        raise JudgeError(f"the judge's key in {variable} holds characters no header can", permanent=True)
    # Here and not above: the SDK takes a second to import, and most processes never judge.
    from experiments.judge.client import AnthropicJudge

    return AnthropicJudge(config, key, ssl_context or _shared_ssl_context())
