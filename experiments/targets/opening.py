"""From a stored configuration to a lane's own client."""

import functools
import ssl
from collections.abc import Mapping

from experiments.targets.base import Target, TargetError
from experiments.targets.contract_http import ContractHttpTarget
from experiments.wire.secrets import SecretError, resolve_secret
from experiments.wire.target import TargetConfig


@functools.cache
def shared_ssl_context() -> ssl.SSLContext:
    """The process's one client context, on the machine's own authorities: building one takes 10 ms."""
    return ssl.create_default_context()


def open_target(
    config: TargetConfig,
    ssl_context: ssl.SSLContext | None = None,
    environ: Mapping[str, str] | None = None,
) -> Target:
    """A client for one lane, to be used and closed in one event loop. Connects at its first call.

    TargetError (permanent) when the token's variable is unset or its value cannot be a header.
    """
    token = None
    if config.token is not None:
        try:
            token = resolve_secret(config.token, environ)
        except SecretError as missing:
            raise TargetError(f"the target's token: {missing}", permanent=True) from None
        if not (token.isascii() and token.isprintable()):
            variable = config.token.removeprefix("env:")
            raise TargetError(
                f"the target's token in {variable} holds characters no header can", permanent=True
            )
    return ContractHttpTarget(config, ssl_context or shared_ssl_context(), token)
