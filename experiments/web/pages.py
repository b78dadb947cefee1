"""How every page is answered: whole, or one part of it when htmx asks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from experiments.models import Permission
from experiments.web.access import Request

STOP_POLLING = 286
"""htmx's own status: swap this once more, then stop asking."""


def page(
    request: Request,
    template: str,
    context: dict[str, Any],
    *,
    here: str = "",
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    """The template with `context`; with `part`, only that partial of it. `here` is an entry of the top bar.

    Pages hold evidence: no cache keeps them, and what htmx gets is never taken for the whole page.
    """
    name = f"{template}#{part}" if part else template
    rights = {"may_operate": request.user.may(Permission.OPERATE)}
    response = render(request, name, {**rights, **context, "here": here}, status=status)
    patch_vary_headers(response, ["HX-Request"])
    response.headers["Cache-Control"] = "no-store, private"
    return response


def wants_part(request: Request) -> bool:
    """True when htmx asks for a piece of the page; going back in the history asks for all of it."""
    return bool(request.htmx) and not request.htmx.history_restore_request
