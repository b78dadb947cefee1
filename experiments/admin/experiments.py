"""Experiments in the admin: what to run, and how many cases would be settled by what."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.urls import reverse

from experiments.admin import notation
from experiments.admin.base import AuthoringAdmin
from experiments.admin.editform import EditForm, Section, choice, line
from experiments.admin.settling import count_line, values_of
from experiments.admin.site import site
from experiments.mapping import criteria_of
from experiments.models import (
    MAX_LANES,
    Corpus,
    Experiment,
    JudgeModel,
    Policy,
    Rubric,
    SettleChoice,
    Suite,
    Target,
)
from experiments.services.configuring import save_experiment

MAX_REPEATS = 1_000
MAX_SECONDS = 86_400


def _one_of(model: type[models.Model], label: str, help_text: str = "", *, required: bool = False) -> Any:
    return forms.ModelChoiceField(
        model._default_manager.all(),  # noqa: SLF001 - Django's documented way to any model's rows
        label=label,
        help_text=help_text,
        required=required,
        empty_label="Choose one" if required else "none",
    )


def _whole(label: str, help_text: str, most: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, help_text=help_text, min_value=1, max_value=most)


class ExperimentForm(EditForm):
    """An experiment's setup. A run pins what is current when it starts."""

    name = forms.SlugField(label="Name", max_length=100, help_text="Letters, digits, - and _.")
    suite = _one_of(Suite, "Suite", required=True)
    tags = line("Only cases tagged", "Separated by commas; a case with any of them counts. Empty for all.")
    target = _one_of(Target, "Target", "The system under test.")
    policy = _one_of(Policy, "Policy", "The rules the system is given.")
    rubric = _one_of(Rubric, "Rubric", "What the judge is asked.")
    judge = _one_of(JudgeModel, "Judge", "The model that grades.")
    corpus = _one_of(Corpus, "Corpus", "Where citations are looked up.")
    settle_mode = choice("An attempt is settled", SettleChoice.choices)
    lanes = _whole("Lanes", f"Attempts at once, 1 to {MAX_LANES}.", MAX_LANES)
    repeats = _whole("Repeats", "Attempts of each case.", MAX_REPEATS)
    attempt_seconds = _whole("Deadline", "Seconds for one attempt, judge included.", MAX_SECONDS)
    accept_errors = forms.BooleanField(
        label="Start although a service is missing; its criteria are then errors", required=False
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("What is asked", ("name", ("suite", "tags"), ("target", "policy"))),
        Section("How it is graded", ("settle_mode", ("rubric", "judge"), "corpus", "accept_errors")),
        Section("How it is run", (("lanes", "repeats", "attempt_seconds"),)),
    )
    preview_template: ClassVar[str] = "admin/experiments/experiment/preview.html"
    aside: ClassVar[str] = "What a run would do"

    def prepare(self) -> None:
        if self.thing is None:
            fresh = Experiment()
            for name in ("lanes", "repeats", "attempt_seconds"):
                self.initial.setdefault(name, getattr(fresh, name))

    def shown(self, thing: Experiment) -> dict[str, Any]:
        plain = ("name", "settle_mode", "lanes", "repeats", "attempt_seconds", "accept_errors")
        chosen = ("suite", "target", "policy", "rubric", "judge", "corpus")
        return {
            **{name: getattr(thing, name) for name in plain},
            **{name: getattr(thing, f"{name}_id") for name in chosen},
            "tags": notation.show_tags(thing.tags),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("settle_mode", "") not in SettleChoice.values:
            self.refuse("settle_mode", "must be one of the choices")
        return cleaned

    def save_thing(self, edition: str) -> Experiment:
        fields = {name: self.cleaned_data[name] for name in self.fields if name not in ("edition", "tags")}
        fields["tags"] = self._tags()
        experiment = self.thing if isinstance(self.thing, Experiment) else None
        return save_experiment(self.user, experiment=experiment, fields=fields, edition=edition)

    def _tags(self) -> list[str]:
        if isinstance(self.thing, Experiment) and self.untouched("tags"):
            return list(self.thing.tags)
        return notation.read_tags(self.text("tags"))

    def preview(self) -> dict[str, Any]:
        given = self.text("suite")
        suites = Suite.objects.select_related("current")
        suite = suites.filter(pk=int(given)).first() if given.isdecimal() and len(given) < 19 else None
        if suite is None:
            return {"suite": None}
        chosen = self.text("settle_mode")
        repeats = self.text("repeats")
        cases = values_of(suite, tuple(self._tags()))
        criteria = criteria_of(suite.current) if suite.current else ()
        mode = chosen if chosen in SettleChoice.values else ""
        count = count_line(cases, criteria, mode)
        times = int(repeats) if repeats.isdecimal() and 1 <= len(repeats) <= 6 else 0
        return {
            "suite": suite,
            "count": count,
            "attempts": count.cases * times,
            "repeats": times,
            "missing": self._missing(dict(count.groups)),
        }

    def _missing(self, groups: dict[str, int]) -> list[str]:
        """What a run would be refused for, as far as the form alone can tell."""
        said = [f"No {what} is chosen." for what in ("target", "policy", "rubric") if not self.text(what)]
        if groups.get("the judge") and not self.text("judge"):
            said.append("The judge settles cases, and no judge is chosen.")
        return said


@admin.register(Experiment, site=site)
class ExperimentAdmin(AuthoringAdmin[Experiment]):
    """What to run."""

    edit_form = ExperimentForm
    versioned = False
    intro: ClassVar[str] = "What to run. A run pins the versions that are current when it starts."
    list_display = ("name", "suite", "target", "policy", "rubric", "lanes", "repeats")
    list_filter = ("suite",)
    list_select_related = ("suite", "target", "policy", "rubric")
    search_fields = ("name",)

    def tools(self, thing: Experiment) -> tuple[dict[str, Any], ...]:
        return ({"label": "Its page and Start", "url": reverse("web:experiment", args=[thing.pk])},)
