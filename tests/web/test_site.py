"""Colours, health, and the pages that say something went wrong."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.db import DatabaseError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client, override_settings
from django.urls import reverse

from experiments.web import site


@pytest.mark.parametrize("chosen", ["light", "dark"])
def test_a_choice_of_colours_is_kept_and_stands_on_the_page(viewer: Client, chosen: str) -> None:
    response = viewer.post(reverse("web:theme"), {"theme": chosen, "next": "/runs/?state=running"})
    assert response.headers["Location"] == "/runs/?state=running"
    assert f'data-bs-theme="{chosen}"' in viewer.get("/").content.decode()


def test_the_colours_of_the_system_are_the_default(viewer: Client) -> None:
    assert "data-bs-theme" not in viewer.get("/").content.decode()
    viewer.post(reverse("web:theme"), {"theme": "dark"})
    viewer.post(reverse("web:theme"), {"theme": "auto"})
    assert "data-bs-theme" not in viewer.get("/").content.decode()


@pytest.mark.parametrize(
    "there", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\0", ""]
)
def test_the_choice_of_colours_never_leads_off_the_site(viewer: Client, there: str) -> None:
    response = viewer.post(reverse("web:theme"), {"theme": "dark", "next": there})
    assert response.headers["Location"] == "/"


def test_unknown_colours_change_nothing(viewer: Client) -> None:
    response = viewer.post(reverse("web:theme"), {"theme": '"><script>'})
    assert "theme" not in response.cookies
    viewer.cookies["theme"] = '"><script>'
    assert "data-bs-theme" not in viewer.get("/").content.decode()


def test_the_site_says_that_it_is_alive_and_ready(client: Client, db: None) -> None:
    assert client.get("/healthz").content == b"ok\n"
    response = client.get("/readyz")
    assert (response.status_code, response.content) == (200, b"ready\n")


def test_a_site_without_its_database_is_alive_and_not_ready(client: Client, db: None) -> None:
    with patch.object(site, "MigrationExecutor", side_effect=DatabaseError("secret host name")):
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.content == b"the database does not answer\n"
    assert client.get("/healthz").status_code == 200


def test_a_database_of_an_older_version_is_not_ready(client: Client, db: None) -> None:
    with patch.object(MigrationExecutor, "migration_plan", return_value=[("x", False)]):
        response = client.get("/readyz")
    assert response.status_code == 503
    assert b"older" in response.content


def test_what_is_not_there_has_a_page_with_a_way_home(viewer: Client) -> None:
    response = viewer.get("/nowhere/")
    assert response.status_code == 404
    assert "Not found" in response.content.decode()
    assert 'href="/"' in response.content.decode()


def test_a_form_of_another_site_is_refused_with_a_page(db: None) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post(reverse("web:theme"), {"theme": "dark"})
    assert response.status_code == 403
    assert "This form is too old" in response.content.decode()


def test_a_fault_of_the_site_has_a_page_that_needs_nothing(viewer: Client) -> None:
    viewer.raise_request_exception = False
    with (
        patch("experiments.web.home.home_page", side_effect=RuntimeError("secret")),
        override_settings(DEBUG=False),
    ):
        response = viewer.get("/")
    assert response.status_code == 500
    assert "Something broke" in response.content.decode()
    assert "secret" not in response.content.decode()
