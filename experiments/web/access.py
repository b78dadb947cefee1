"""Who may open a page, decided before the view runs: one decorator on every page of the site."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from experiments.models import Permission, User

P = ParamSpec("P")


class Request(HttpRequest):
    """A request past the decorator: signed in, and with htmx's details."""

    user: User
    htmx: HtmxDetails


View = Callable[Concatenate[Request, P], HttpResponseBase]


def allow(permission: Permission, *methods: str) -> Callable[[View[P]], View[P]]:
    """Let only people with `permission` in, by GET and HEAD unless other `methods` are named.

    Nobody signed in: to the sign-in page and back. Signed in without the permission: 403. A request by htmx
    gets an order to go there instead, so that neither page ever lands inside a table.
    """
    allowed = methods or ("GET", "HEAD")

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def checked(request: Request, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if _is_anonymous(request):
                return _to_sign_in(request)
            if not request.user.may(permission):
                if request.htmx:
                    return HttpResponseClientRedirect(_here(request))
                raise PermissionDenied
            if request.method not in allowed:
                return HttpResponseNotAllowed(allowed)
            return view(request, *args, **kwargs)

        return checked

    return decorate


def _is_anonymous(request: HttpRequest) -> bool:
    return not request.user.is_authenticated


def _to_sign_in(request: Request) -> HttpResponse:
    if request.htmx:
        return HttpResponseClientRedirect(f"{reverse('web:sign_in')}?{urlencode({'next': _here(request)})}")
    # What a POST asked for is not asked again by a GET after signing in.
    return redirect_to_login(request.get_full_path() if request.method == "GET" else reverse("web:home"))


def _here(request: Request) -> str:
    """The page the reader is on: what htmx says, as a path of this site, or the home page."""
    return request.htmx.current_url_abs_path or reverse("web:home")
