"""When a call to the target or the judge is made again: one pure function, one table of tests.

Adapters only say what happened (``permanent``, ``timed_out``, ``retry_after``); SDKs are told not to retry.
"""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``tries`` calls at most (>= 1); the pause before try n + 1 is ``first_pause`` doubled n - 1 times,
    at most ``longest_pause`` (seconds), thinned by up to half so that lanes do not come back together."""

    tries: int = 3
    first_pause: float = 0.5
    longest_pause: float = 30.0


NO_RETRIES = RetryPolicy(tries=1)


def pause_before_retry(
    policy: RetryPolicy,
    made: int,
    *,
    permanent: bool,
    timed_out: bool,
    retry_after: float | None,
    remaining: float,
    spread: float,
) -> float | None:
    """Seconds to wait before the next try, or None for "give up".

    ``made``: tries so far (>= 1). ``retry_after``: what the service asked for, which is never undercut.
    ``remaining``: seconds left to the attempt's deadline; a pause that would not end before it is not
    begun. ``spread``: 0 to 1, see ``spread_of``. A call that timed out is never repeated: the service may
    still be at work on it, and the attempt has had its time.
    """
    if permanent or timed_out or made >= policy.tries:
        return None
    pause = min(policy.first_pause * 2 ** (made - 1), policy.longest_pause) * (0.5 + spread / 2)
    if retry_after is not None:
        pause = max(pause, retry_after)
    return pause if pause < remaining else None


def spread_of(key: str, made: int) -> float:
    """A figure in [0, 1) that differs by attempt and try and is the same in each repetition of a test."""
    digest = hashlib.blake2b(f"{key}.{made}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32
