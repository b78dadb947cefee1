"""Where a request comes from, believing only our own proxies."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The caller's address. `EVALSITE_PROXIES` says how many entries of X-Forwarded-For our proxies wrote.

    Entries further left come from the caller, who could otherwise pick a new address for each guess.
    """
    peer = str(request.META.get("REMOTE_ADDR", ""))
    if not settings.PROXIES:
        return peer
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    if len(hops) < settings.PROXIES:
        return peer
    found = hops[-settings.PROXIES]
    try:
        return str(ipaddress.ip_address(found))
    except ValueError:
        return peer


def on_this_machine(request: HttpRequest) -> bool:
    """True when the caller sits on this machine and no proxy speaks for somebody else."""
    if settings.PROXIES or "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ipaddress.ip_address(str(request.META.get("REMOTE_ADDR", ""))).is_loopback
    except ValueError:
        return False
