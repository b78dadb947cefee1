"""Policies in the admin: the rules the system under test is given."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin

from experiments.admin.base import AuthoringAdmin
from experiments.admin.editform import EditForm, Section, area
from experiments.admin.site import site
from experiments.models import Policy
from experiments.services.editing import save_policy


class PolicyForm(EditForm):
    """A policy's text."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    text_ = area("Text", "The rules as the system is given them.", rows=20, required=True)

    sections: ClassVar[tuple[Section, ...]] = (Section("Policy", ("name", "text_")),)
    field_of: ClassVar[dict[str, str]] = {"text": "text_"}

    def prepare(self) -> None:
        if self.thing is not None:
            self.fields["name"].disabled = True
            self.fields["name"].help_text = "The name never changes: runs are compared by it."

    def shown(self, thing: Policy) -> dict[str, Any]:
        return {"name": thing.name, "text_": thing.current.text if thing.current else ""}

    def save_thing(self, edition: str) -> Policy:
        policy = self.thing if isinstance(self.thing, Policy) else None
        stored = policy.current if policy else None
        text = stored.text if stored and self.untouched("text_") else self.text("text_")
        return save_policy(self.user, text, policy=policy, name=self.cleaned_data["name"], edition=edition)


@admin.register(Policy, site=site)
class PolicyAdmin(AuthoringAdmin[Policy]):
    """A new text is a new version."""

    edit_form = PolicyForm
    intro: ClassVar[str] = "The rules a system was given. A run keeps the version it was started with."
    list_display = ("name", "version")
    list_select_related = ("current",)
    search_fields = ("name",)

    def version_text(self, version: Any) -> str:
        return str(version.text)

    @admin.display(description="Version")
    def version(self, policy: Policy) -> str:
        return f"v{policy.current.number}" if policy.current else "–"
