"""Status codes, media types and broken connections of HTTP targets, as one sentence each.

No sentence holds anything of the answer's body or of our headers: both may hold secrets.
"""

import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from experiments.targets.base import TargetError

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_WAIT = 3600.0
_KNOWN_TYPES = {"text/html", "text/plain", "text/xml", "application/xml", "application/octet-stream"}


def wrong_status(name: str, response: httpx.Response, *, has_token: bool) -> TargetError | None:
    """The error of a status other than 2xx, or None. ``name`` is method and path, "POST /submit"."""
    status = response.status_code
    if 200 <= status < 300:
        return None
    if status in _TRANSIENT:
        why = (
            "asked us to slow down; use fewer lanes" if status == 429 else "failed; look in the service's log"
        )
        return TargetError(
            f"{name} {why} (status {status})", permanent=False, retry_after=retry_after(response)
        )
    if 300 <= status < 400:
        why = "redirects elsewhere; redirects are not followed, so set the target's URL to the final address"
    elif status in (401, 403):
        token = (
            "refused our token; check the variable it refers to" if has_token else "wants a token; set one"
        )
        why = f"{token} on the target"
    elif status in (404, 405):
        why = "is not there; is the target's URL the base of the target contract?"
    elif status >= 500:
        why = "failed; look in the service's log"
    else:
        why = "refused the request; see docs/target-contract.md"
    return TargetError(f"{name} {why} (status {status})", permanent=True)


def wrong_media_type(name: str, response: httpx.Response) -> TargetError | None:
    """The error of an answer that says it is no plain JSON, or None. A missing type passes."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
    coding = response.headers.get("content-encoding", "identity").strip().casefold()
    if kind and kind != "application/json" and not kind.endswith("+json"):
        shown = kind if kind in _KNOWN_TYPES else "another media type"
        detail = f"{name} answered with {shown} instead of application/json; is this the service's own URL?"
        return TargetError(detail, permanent=True)
    if coding not in ("", "identity"):
        detail = (
            f"{name} answered with a compressed body, which was not asked for; see docs/target-contract.md"
        )
        return TargetError(detail, permanent=True)
    return None


def retry_after(response: httpx.Response) -> float | None:
    """The ``Retry-After`` header in seconds (0 to an hour), from digits or a date; None when unreadable."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:10]), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(value)
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def broken_connection(name: str, error: Exception, connect: float, read: float) -> TargetError:
    """The error of a connection that could not be made, broke or stayed silent (limits in seconds)."""
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        detail = f"{name}: no connection within {connect:g} s; does the service run at the target's URL?"
        return TargetError(detail, permanent=False)
    if isinstance(error, httpx.TimeoutException):
        detail = f"{name} stayed silent for {read:g} s; is it stuck, or read_seconds too low?"
        return TargetError(detail, permanent=False, timed_out=True)
    if _is_certificate(error):
        detail = f"{name}: the service's certificate is not trusted; add its authority to this machine's"
        return TargetError(detail, permanent=True)
    if isinstance(error, httpx.ConnectError):
        detail = f"{name}: no connection; does the service run at the target's URL?"
        return TargetError(detail, permanent=False)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        detail = f"{name} could not be sent; check the target's URL and token for odd characters"
        return TargetError(detail, permanent=True)
    detail = f"{name}: the connection broke before the answer was whole; look in the service's log"
    return TargetError(detail, permanent=False)


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
