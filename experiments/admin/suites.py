"""Suites in the admin: the rules their cases share, import and export of the whole suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from experiments.admin import notation
from experiments.admin.base import AuthoringAdmin
from experiments.admin.criteriatext import known_kinds, read_criteria, read_messages, shown_criteria
from experiments.admin.differences import readable
from experiments.admin.editform import EditForm, Section, area
from experiments.admin.settling import counts_by_mode
from experiments.admin.site import site
from experiments.admin.uploads import read_upload
from experiments.evaluation import CriterionSpec
from experiments.mapping import criteria_of
from experiments.models import Suite, User
from experiments.services.authoring import Imported
from experiments.services.editing import save_suite
from experiments.transfer.imports import import_suite, suite_document
from experiments.transfer.problems import FileRefusedError
from experiments.transfer.suite_file import suite_json, suite_yaml


class SuiteForm(EditForm):
    """The rules of a suite."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    description = area("Description", rows=2)
    pass_score = forms.FloatField(
        label="Pass score",
        min_value=0,
        max_value=1,
        initial=1.0,
        help_text="The share of criterion weight an attempt must reach, 0 to 1.",
    )
    criteria = area(
        "Criteria of every case",
        "A list in YAML or JSON, such as - {kind: citations.required, weight: 2, gate: true}",
        rows=8,
        mono=True,
    )
    messages = area(
        "Messages",
        "Texts a refusal must give, as code: text, one a line. Cases name the code.",
        rows=4,
        mono=True,
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Suite", (("name", "pass_score"), "description")),
        Section("Rules", ("criteria", "messages")),
    )
    preview_template: ClassVar[str] = "admin/experiments/suite/preview.html"
    aside: ClassVar[str] = "How its cases will be settled"

    def prepare(self) -> None:
        self.specs: tuple[CriterionSpec, ...] = ()
        self.told: dict[str, str] = {}
        if self.thing is not None:
            self.fields["name"].disabled = True
            self.fields["name"].help_text = "The name never changes: runs and files are found by it."

    def shown(self, thing: Suite) -> dict[str, Any]:
        rules = thing.current
        base: dict[str, Any] = {"name": thing.name, "description": thing.description}
        if rules is None:
            return base
        return {
            **base,
            "pass_score": rules.pass_score,
            "criteria": shown_criteria(criteria_of(rules)),
            "messages": notation.show_document(rules.messages),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.specs, wrong = read_criteria(self.text("criteria"))
        for sentence in wrong:
            self.refuse("criteria", sentence)
        self.told, unreadable = read_messages(self.text("messages"))
        for sentence in unreadable:
            self.refuse("messages", sentence)
        rules = self.thing.current if isinstance(self.thing, Suite) else None
        if rules is not None:
            if self.untouched("criteria"):
                self.specs = criteria_of(rules)
            if self.untouched("messages"):
                self.told = dict(rules.messages)
        return cleaned

    def save_thing(self, edition: str) -> Suite:
        return save_suite(
            self.user,
            suite=self.thing if isinstance(self.thing, Suite) else None,
            name=self.cleaned_data["name"],
            description=notation.unix_lines(self.cleaned_data["description"]),
            criteria=self.specs,
            pass_score=self.cleaned_data["pass_score"],
            messages=self.told,
            edition=edition,
        )

    def preview(self) -> dict[str, Any]:
        specs = self.specs
        suite = self.thing if isinstance(self.thing, Suite) else None
        if not self.is_bound and suite and suite.current:
            specs = criteria_of(suite.current)
        return {"counts": counts_by_mode(suite, specs), "kinds": list(known_kinds())}


class ImportForm(forms.Form):
    """A suite file."""

    file = forms.FileField(label="Suite file", help_text="YAML or JSON in the format evalsite/suite@1.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.fields["file"].widget.attrs["class"] = "form-control"


@admin.register(Suite, site=site)
class SuiteAdmin(AuthoringAdmin[Suite]):
    """A suite is a page of rules; its cases have pages of their own."""

    edit_form = SuiteForm
    intro: ClassVar[str] = "Cases with the criteria, pass score and messages they share."
    list_display = ("name", "description", "case_count", "version")
    list_select_related = ("current",)
    search_fields = ("name", "description")
    list_tools: ClassVar[tuple[tuple[str, str], ...]] = (("Import a file", "admin:experiments_suite_import"),)

    def version_text(self, version: Any) -> str:
        return readable(
            {
                "pass_score": version.pass_score,
                "criteria": shown_criteria(criteria_of(version)),
                "messages": version.messages,
            }
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Suite]:
        in_use = Count("cases", filter=Q(cases__archived_at__isnull=True))
        return super().get_queryset(request).annotate(in_use=in_use)

    @admin.display(description="Cases in use")
    def case_count(self, suite: Any) -> int:
        return int(suite.in_use)

    @admin.display(description="Rules")
    def version(self, suite: Suite) -> str:
        return f"v{suite.current.number}" if suite.current else "–"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("import/", view(self.import_view), name="experiments_suite_import"),
            path(
                "<path:object_id>/export.<str:kind>", view(self.export_view), name="experiments_suite_export"
            ),
            *super().get_urls(),
        ]

    def tools(self, thing: Suite) -> tuple[Any, ...]:
        cases = reverse("admin:experiments_case_changelist")
        new = reverse("admin:experiments_case_add")
        return (
            {"label": "Its cases", "url": f"{cases}?suite__id__exact={thing.pk}"},
            {"label": "New case", "url": f"{new}?suite={thing.pk}"},
            {"label": "Export YAML", "url": self.export_url(thing, "yaml")},
            {"label": "Export JSON", "url": self.export_url(thing, "json")},
        )

    @staticmethod
    def export_url(suite: Suite, kind: str) -> str:
        return reverse("admin:experiments_suite_export", args=[suite.pk, kind])

    def export_view(self, request: HttpRequest, object_id: str, kind: str) -> HttpResponse:
        """The suite as a file; importing it again changes nothing."""
        suite = self.found(request, object_id)
        written = {"yaml": suite_yaml, "json": suite_json}.get(kind)
        if written is None:
            return HttpResponse(
                "Suites are exported as yaml or json.\n", status=404, content_type="text/plain"
            )
        if not suite.cases.filter(archived_at__isnull=True, current__isnull=False).exists():
            messages.error(request, "A suite file holds at least one case; this suite has none in use.")
            return HttpResponseRedirect(self.page_url(suite))
        types = {"yaml": "application/yaml", "json": "application/json"}
        answer = HttpResponse(written(suite_document(suite)), content_type=f"{types[kind]}; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{suite.name}.{kind}"'
        return answer

    def import_view(self, request: HttpRequest) -> Any:
        """Take a suite file, all of it or nothing, with every problem at once."""
        if not self.has_add_permission(request):
            return HttpResponse(status=403)
        form = ImportForm(request.POST or None, request.FILES or None)
        problems: tuple[Any, ...] = ()
        if request.method == "POST" and form.is_valid():
            user = cast(User, request.user)

            def take(file: Path) -> tuple[Imported, tuple[Any, ...]]:
                return import_suite(user, file)

            try:
                done, warnings = read_upload(form.cleaned_data["file"], take)
            except FileRefusedError as refused:
                problems = refused.problems
            else:
                return self._imported(request, done, warnings)
        context = self.context_of(request, None, form=form, problems=problems, title="Import a suite")
        return TemplateResponse(request, "admin/import.html", context, status=422 if problems else 200)

    def _imported(self, request: HttpRequest, done: Imported, warnings: tuple[Any, ...]) -> HttpResponse:
        suite = Suite.objects.get(name=done.name)
        messages.success(
            request, said_of(done) if done.changed_anything else f"{done.name} stands like that already."
        )
        for warning in warnings[:20]:
            messages.warning(request, f"line {warning.line}, {warning.path}: {warning.sentence}")
        return HttpResponseRedirect(self.page_url(suite))


def said_of(done: Imported) -> str:
    """What an import did, in one sentence."""
    counted = (
        (done.created, "created"),
        (done.changed, "with a new version"),
        (done.unchanged, "unchanged"),
        (done.archived, "archived, since the file does not hold them"),
        (done.restored, "restored"),
    )
    parts = [f"{len(keys)} {what}" for keys, what in counted if keys]
    return f"{done.name} v{done.version} imported: {', '.join(parts)}."
