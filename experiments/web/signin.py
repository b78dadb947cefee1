"""Signing in: by password (throttled) or by the one-use link that the start of the site prints."""

from __future__ import annotations

from django.contrib.auth import authenticate, get_user_model, login
from django.contrib.auth.views import LoginView, LogoutView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from experiments.web.addresses import on_this_machine

LINK_REFUSED = (
    "This link has been used or is older than ten minutes. A new start of the site prints a fresh one."
)
LINK_ELSEWHERE = "A sign-in link works only in a browser on the machine that runs the site."


@require_GET
@never_cache
def sign_in_by_link(request: HttpRequest) -> HttpResponse:
    """Sign in the owner of the token, once, from this machine only; else show the sign-in page with why."""
    if not on_this_machine(request):
        return _refuse(request, LINK_ELSEWHERE)
    with transaction.atomic():
        user = authenticate(request, sesame=request.GET.get("token", "")[:200])
        if user is not None:
            # Two clicks at once: whoever holds the row first moves `last_login`, which ends the token.
            get_user_model().objects.select_for_update().get(pk=user.pk)
            user = authenticate(request, sesame=request.GET.get("token", ""))
        if user is None:
            return _refuse(request, LINK_REFUSED)
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("web:home")


def _refuse(request: HttpRequest, reason: str) -> HttpResponse:
    view = LoginView(template_name="sign_in.html")
    view.setup(request)
    context = view.get_context_data(link_refusal=reason)
    return render(request, "sign_in.html", context, status=403)


urlpatterns = [
    path("sign-in/", LoginView.as_view(template_name="sign_in.html"), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("link/", sign_in_by_link, name="link"),
]
