"""Who may sign in and as what. Only the admin role calls these, and nobody locks themselves out."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from experiments.models import Permission, Role, User, record_activity
from experiments.services.edits import (
    EditRefusedError,
    changes,
    require,
    require_storable,
    unchanged_since,
)


@transaction.atomic
def save_user(
    actor: User | None,
    *,
    user: User | None,
    username: str,
    email: str,
    role: str,
    is_active: bool,
    password: str,
    edition: str,
) -> User:
    """The person with this name and role; an empty `password` leaves the old one, or none for a new person.

    A password is kept as a hash only, and the activity line says no more than that there is a new one.
    """
    require(actor, Permission.ADMINISTER)
    require_storable(username=username, email=email)
    others = User.objects.filter(username=username)
    if (others.exclude(pk=user.pk) if user else others).exists():
        raise EditRefusedError([("username", "there is a user of this name already")])
    made = user is None
    if user is None:
        user = User()
        user.set_unusable_password()
    else:
        user = User.objects.select_for_update().get(pk=user.pk)
        unchanged_since(user, edition)
        _keep_one_admin(actor, user, role, is_active)
    before = {} if made else _facts(user)
    user.username, user.email, user.role, user.is_active = username, email, Role(role), is_active
    old, new = changes(before, _facts(user))
    if password:
        user.set_password(password)
        new["sign-in"] = "a new password"
    if made or new:
        user.save()
        record_activity(actor, "created" if made else "edited", user, before=None if made else old, after=new)
    return user


def _keep_one_admin(actor: User | None, user: User, role: str, is_active: bool) -> None:
    stays = is_active and (user.is_superuser or role == Role.ADMIN)
    if stays or not user.may(Permission.ADMINISTER):
        return
    field = "is_active" if not is_active else "role"
    if actor is not None and actor.pk == user.pk:
        raise EditRefusedError([(field, "you cannot take the admin role from yourself")])
    # Held together, so that two admins cannot take the role from each other at once.
    admins = User.objects.select_for_update().filter(Q(role=Role.ADMIN) | Q(is_superuser=True))
    if not any(admin.may(Permission.ADMINISTER) for admin in admins.order_by("pk") if admin.pk != user.pk):
        raise EditRefusedError([(field, "this is the last admin; make somebody else one first")])


def _facts(user: User) -> dict[str, object]:
    return {
        "username": user.username,
        "email": user.email,
        "role": str(user.role),
        "is_active": user.is_active,
    }
