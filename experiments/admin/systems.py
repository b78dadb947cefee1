"""Targets and judge models in the admin: how they are reached. Secrets only ever as references."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.urls import URLPattern, path
from pydantic import ValidationError

from experiments.admin.base import AuthoringAdmin
from experiments.admin.editform import EditForm, Section, line
from experiments.admin.site import site
from experiments.models import JudgeModel, Permission, Target
from experiments.models.systems import System
from experiments.services.configuring import save_judge, save_target
from experiments.services.plans import ask_capabilities
from experiments.wire.judge import JudgeConfig, judge_config
from experiments.wire.secrets import SecretError, resolve_secret
from experiments.wire.target import ContractHttpConfig, target_config

REMEDY = (
    "A secret is never stored here. Put it into an environment variable of the site and its workers, and "
    "write the variable's name, such as env:{}."
)


def _number(label: str, help_text: str, *, whole: bool = False) -> forms.Field:
    kind = forms.IntegerField if whole else forms.FloatField
    return kind(label=label, help_text=help_text, min_value=0)


class SystemForm(EditForm):
    """A connection whose settings are the fields of a wire document."""

    settings_: ClassVar[tuple[str, ...]] = ()
    secret: ClassVar[str] = ""
    variable: ClassVar[str] = ""

    def __init__(self, data: Any = None, files: Any = None, **more: Any) -> None:
        self._literal = False
        if data is not None and not _is_reference(data.get(self.secret, "")):
            # Whatever was pasted is gone from here on: not stored, not shown again, not logged.
            data = cast(QueryDict, data.copy())
            data[self.secret] = ""
            self._literal = True
        super().__init__(data, files, **more)

    def shown(self, thing: System) -> dict[str, Any]:
        kept = {name: value for name, value in thing.config.items() if name in self.fields_shown()}
        return {"name": thing.name, **kept}

    def fields_shown(self) -> frozenset[str]:
        return frozenset(self.settings_)

    def config(self) -> dict[str, Any]:
        """The document the fields make; an empty field takes the document's own default."""
        given = {name: self.cleaned_data.get(name) for name in self.settings_}
        return {name: value for name, value in given.items() if value not in (None, "")}

    def check_config(self, config: dict[str, Any]) -> None:
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self._literal:
            self.refuse(self.secret, REMEDY.format(self.variable))
        try:
            self.check_config(self.config())
        except ValidationError as refused:
            for problem in refused.errors(include_url=False, include_input=False):
                field = str(problem["loc"][0]) if problem["loc"] else ""
                if field not in self.errors:
                    self.refuse(field, problem["msg"].removeprefix("Value error, "))
        except ValueError as refused:
            self.add_error(None, str(refused))
        return cleaned

    def preview(self) -> dict[str, Any]:
        reference = self.text(self.secret).strip()
        if not reference:
            return {"secret": ""}
        try:
            resolve_secret(reference)
        except SecretError as missing:
            return {"secret": reference, "missing": str(missing)}
        return {"secret": reference, "missing": ""}


def _is_reference(given: str) -> bool:
    return not given.strip() or given.strip().startswith("env:")


