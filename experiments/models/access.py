"""Who may do what: users, their one role, and the matrix behind every permission check."""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.models import AbstractUser
from django.db import models


class Permission(StrEnum):
    """What a role allows; pages and services ask for one of these, never for a role."""

    READ = "read"
    REVIEW = "review"
    AUTHOR = "author"
    OPERATE = "operate"
    ADMINISTER = "administer"


class Role(models.TextChoices):
    """One role a user. No role at all is a *stranger*: signed in, and refused everywhere."""

    STRANGER = "", "no role"
    VIEWER = "viewer", "viewer"
    REVIEWER = "reviewer", "reviewer"
    AUTHOR = "author", "author"
    OPERATOR = "operator", "operator"
    ADMIN = "admin", "admin"


_READ = frozenset({Permission.READ})
_REVIEW = _READ | {Permission.REVIEW}
_AUTHOR = _REVIEW | {Permission.AUTHOR}
_OPERATE = _AUTHOR | {Permission.OPERATE}

ALLOWED: dict[str, frozenset[Permission]] = {
    Role.STRANGER: frozenset(),
    Role.VIEWER: _READ,
    Role.REVIEWER: _REVIEW,
    Role.AUTHOR: _AUTHOR,
    Role.OPERATOR: _OPERATE,
    Role.ADMIN: _OPERATE | {Permission.ADMINISTER},
}


class User(AbstractUser):
    """A person who signs in. A superuser has the admin role whatever the column says."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.STRANGER, blank=True)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
        ]

    def may(self, permission: Permission) -> bool:
        """Whether this user, as they stand now, is allowed `permission`."""
        if not self.is_active:
            return False
        role = Role.ADMIN if self.is_superuser else self.role
        return permission in ALLOWED[role]

    def save(self, *args: object, **kwargs: object) -> None:
        # The admin site lets staff in; who is staff follows from the role, so the two cannot disagree.
        self.is_staff = self.is_superuser or Permission.AUTHOR in ALLOWED[self.role]
        super().save(*args, **kwargs)  # type: ignore[arg-type]
