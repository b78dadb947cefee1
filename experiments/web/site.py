"""What belongs to no page: the choice of colours, and the answers to "are you alive" and "can you work"."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from experiments.web.forms import ThemeForm

A_YEAR = 365 * 24 * 3600


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the reader's choice of colours in a cookie and go back; anything else changes nothing."""
    form = ThemeForm(request.POST)
    valid = form.is_valid()
    there = form.cleaned_data.get("next", "")
    if not url_has_allowed_host_and_scheme(there, allowed_hosts=None, require_https=request.is_secure()):
        there = reverse("web:home")
    response = HttpResponseRedirect(there)
    if valid:
        response.set_cookie(
            "theme",
            form.cleaned_data["theme"],
            max_age=A_YEAR,
            samesite="Lax",
            httponly=True,
            secure=settings.SESSION_COOKIE_SECURE,
        )
    return response


@require_safe
@never_cache
def healthz(_request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> HttpResponse:
    """This process can work: its database answers and has this version's tables. 503 with why if not."""
    reason = _unready()
    text, status = (reason, 503) if reason else ("ready", 200)
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")


def _unready() -> str:
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "the database does not answer"
    return "the database is older than this version: run migrate" if waiting else ""
