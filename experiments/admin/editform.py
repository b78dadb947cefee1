"""What every editing form shares: sections, one look, the edition it was read at, a colleague's newer save.

A form shows its thing as text fields and saves through one service. Nothing typed is ever lost: a refused or
conflicting form comes back as it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.db import models

from experiments.admin.notation import unix_lines
from experiments.models import Activity, User
from experiments.services.edits import EditConflictError, EditRefusedError, edition_of

_NAMED = re.compile(r"[\w.-]+[:,]")
"""A sentence that begins with the name of a parameter, whose letters mean something."""


@dataclass(frozen=True)
class Section:
    """A titled group of fields. `rows` holds fields, or tuples of fields that stand side by side; a `folded`
    section is closed unless one of its fields holds something or is wrong."""

    title: str
    rows: tuple[str | tuple[str, ...], ...]
    note: str = ""
    folded: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for row in self.rows for name in ((row,) if isinstance(row, str) else row))


@dataclass(frozen=True)
class Differing:
    """One field that both people changed or that only one did: the text as saved, and the text as typed."""

    label: str
    theirs: str
    yours: str


@dataclass(frozen=True)
class Conflict:
    """A colleague saved first. `edition` is what saving on top must name."""

    edition: str
    who: str
    when: Any
    differing: tuple[Differing, ...]


class EditForm(forms.Form):
    """A form over one thing. Subclasses say `sections`, `shown` and `save_thing`."""

    edition = forms.CharField(required=False, widget=forms.HiddenInput)

    sections: ClassVar[tuple[Section, ...]] = ()
    preview_template: ClassVar[str] = ""
    """The template of the live panel beside the form; without one there is no preview."""
    aside: ClassVar[str] = ""
    """What the panel is called."""
    has_file: ClassVar[bool] = False
    field_of: ClassVar[Mapping[str, str]] = {}
    """Which form field a service's field name means, where the names differ."""

    def __init__(
        self,
        data: Any = None,
        files: Any = None,
        *,
        user: User,
        thing: models.Model | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        self.user, self.thing = user, thing
        shown = {**(self.shown(thing) if thing else {}), **(start or {}), "edition": edition_of(thing)}
        super().__init__(data, files, initial=shown, label_suffix="")
        self.conflict: Conflict | None = None
        self.prepare()
        for field in self.fields.values():
            _dress(field)

    # -- what a subclass says

    def shown(self, thing: Any) -> dict[str, Any]:
        """The thing as the texts of the fields."""
        raise NotImplementedError

    def save_thing(self, edition: str) -> models.Model:
        """Save through the service and return the thing as it is then."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Fill in choices and lock what cannot change any more."""

    def preview(self) -> dict[str, Any]:
        """What the live panel shows for the form as it stands, valid or not."""
        return {}

    # -- what they share

    def save(self) -> models.Model | None:
        """The saved thing, or None with the reasons at their fields or the conflict beside them."""
        try:
            return self.save_thing(self._edition())
        except EditConflictError as conflict:
            self._show(conflict.current, conflict.edition)
        except EditRefusedError as refused:
            for field, sentence in refused.problems:
                self.refuse(self.field_of.get(field, field), sentence)
        return None

    def check_edition(self) -> None:
        """Show a newer save also when the form has mistakes, so that nobody mends them in vain."""
        now = edition_of(self.thing)
        if self.thing is not None and self._edition() != now:
            self._show(self.thing, now)

    def _edition(self) -> str:
        return str(self.data.get("_over") or self.data.get("edition", ""))

    def _show(self, current: models.Model, edition: str) -> None:
        theirs = {name: _said(value) for name, value in self.shown(current).items()}
        yours = {name: _said(self[name].value()) for name in self.fields}
        differing = tuple(
            Differing(str(self.fields[name].label or name), theirs[name], yours[name])
            for name in self.fields
            if name in theirs and name in yours and theirs[name] != yours[name]
        )
        who, when = _last_saved(current)
        self.conflict = Conflict(edition, who, when, differing)

    def refuse(self, field: str, sentence: str) -> None:
        """Put a reason at its field, or above the form when it has no field here."""
        if not _NAMED.match(sentence):
            sentence = sentence[:1].upper() + sentence[1:]
        self.add_error(field if field in self.fields else None, sentence)

    def untouched(self, *names: str) -> bool:
        """Whether these fields still read as they were shown: then the stored value is kept as it is, even
        where a text field cannot hold it."""
        return all(self._typed(name) == self._shown(name) for name in names)

    def _typed(self, name: str) -> str:
        return self._on_its_lines(name, self[name].value())

    def _shown(self, name: str) -> str:
        return self._on_its_lines(name, self.get_initial_for_field(self.fields[name], name))

    def _on_its_lines(self, name: str, value: Any) -> str:
        # A browser takes line ends out of a one-line field.
        text = _said(value)
        return text if isinstance(self.fields[name].widget, forms.Textarea) else text.replace("\n", "")

    def text(self, name: str) -> str:
        """What stands in a field, valid or not, with Unix line ends."""
        return _said(self[name].value())

    def laid_out(self) -> Iterable[dict[str, Any]]:
        """The sections for the template."""
        for section in self.sections:
            rows = [
                [self[name] for name in ((row,) if isinstance(row, str) else row) if name in self.fields]
                for row in section.rows
            ]
            inside = [name for name in section.fields if name in self.fields]
            is_open = any(self.text(name) or (self.is_bound and name in self.errors) for name in inside)
            yield {"section": section, "rows": [row for row in rows if row], "is_open": is_open}


def _said(value: Any) -> str:
    return "" if value is None else unix_lines(str(value))


def _last_saved(thing: models.Model) -> tuple[str, Any]:
    last = Activity.objects.filter(object_type=type(thing).__name__.lower(), object_id=thing.pk).first()
    return (last.actor_name, last.at) if last else ("Somebody", None)


def _dress(field: forms.Field) -> None:
    widget = field.widget
    if isinstance(widget, forms.CheckboxInput | forms.HiddenInput):
        return
    kind = "form-control form-select" if isinstance(widget, forms.Select) else "form-control"
    widget.attrs["class"] = f"{kind} {widget.attrs.get('class', '')}".strip()
    if isinstance(widget, forms.Textarea | forms.TextInput) and not isinstance(widget, forms.NumberInput):
        widget.attrs.setdefault("dir", "auto")
        widget.attrs.setdefault("autocomplete", "off")
    if "mono" in widget.attrs["class"].split():
        widget.attrs.update({"spellcheck": "false", "autocapitalize": "off"})


def line(
    label: str, help_text: str = "", *, required: bool = False, mono: bool = False, most: int = 0
) -> forms.CharField:
    """A text of one line."""
    widget = forms.TextInput(attrs={"class": "mono"} if mono else {})
    return forms.CharField(
        label=label, help_text=help_text, required=required, widget=widget, max_length=most or None
    )


def area(
    label: str, help_text: str = "", *, rows: int = 3, required: bool = False, mono: bool = False
) -> forms.CharField:
    """A text of several lines, kept as typed."""
    widget = forms.Textarea(attrs={"rows": rows, **({"class": "mono"} if mono else {})})
    return forms.CharField(label=label, help_text=help_text, required=required, strip=False, widget=widget)


def choice(label: str, choices: Iterable[tuple[str, str]] = (), help_text: str = "") -> forms.CharField:
    """One of several; what it may hold is decided where the form is checked, with a sentence of its own."""
    widget = forms.Select(choices=list(choices))
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)
