"""Signing in by password and by the one-use link."""

from __future__ import annotations

import threading
from io import StringIO
from urllib.parse import urlsplit

import pytest
import time_machine
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django.urls import reverse

from evalsite.serving.state import OWNER, sign_in_link
from experiments.models import Role, User

PASSWORD = "a long and honest passphrase"


def link() -> str:
    """Path and query of a fresh sign-in link."""
    parts = urlsplit(sign_in_link())
    return f"{parts.path}?{parts.query}"


@pytest.fixture
def reader(db: None) -> User:
    return User.objects.create_user("reader", password=PASSWORD, role=Role.VIEWER)


def try_password(client: Client, password: str, **extra: str) -> int:
    form = {"username": "reader", "password": password}
    return client.post(reverse("web:sign_in"), form, headers=extra or None).status_code


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.django_db
def test_a_link_signs_the_owner_in_once(client: Client) -> None:
    printed = link()
    assert client.get(printed).headers["Location"] == reverse("web:home")
    assert signed_in(client)
    other = Client()
    refused = other.get(printed)
    assert refused.status_code == 403
    assert "has been used" in refused.content.decode()
    assert not signed_in(other)


@pytest.mark.django_db
def test_the_owner_is_an_administrator_without_a_password(client: Client) -> None:
    client.get(link())
    owner = User.objects.get(username=OWNER)
    assert owner.role == Role.ADMIN
    assert not owner.has_usable_password()


def test_a_link_can_be_made_for_any_user_who_may_sign_in(client: Client, reader: User) -> None:
    said = StringIO()
    call_command("sign_in_link", "reader", stdout=said)
    parts = urlsplit(said.getvalue().strip())
    assert client.get(f"{parts.path}?{parts.query}").status_code == 302
    assert client.session["_auth_user_id"] == str(reader.pk)
    with pytest.raises(CommandError, match="no user nobody"):
        call_command("sign_in_link", "nobody")


@pytest.mark.django_db
def test_a_link_is_good_for_ten_minutes(client: Client) -> None:
    with time_machine.travel("2026-01-05T10:00:00Z", tick=False):
        printed = link()
    with time_machine.travel("2026-01-05T10:09:50Z", tick=False):
        assert client.get(printed).status_code == 302
    with time_machine.travel("2026-01-06T10:00:00Z", tick=False):
        printed = link()
    with time_machine.travel("2026-01-06T10:10:10Z", tick=False):
        assert Client().get(printed).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["10.0.0.7", "203.0.113.9", "not an address", ""])
def test_a_link_works_on_this_machine_only(client: Client, address: str) -> None:
    refused = client.get(link(), REMOTE_ADDR=address)
    assert refused.status_code == 403
    assert "on the machine that runs the site" in refused.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_a_link_does_not_work_through_a_proxy_on_this_machine(client: Client, header: str) -> None:
    assert client.get(link(), headers={header: "203.0.113.9"}).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize(
    "token", ["", "x", "\x00", "%ff%fe", "A" * 100_000, "<script>alert(1)</script>", "..", "é"]
)
def test_a_forged_link_is_refused(client: Client, token: str) -> None:
    refused = client.get(reverse("web:link"), {"token": token})
    assert refused.status_code == 403
    assert "<script>alert" not in refused.content.decode()


@pytest.mark.django_db
def test_a_link_of_somebody_who_left_is_refused(client: Client) -> None:
    printed = link()
    User.objects.update(is_active=False)
    assert client.get(printed).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_of_two_clicks_at_the_same_moment_one_signs_in() -> None:
    printed, codes = link(), []
    barrier = threading.Barrier(2)

    def click() -> None:
        barrier.wait()
        codes.append(Client().get(printed).status_code)
        connections.close_all()

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [302, 403]


def test_the_right_password_signs_in(client: Client, reader: User) -> None:
    assert try_password(client, PASSWORD) == 302
    assert signed_in(client)


def test_too_many_wrong_passwords_lock_the_name_for_that_address(client: Client, reader: User) -> None:
    codes = [try_password(client, "wrong") for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert codes[:-1] == [200] * (settings.AXES_FAILURE_LIMIT - 1)
    assert codes[-1] == 429
    assert try_password(client, PASSWORD) == 429
    assert not signed_in(client)
    assert (
        "Too many wrong passwords"
        in client.post(reverse("web:sign_in"), {"username": "reader", "password": PASSWORD}).content.decode()
    )
    # Somebody else's guesses do not keep the reader out at her own desk.
    form = {"username": "reader", "password": PASSWORD}
    assert Client().post(reverse("web:sign_in"), form, REMOTE_ADDR="10.0.0.8").status_code == 302


def test_a_made_up_forwarded_address_does_not_escape_the_throttle(client: Client, reader: User) -> None:
    codes = [
        try_password(client, "wrong", **{"X-Forwarded-For": f"198.51.100.{number}"})
        for number in range(settings.AXES_FAILURE_LIMIT)
    ]
    assert codes[-1] == 429


def test_a_quarter_of_an_hour_later_the_name_is_free_again(client: Client, reader: User) -> None:
    with time_machine.travel("2026-01-05T10:00:00Z", tick=False):
        for _ in range(settings.AXES_FAILURE_LIMIT):
            try_password(client, "wrong")
    with time_machine.travel("2026-01-05T10:16:00Z", tick=False):
        assert try_password(client, PASSWORD) == 302


def test_the_admin_site_has_no_sign_in_of_its_own_to_guess_at(client: Client, reader: User) -> None:
    answer = client.post("/admin/login/", {"username": "reader", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(reverse("web:sign_in"))
    assert not signed_in(client)


@pytest.mark.parametrize(
    "name", ["\x00", "reader\x00", "‮redaer", "x" * 151, "x" * 256, "x" * 1_000_000, "<script>"]
)
def test_a_hostile_name_is_a_wrong_name(client: Client, reader: User, name: str) -> None:
    answer = client.post(reverse("web:sign_in"), {"username": name, "password": PASSWORD})
    assert answer.status_code == 200
    assert not signed_in(client)


def test_signing_out_is_a_post_and_ends_the_session(client: Client, reader: User) -> None:
    client.force_login(reader)
    assert client.get(reverse("web:sign_out")).status_code == 405
    assert client.post(reverse("web:sign_out")).status_code == 302
    assert not signed_in(client)


def test_the_sign_in_page_sends_nobody_to_another_site(client: Client, reader: User) -> None:
    form = {"username": "reader", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post(reverse("web:sign_in"), form).headers["Location"] == reverse("web:home")
