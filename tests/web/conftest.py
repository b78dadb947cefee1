"""Pages are tested through the real templates and the real database, as each kind of person."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from experiments.models import Experiment, Role, Run
from tests.web.world import MOCK, a_run, a_user, an_experiment


@pytest.fixture
def signed_in(db: None) -> Callable[..., Client]:
    """A browser somebody of this role has signed in with."""

    def as_role(role: str = Role.VIEWER, *, htmx: bool = False) -> Client:
        client = Client(headers={"hx-request": "true"} if htmx else {})
        client.force_login(a_user(role), backend="django.contrib.auth.backends.ModelBackend")
        return client

    return as_role


@pytest.fixture
def viewer(signed_in: Callable[..., Client]) -> Client:
    return signed_in(Role.VIEWER)


@pytest.fixture
def experiment(db: None) -> Experiment:
    return an_experiment()


@pytest.fixture
def finished(experiment: Experiment) -> Run:
    """A finished run of nine cases, five attempts each, that ended in every way."""
    return a_run(experiment, MOCK)
