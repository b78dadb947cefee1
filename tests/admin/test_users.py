"""Users: one role each, given by admins, and nobody locks everybody out."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Activity, Role, User
from tests.admin.conftest import As, typed
from tests.admin.test_doors import address
from tests.factories import make_user

PASSWORD = "correct horse battery"


def change(user: User) -> str:
    return address("user", "change", user.pk)


def test_an_admin_makes_a_user_who_can_sign_in(admin: Client) -> None:
    url = address("user", "add")
    form = typed(admin, url, username="ana", role="author", password=PASSWORD)
    assert admin.post(url, form).status_code == 302
    ana = User.objects.get(username="ana")
    assert (ana.role, ana.is_staff, ana.is_superuser) == (Role.AUTHOR, True, False)
    assert ana.check_password(PASSWORD)
    assert PASSWORD not in str(Activity.objects.get().after)


def test_a_user_without_a_password_has_none(admin: Client) -> None:
    url = address("user", "add")
    admin.post(url, typed(admin, url, username="ana", role="viewer"))
    assert not User.objects.get(username="ana").has_usable_password()


def test_an_edit_without_a_password_leaves_it(admin: Client) -> None:
    user = make_user(Role.VIEWER)
    user.set_password(PASSWORD)
    user.save()
    admin.post(change(user), typed(admin, change(user), role="reviewer"))
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
    assert Activity.objects.get().before == {"role": "viewer"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"password": "12345"}, "password"),
        ({"username": ""}, "username"),
        ({"username": "a b"}, "username"),
        ({"role": "emperor"}, "role"),
        ({"email": "nobody"}, "email"),
    ],
)
def test_a_mistake_is_refused_at_its_field(admin: Client, fields: dict[str, str], field: str) -> None:
    url = address("user", "add")
    answer = admin.post(url, {**typed(admin, url, username="ana", role="viewer"), **fields})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not User.objects.filter(username="ana").exists()


def test_a_refused_form_does_not_send_the_password_back(admin: Client) -> None:
    url = address("user", "add")
    answer = admin.post(url, typed(admin, url, username="a b", role="viewer", password=PASSWORD))
    assert PASSWORD not in answer.text


def test_a_name_that_is_taken_is_refused(admin: Client) -> None:
    make_user(username="ana")
    url = address("user", "add")
    answer = admin.post(url, typed(admin, url, username="ana", role="viewer"))
    assert answer.context["form"].errors["username"] == ["There is a user of this name already"]


def test_an_admin_cannot_lock_themselves_out(as_: As) -> None:
    admin = as_(Role.ADMIN)
    me = User.objects.get()
    make_user(Role.ADMIN)
    answer = admin.post(change(me), typed(admin, change(me), role="viewer"))
    assert answer.context["form"].errors["role"] == ["You cannot take the admin role from yourself"]
    form = typed(admin, change(me))
    del form["is_active"]
    answer = admin.post(change(me), form)
    assert answer.context["form"].errors["is_active"] == ["You cannot take the admin role from yourself"]


def test_a_switched_off_user_is_out_and_stays_listed(admin: Client) -> None:
    user = make_user(Role.AUTHOR)
    form = typed(admin, change(user))
    del form["is_active"]
    admin.post(change(user), form)
    user.refresh_from_db()
    assert not user.is_active
    assert user.username in admin.get(address("user")).text


def test_an_operator_cannot_make_themselves_admin(as_: As) -> None:
    operator = as_(Role.OPERATOR)
    me = User.objects.get()
    assert operator.post(change(me), {"username": me.username, "role": "admin"}).status_code == 403
    me.refresh_from_db()
    assert me.role == Role.OPERATOR
