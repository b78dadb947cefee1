"""Corpora in the admin: a file of units becomes a version; the units can be looked up."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.urls import reverse

from experiments.admin.base import AuthoringAdmin, PlainAdmin
from experiments.admin.editform import EditForm, Section
from experiments.admin.site import site
from experiments.admin.uploads import read_upload
from experiments.evaluation.text import printable
from experiments.models import Corpus, CorpusUnit
from experiments.services.edits import EditRefusedError
from experiments.transfer.imports import import_corpus
from experiments.transfer.problems import FileRefusedError

SHOWN_PROBLEMS = 50


class CorpusForm(EditForm):
    """A corpus file."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    file = forms.FileField(
        label="Corpus file", help_text="JSONL, one unit a line: id, parent, title, text, aliases."
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Corpus", ("name", "file"), "The whole file becomes a version, or nothing does."),
    )
    has_file: ClassVar[bool] = True

    def prepare(self) -> None:
        if self.thing is not None:
            self.fields["name"].disabled = True
            self.fields["name"].help_text = "The name never changes: runs are compared by it."

    def shown(self, thing: Corpus) -> dict[str, Any]:
        return {"name": thing.name}

    def save_thing(self, edition: str) -> Corpus:
        name = self.cleaned_data["name"]
        if self.thing is None and Corpus.objects.filter(name=name).exists():
            raise EditRefusedError([("name", f"there is a corpus {name} already; open it to add a version")])
        try:
            read_upload(self.cleaned_data["file"], lambda path: import_corpus(self.user, name, path))
        except FileRefusedError as refused:
            said = [("file", str(problem)) for problem in refused.problems[:SHOWN_PROBLEMS]]
            more = len(refused.problems) - SHOWN_PROBLEMS
            raise EditRefusedError(
                [*said, *([("file", f"and {more} more problems")] if more > 0 else [])]
            ) from refused
        return Corpus.objects.select_related("current").get(name=name)


@admin.register(Corpus, site=site)
class CorpusAdmin(AuthoringAdmin[Corpus]):
    """A corpus is only ever replaced by a whole file."""

    edit_form = CorpusForm
    intro: ClassVar[str] = "The sources a citation may point at. Runs keep the version they were graded with."
    list_display = ("name", "version", "units")
    list_select_related = ("current",)
    search_fields = ("name",)

    def version_text(self, version: Any) -> str:
        return f"units: {version.unit_count}\nfingerprint: {version.fingerprint}"

    @admin.display(description="Version")
    def version(self, corpus: Corpus) -> str:
        return f"v{corpus.current.number}" if corpus.current else "–"

    @admin.display(description="Units")
    def units(self, corpus: Corpus) -> str:
        return f"{corpus.current.unit_count:,}" if corpus.current else "–"

    def tools(self, thing: Corpus) -> tuple[dict[str, Any], ...]:
        if thing.current is None:
            return ()
        url = reverse("admin:experiments_corpusunit_changelist")
        return ({"label": "Its units", "url": f"{url}?version__id__exact={thing.current.pk}"},)


@admin.register(CorpusUnit, site=site)
class CorpusUnitAdmin(PlainAdmin[CorpusUnit]):
    """Look up the id an author needs."""

    intro: ClassVar[str] = "Search by id or title; ids are what sources and citations name."
    list_display = ("unit_id", "title_start", "version")
    list_filter = ("version",)
    list_select_related = ("version__corpus",)
    search_fields = ("unit_id", "title")
    ordering = ("version", "position")

    @admin.display(description="Title")
    def title_start(self, unit: CorpusUnit) -> str:
        return printable(unit.title, 120)

    def details(self, thing: CorpusUnit) -> tuple[tuple[str, str], ...]:
        return (
            ("Id", thing.unit_id),
            ("Corpus", str(thing.version)),
            ("Parent", thing.parent_unit or "–"),
            ("Title", thing.title),
            ("Text", thing.text),
            ("Also called", ", ".join(thing.aliases) or "–"),
        )