class TargetForm(SystemForm):
    """A system under test."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    url = line(
        "Address",
        "Where the target contract is served, such as https://claims.example.org/eval",
        required=True,
        mono=True,
    )
    token = line("Token", "env: and the name of an environment variable; empty for none.", mono=True)
    connect_seconds = _number("Connect within", "Seconds.")
    read_seconds = _number("Wait for data", "Seconds.")
    total_seconds = _number("One request at most", "Seconds.")
    max_reply_bytes = _number("Longest reply", "Bytes.", whole=True)

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Target", ("name", "url", "token")),
        Section("Limits", (("connect_seconds", "read_seconds"), ("total_seconds", "max_reply_bytes"))),
    )
    settings_ = ("url", "token", "connect_seconds", "read_seconds", "total_seconds", "max_reply_bytes")
    secret, variable = "token", "CLAIMS_TOKEN"
    preview_template: ClassVar[str] = "admin/experiments/target/preview.html"
    aside: ClassVar[str] = "How it is reached"

    def prepare(self) -> None:
        _begin_with(self, ContractHttpConfig.model_fields)

    def check_config(self, config: dict[str, Any]) -> None:
        target_config(config)

    def save_thing(self, edition: str) -> Target:
        target = self.thing if isinstance(self.thing, Target) else None
        name = self.cleaned_data["name"]
        return save_target(self.user, target=target, name=name, config=self.config(), edition=edition)


class JudgeForm(SystemForm):
    """A model that grades."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    model = line("Model", "As the provider names it.", required=True, mono=True)
    base_url = line("Address", "Empty for the provider's own.", mono=True)
    api_key = line("Key", "env: and the name of an environment variable.", mono=True)
    max_tokens = _number("Longest answer", "Tokens.", whole=True)
    total_seconds = _number("One call at most", "Seconds.")

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Judge", ("name", "model", "base_url", "api_key")),
        Section("Limits", (("max_tokens", "total_seconds"),)),
    )
    settings_ = ("model", "base_url", "api_key", "max_tokens", "total_seconds")
    secret, variable = "api_key", "ANTHROPIC_API_KEY"
    preview_template: ClassVar[str] = "admin/experiments/target/preview.html"
    aside: ClassVar[str] = "How it is reached"

    def prepare(self) -> None:
        _begin_with(self, JudgeConfig.model_fields)

    def check_config(self, config: dict[str, Any]) -> None:
        judge_config(config)

    def save_thing(self, edition: str) -> JudgeModel:
        judge = self.thing if isinstance(self.thing, JudgeModel) else None
        name = self.cleaned_data["name"]
        return save_judge(self.user, judge=judge, name=name, config=self.config(), edition=edition)


def _begin_with(form: SystemForm, document: Any) -> None:
    """A new system begins with the document's own defaults; an emptied field means them again."""
    for name in form.settings_:
        field = document[name]
        if not field.is_required():
            form.fields[name].required = False
            if form.thing is None and field.default is not None:
                form.initial.setdefault(name, field.default)


class SystemAdmin(AuthoringAdmin[Any]):
    """Only the admin role; no versions, since a run keeps its own copy of the configuration."""

    permission = Permission.ADMINISTER
    versioned = False
    search_fields = ("name",)

    @admin.display(description="Changed")
    def changed(self, system: System) -> str:
        return f"{system.updated_at:%Y-%m-%d %H:%M} UTC"


@admin.register(Target, site=site)
class TargetAdmin(SystemAdmin):
    edit_form = TargetForm
    intro: ClassVar[str] = "The systems under test. A run keeps a copy: editing changes no past run."
    list_display = ("name", "address", "changed")

    @admin.display(description="Address")
    def address(self, target: Target) -> str:
        return str(target.config.get("url", ""))

    def get_urls(self) -> list[URLPattern]:
        check = path(
            "<path:object_id>/check/",
            self.admin_site.admin_view(self.check_view),
            name="experiments_target_check",
        )
        return [check, *super().get_urls()]

    def tools(self, thing: Target) -> tuple[dict[str, Any], ...]:
        return ({"label": "Ask it what it can do", "url": self.page_url(thing, "check"), "post": {}},)

    def check_view(self, request: HttpRequest, object_id: str) -> Any:
        """Ask the target for its capabilities, by POST, and say the answer."""
        target = self.found(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        can, problem = ask_capabilities(target)
        if can is None:
            messages.error(request, f"{target} could not be asked: {problem}.")
        else:
            named = (
                ("fixtures", sorted(can.fixtures)),
                ("tools that can be broken", sorted(can.breakable_tools)),
                ("spec nodes", sorted(can.emittable_nodes)),
            )
            said = "; ".join(f"{what}: {', '.join(names[:12]) or 'none'}" for what, names in named)
            messages.success(request, f"{target} answers as version {can.version}. {said}.")
        return HttpResponseRedirect(self.page_url(target))


@admin.register(JudgeModel, site=site)
class JudgeAdmin(SystemAdmin):
    edit_form = JudgeForm
    intro: ClassVar[str] = "The models that grade. A grading keeps a copy: editing changes no past grading."
    list_display = ("name", "model_name", "changed")

    @admin.display(description="Model")
    def model_name(self, judge: JudgeModel) -> str:
        return str(judge.config.get("model", ""))
