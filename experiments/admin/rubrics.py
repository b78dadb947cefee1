"""Rubrics in the admin: the judge's prompt, with what the judge will read beside it."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin

from experiments.admin import notation
from experiments.admin.base import AuthoringAdmin
from experiments.admin.differences import readable
from experiments.admin.editform import EditForm, Section, area, choice
from experiments.admin.settling import reading
from experiments.admin.site import site
from experiments.evaluation import (
    EvalCase,
    Rubric,
    RubricKind,
    SettledBy,
    reads_by_label,
    route,
    rubric_problems,
)
from experiments.evaluation.rubric import PLACEHOLDERS
from experiments.evaluation.text import printable
from experiments.mapping import case_of
from experiments.models import Case, CaseVersion, Experiment
from experiments.models import Rubric as RubricRow
from experiments.services.editing import save_rubric

SAMPLE = EvalCase(
    id="sample", turn="When do I get my refund?", expected="the reply states a refund window of 30 days"
)


class RubricForm(EditForm):
    """A rubric's wording."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    kind = choice("The judge gives", [("grade", "a grade from 1 to 10"), ("label", "one of the labels")])
    template = area(
        "Prompt",
        "A grade rubric holds " + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS) + ".",
        rows=18,
        required=True,
        mono=True,
    )
    labels = area("Labels", "One a line; only for a rubric that gives labels.", rows=3)
    pass_labels = area("Labels that pass", "One a line, some of the labels.", rows=3)

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Rubric", (("name", "kind"), "template", ("labels", "pass_labels"))),
    )
    preview_template: ClassVar[str] = "admin/experiments/rubric/preview.html"
    aside: ClassVar[str] = "What the judge will read"

    def prepare(self) -> None:
        if self.thing is not None:
            self.fields["name"].disabled = True
            self.fields["name"].help_text = "The name never changes: runs are compared by it."

    def shown(self, thing: RubricRow) -> dict[str, Any]:
        wording = thing.current
        if wording is None:
            return {"name": thing.name}
        return {
            "name": thing.name,
            "kind": wording.kind,
            "template": wording.template,
            "labels": notation.show_lines(wording.labels),
            "pass_labels": notation.show_lines(wording.pass_labels),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind, labels, passing = self._kind(), self._lines("labels"), self._lines("pass_labels")
        if kind is None:
            self.refuse("kind", "must be grade or label")
            return cleaned
        for sentence in rubric_problems(kind, self._template(), labels, passing):
            field = "template" if "template" in sentence else "labels" if "label" in sentence else "kind"
            if field not in self.errors or field != "template":
                self.refuse("pass_labels" if sentence.startswith("the pass labels") else field, sentence)
        return cleaned

    def _kind(self) -> RubricKind | None:
        given = self.text("kind") or RubricKind.grade.value
        return next((kind for kind in RubricKind if kind.value == given), None)

    def _template(self) -> str:
        stored = self.thing.current if isinstance(self.thing, RubricRow) else None
        return stored.template if stored and self.untouched("template") else self.text("template")

    def _lines(self, name: str) -> tuple[str, ...]:
        stored = self.thing.current if isinstance(self.thing, RubricRow) else None
        if stored and self.untouched(name):
            return tuple(getattr(stored, name))
        return tuple(notation.read_lines(self.text(name)))

    def _wording(self) -> dict[str, Any]:
        stored = self.thing.current if isinstance(self.thing, RubricRow) else None
        return {
            "name": self.cleaned_data.get("name") if self.is_bound else self.initial.get("name", ""),
            "version": stored.number if stored else 1,
            "kind": self._kind() or RubricKind.grade,
            "template": self._template(),
            "labels": self._lines("labels"),
            "pass_labels": self._lines("pass_labels"),
        }

    def save_thing(self, edition: str) -> RubricRow:
        rubric = self.thing if isinstance(self.thing, RubricRow) else None
        return save_rubric(self.user, Rubric.model_validate(self._wording()), rubric=rubric, edition=edition)

    def preview(self) -> dict[str, Any]:
        if self.is_bound:
            self.is_valid()
        # Unchecked on purpose: an author sees what a prompt without a placeholder would lack.
        rubric = Rubric.model_construct(**self._wording())
        case, where = self._sample()
        return {
            "reading": reading(rubric, case)["prompt"],
            "sample": where,
            "placeholders": [(name, "{" + name + "}" in rubric.template) for name in PLACEHOLDERS],
            "by_label": reads_by_label(rubric),
            "is_grade": rubric.kind is RubricKind.grade,
        }

    def _sample(self) -> tuple[EvalCase, str]:
        """A case this rubric grades, else a sample of ours."""
        if self.thing is not None:
            suites = Experiment.objects.filter(rubric=self.thing.pk).values("suite")
            rows = CaseVersion.objects.filter(
                case__suite__in=suites,
                case__archived_at=None,
                pk__in=Case.objects.filter(suite__in=suites).values("current"),
            ).order_by("case__position")
            for row in rows[:200]:
                case = case_of(row)
                if route(case) is SettledBy.judge:
                    return case, f"the case {printable(case.id, 100)}"
        return SAMPLE, "a sample case"


@admin.register(RubricRow, site=site)
class RubricAdmin(AuthoringAdmin[RubricRow]):
    """A new wording is a new version."""

    edit_form = RubricForm
    intro: ClassVar[str] = "What the judge is asked. New wording is a new version; gradings keep theirs."
    list_display = ("name", "kind", "version")
    list_select_related = ("current",)
    search_fields = ("name",)

    def version_text(self, version: Any) -> str:
        return readable(
            {
                "kind": version.kind,
                "labels": version.labels,
                "pass_labels": version.pass_labels,
                "template": version.template,
            }
        )

    @admin.display(description="Gives")
    def kind(self, rubric: RubricRow) -> str:
        return rubric.current.get_kind_display() if rubric.current else "–"

    @admin.display(description="Version")
    def version(self, rubric: RubricRow) -> str:
        return f"v{rubric.current.number}" if rubric.current else "–"
