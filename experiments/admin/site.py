"""The authoring site: Django's admin, for authors and up, in the frame of the product."""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django_htmx.http import HttpResponseClientRedirect

from experiments.models import Permission

_ELSEWHERE = frozenset(
    {"login", "logout", "password_change", "password_change_done", "autocomplete", "jsi18n"}
)
"""Signing in and out are pages of the product; nothing here fetches lists or scripts of Django's."""

_ORDER = (
    *("suite", "case", "rubric", "policy", "corpus", "corpusunit", "experiment"),
    *("target", "judgemodel", "user", "run", "activity"),
)


class AuthoringSite(AdminSite):
    """Who may author comes in. Nobody signed in is sent to sign in, everybody else gets 403."""

    site_title = "evalsite"
    site_header = "Authoring"
    index_title = "Authoring"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        user = request.user
        return user.is_authenticated and user.may(Permission.AUTHOR)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        protected = view if getattr(view, "csrf_exempt", False) else csrf_protect(view)

        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            if not self.has_permission(request):
                if _by_htmx(request):
                    return HttpResponseClientRedirect(reverse("web:home"))
                raise PermissionDenied
            answer: HttpResponseBase = protected(request, *args, **kwargs)
            return answer

        return update_wrapper(inner if cacheable else never_cache(inner), view)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [url for url in super().get_urls() if getattr(url, "name", None) not in _ELSEWHERE]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The pages in the order of the work, each with its one sentence."""
        apps: list[Any] = super().get_app_list(request, app_label)
        for app in apps:
            for page in app["models"]:
                page["intro"] = getattr(self._registry[page["model"]], "intro", "")
            app["models"].sort(key=lambda page: (_ORDER.index(page["object_name"].lower()), page["name"]))
        return apps

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "here": "Authoring"}


def _to_sign_in(request: HttpRequest) -> HttpResponseBase:
    sign_in = reverse("web:sign_in")
    if _by_htmx(request):
        # A preview belongs to a page: come back to that page, never to the fragment.
        return HttpResponseClientRedirect(f"{sign_in}?{urlencode({'next': request.path})}")
    here = request.get_full_path() if request.method == "GET" else request.path
    return redirect_to_login(here, sign_in)


def _by_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


site = AuthoringSite(name="admin")
