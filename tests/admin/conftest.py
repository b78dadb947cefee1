"""Who asks, and a suite to ask about."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.forms import FileField, Textarea
from django.test import Client

from experiments.models import Case, Role, Suite
from tests.factories import make_case, make_suite, make_user

As = Callable[[str], Client]


@pytest.fixture
def as_(db: None) -> As:
    """A browser signed in with this role; "stranger" has none, "anonymous" is not signed in."""

    def browser(role: str) -> Client:
        client = Client()
        if role != "anonymous":
            client.force_login(
                make_user(Role.STRANGER if role == "stranger" else role),
                backend="django.contrib.auth.backends.ModelBackend",
            )
        return client

    return browser


@pytest.fixture
def author(as_: As) -> Client:
    return as_(Role.AUTHOR)


@pytest.fixture
def admin(as_: As) -> Client:
    return as_(Role.ADMIN)


@pytest.fixture
def suite(db: None) -> Suite:
    """A suite with one criterion and one message."""
    return make_suite(
        "refunds",
        criteria=[{"kind": "run.no_failure", "params": {}, "weight": None, "gate": False}],
        messages={"no_advice": "I do not give legal advice."},
    )


@pytest.fixture
def case(suite: Suite) -> Case:
    """A case that required phrases settle."""
    return make_case(
        suite,
        "objection-period",
        turn="How long do I have to object?",
        expected="the reply says six weeks",
        required_phrases=["six weeks"],
        sources={"required": [["hb/art:1", "hb/art:1/par:1"]]},
        tags=["objections"],
    )


def typed(browser: Client, url: str, /, **fields: str) -> dict[str, str]:
    """The form at `url` as a browser would send it back, with some fields typed anew."""
    form = browser.get(url).context["form"]
    sent = {}
    for name, field in form.fields.items():
        value = form[name].value()
        if field.disabled or value is False or isinstance(field, FileField):
            continue
        text = "on" if value is True else "" if value is None else str(value)
        # A browser sends line ends as CR LF, and none at all from a field of one line.
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        textarea = isinstance(field.widget, Textarea)
        sent[name] = text.replace("\n", "\r\n") if textarea else text.replace("\n", "")
    return {**sent, **fields}
