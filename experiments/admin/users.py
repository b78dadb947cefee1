"""Users in the admin: who may sign in, and as what. The admin role only."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from experiments.admin.base import AuthoringAdmin
from experiments.admin.editform import EditForm, Section, choice
from experiments.admin.site import site
from experiments.models import Permission, Role, User
from experiments.services.users import save_user


class UserForm(EditForm):
    """A person, their one role, and perhaps a new password."""

    username = forms.CharField(
        label="Name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text="They sign in with it. Letters, digits and @ . + - _ only.",
    )
    email = forms.EmailField(label="Email", required=False, max_length=254)
    role = choice("Role", Role.choices, "Viewers read, reviewers judge, authors edit, operators run.")
    is_active = forms.BooleanField(label="May sign in", required=False, initial=True)
    password = forms.CharField(
        label="New password",
        required=False,
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Empty leaves it as it is. Without one a person signs in by link only.",
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("User", (("username", "email"), "role", "is_active", "password")),
    )

    def prepare(self) -> None:
        if isinstance(self.thing, User) and self.thing.is_superuser:
            self.fields["role"].help_text = "A superuser: has the admin role whatever stands here."

    def shown(self, thing: User) -> dict[str, Any]:
        return {name: getattr(thing, name) for name in ("username", "email", "role", "is_active")}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("role", "") not in Role.values:
            self.refuse("role", "must be one of the roles")
        password = cleaned.get("password", "")
        if password:
            person = User(username=cleaned.get("username", ""), email=cleaned.get("email", ""))
            try:
                validate_password(password, person)
            except ValidationError as refused:
                for sentence in refused.messages:
                    self.refuse("password", sentence)
        return cleaned

    def save_thing(self, edition: str) -> User:
        given = {
            name: self.cleaned_data[name] for name in ("username", "email", "role", "is_active", "password")
        }
        user = self.thing if isinstance(self.thing, User) else None
        return save_user(self.user, user=user, edition=edition, **given)


@admin.register(User, site=site)
class UserAdmin(AuthoringAdmin[User]):
    """People are never deleted: what they did stays signed. Who leaves may not sign in any more."""

    edit_form = UserForm
    permission = Permission.ADMINISTER
    versioned = False
    intro: ClassVar[str] = "Who may sign in, and as what."
    list_display = ("username", "email", "role", "is_active", "last_login")
    list_filter = ("role", "is_active")
    search_fields = ("username", "email")
    ordering = ("username",)
