"""Signing in: by password (throttled) or by the one-use link that the start of the site prints."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate, get_user_model, login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from experiments.web.addresses import on_this_machine

TEMPLATE = "sign_in.html"
LONGEST_TOKEN = 200
LONGEST_NAME = 150
LINK_REFUSED = (
    "This link has been used or is older than ten minutes. A new start of the site prints a fresh one,"
    " and so does manage.py sign_in_link."
)
LINK_ELSEWHERE = "A sign-in link works only in a browser on the machine that runs the site."
LOCKED_OUT = "Too many wrong passwords for this name. Wait a quarter of an hour."


class SignInForm(AuthenticationForm):
    """Django's form, which lets a name of any length through to the throttle's column of 255 characters."""

    def clean(self) -> dict[str, Any]:
        if len(self.cleaned_data.get("username", "")) > LONGEST_NAME:
            raise self.get_invalid_login_error()
        return super().clean()


@require_GET
@never_cache
def sign_in_by_link(request: HttpRequest) -> HttpResponse:
    """Sign in the owner of the token, once, from this machine only; else show the sign-in page with why."""
    if not on_this_machine(request):
        return _refuse(request, LINK_ELSEWHERE)
    token = request.GET.get("token", "")[:LONGEST_TOKEN]
    with transaction.atomic():
        user = authenticate(request, sesame=token)
        if user is not None:
            # Two clicks at once: whoever holds the row first moves `last_login`, which ends the token.
            get_user_model().objects.select_for_update().get(pk=user.pk)
            user = authenticate(request, sesame=token)
        if user is None:
            return _refuse(request, LINK_REFUSED)
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("web:home")


def locked_out(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """What the throttle answers once a name has had too many wrong passwords from one address."""
    return _refuse(request, LOCKED_OUT, status=429)


def _refuse(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    view = LoginView(template_name=TEMPLATE)
    view.setup(request)
    form = SignInForm(request)
    return render(request, TEMPLATE, view.get_context_data(form=form, link_refusal=reason), status=status)


urlpatterns = [
    path("sign-in/", LoginView.as_view(template_name=TEMPLATE, form_class=SignInForm), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("link/", sign_in_by_link, name="link"),
]
