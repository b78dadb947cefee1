"""The case form: plain fields for domain experts, checked by the suite document's own rules.

What is typed becomes a case entry as a suite file would hold it, so the form refuses exactly what an import
refuses, every reason at once at its field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django import forms
from pydantic import ValidationError

from experiments.admin import notation
from experiments.admin.casetext import as_far_as_readable, placed, plain_entry, shown_case
from experiments.admin.editform import EditForm, Section, area, choice, line
from experiments.admin.notation import NotationError
from experiments.admin.settling import preview_of
from experiments.evaluation import EvalCase
from experiments.hooks import load_hooks
from experiments.mapping import case_of
from experiments.models import Case, Suite
from experiments.services.editing import save_case
from experiments.transfer.suite_file import shape_sentence
from experiments.wire.suite import CaseEntry
from experiments.wire.suite_rules import suite_findings

NONE, REPLAY, FIXTURE = "none", "replay", "fixture"
STARTS = [
    (NONE, "nothing before the question"),
    (REPLAY, "earlier user turns, really sent one by one"),
    (FIXTURE, "a state the system puts in place (a fixture)"),
]

_TAKEN: dict[str, tuple[str, ...]] = {
    **{
        name: (name,)
        for name in (
            *("turn", "expected", "spec_node", "required_phrases", "behaviour", "message", "variant_of"),
            *("reference", "tags", "nuggets", "criteria"),
        )
    },
    "metric": ("metric_id", "metric_version", "metric_params"),
    "setup": ("start", "replay", "fixture", "fixture_parameters", "failing_tools"),
}
"""Which form fields hold each part of a case."""


BEHAVIOURS = [("", "not said"), ("answer", "answer"), ("refuse", "refuse"), ("abstain", "abstain")]


class CaseForm(EditForm):
    """One case of a suite."""

    suite = forms.ModelChoiceField(Suite.objects.all(), label="Suite", empty_label="Choose a suite")
    key = line(
        "Key", "Stable and unique in the suite: runs are compared by it.", required=True, mono=True, most=200
    )
    tags = line("Tags", "Separated by commas.")
    turn = area("Question", "The user turn that is graded.", rows=3, required=True)
    expected = area("Expected outcome", "What a correct answer does, in one sentence.", rows=2)
    behaviour = choice("Behaviour", BEHAVIOURS)
    message = choice("Message the reply must give")

    spec_node = line("Spec node", "The reply must come from this node or one below it.", mono=True)
    required_phrases = area("Required phrases", "One a line; every one must occur in the reply.")
    metric_id = choice("Metric")
    metric_version = forms.IntegerField(label="Version", required=False, min_value=1)
    metric_params = area("Parameters", "As name: value, one a line, or JSON.", rows=2, mono=True)

    start = choice("Before the question", STARTS)
    replay = area(
        "Earlier user turns", "One a line, oldest first. A line --- between turns of several lines.", rows=3
    )
    fixture = line("Fixture", "Its name, as the system knows it.", mono=True)
    fixture_parameters = area("Fixture parameters", "As name: value, one a line, or JSON.", rows=2, mono=True)
    failing_tools = area("Failing tools", "One a line, as tool: what it answers.", rows=2, mono=True)
    variant_of = line("Variant of", "The key of the base case this one rewords.", mono=True)

    required_sources = area(
        "Required",
        "One group a line; any source of a group covers it. Separate them by a space or |.",
        mono=True,
    )
    acceptable_sources = area("Acceptable", "One id a line.", mono=True)
    forbidden_sources = area("Forbidden", "One id a line.", mono=True)
    nuggets = area("Facts of a good answer", "One a line; begin with “optional:” what need not be there.")
    reference = area("Reference answer", "Metrics such as token-f1 compare the reply with it.")
    criteria = area(
        "Criteria of this case",
        "Added to the suite's. A list in YAML or JSON, such as - {kind: reply.max_length, max: 400}",
        rows=4,
        mono=True,
    )

    sections: ClassVar[tuple[Section, ...]] = (
        Section("Case", (("suite", "key"), "turn", "expected", ("behaviour", "message"), "tags")),
        Section(
            "Expectation",
            ("spec_node", "required_phrases", ("metric_id", "metric_version"), "metric_params"),
            "One is enough. Of several the first counts: spec node, phrases, metric. With none the judge "
            "grades the reply against the expected outcome.",
        ),
        Section(
            "Setup",
            ("start", "replay", ("fixture", "fixture_parameters"), "failing_tools", "variant_of"),
            "What is arranged before the question. Only earlier turns prove that a user can get there.",
        ),
        Section(
            "Sources",
            ("required_sources", ("acceptable_sources", "forbidden_sources")),
            "Ids are paths: gdpr/art:17/par:1. A citation at or below a source matches it.",
            folded=True,
        ),
        Section("Content", ("nuggets", "reference"), folded=True),
        Section("Criteria", ("criteria",), folded=True),
    )
    preview_template: ClassVar[str] = "admin/experiments/case/preview.html"
    aside: ClassVar[str] = "How this case will be settled"

    # -- what is shown

    def prepare(self) -> None:
        for name in ("metric_version", "metric_params", "replay", "fixture", "fixture_parameters"):
            # The style sheet hides what the choice above does not read, as long as nothing stands in it.
            self.fields[name].widget.attrs["placeholder"] = " "
        self.value: EvalCase | None = None
        self._unread: set[str] = set()
        self._unsound: set[str] = set()
        if self.thing is not None:
            for name in ("suite", "key"):
                self.fields[name].disabled = True
            self.fields["key"].help_text = "The key never changes: runs are compared by it."
        suite = self._suite()
        messages = _messages(suite)
        self._choices(
            "message",
            {"": "none", **{code: f"{code}: {text}"[:120] for code, text in messages.items()}},
        )
        metrics = {metric.id: metric.id for metric in load_hooks().metrics}
        self._choices("metric_id", {"": "no metric", **metrics})

    def _choices(self, name: str, known: Mapping[str, str]) -> None:
        """The known choices, and the one that is stored already even when it is known no more."""
        stored = str(self.initial.get(name) or "")
        widget = self.fields[name].widget
        assert isinstance(widget, forms.Select)
        widget.choices = list({**known, stored: known.get(stored, f"{stored} (unknown)")}.items())

    def _suite(self) -> Suite | None:
        if isinstance(self.thing, Case):
            return self.thing.suite
        given = self.data.get("suite") if self.is_bound else self.initial.get("suite")
        known = Suite.objects.select_related("current")
        number = str(given or "")
        return known.filter(pk=int(number)).first() if number.isdecimal() else None

    def shown(self, thing: Case) -> dict[str, Any]:
        base = {"suite": thing.suite_id, "key": thing.key}
        return {**base, **(shown_case(case_of(thing.current)) if thing.current else {})}

    # -- what is typed

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        entry = self.entry = self._entry()
        checked = self._checked(entry)
        for path, sentence in self._findings(entry, checked or self._sound_parts(entry)):
            self._find(*placed(path, sentence, entry))
        self.value = checked.value(_messages(self._suite())) if checked and not self.errors else None
        return cleaned

    def _checked(self, entry: dict[str, Any]) -> CaseEntry | None:
        """The entry, or None with every reason at its field."""
        try:
            return CaseEntry.model_validate(entry, context={"registry": load_hooks().criteria})
        except ValidationError as refused:
            self._unsound = {str(details["loc"][0]) for details in refused.errors()}
            for details in refused.errors(include_url=False):
                self._find(*placed(tuple(details["loc"]), shape_sentence(details), entry))
            return None

    def _sound_parts(self, entry: dict[str, Any]) -> CaseEntry | None:
        """The entry without the parts that are wrong, so that what the rest contradicts is said as well."""
        try:
            return CaseEntry.model_validate({k: v for k, v in entry.items() if k not in self._unsound})
        except ValidationError:
            return None

    def _find(self, field: str, sentence: str) -> None:
        """A finding about what was read. A field that is empty or could not be read has said so already."""
        empty = any(error.code == "required" for error in self.errors.as_data().get(field, ()))
        if field not in self._unread and not empty:
            self.refuse(field, sentence)

    def _unreadable(self, field: str, sentence: str) -> None:
        self.refuse(field, sentence)
        self._unread.add(field)

    def _entry(self) -> dict[str, Any]:
        """The case as a suite file would hold it; what was not touched is taken over as it is stored."""
        stored = (
            plain_entry(case_of(self.thing.current))
            if isinstance(self.thing, Case) and self.thing.current
            else {}
        )
        entry: dict[str, Any] = {"id": self.text("key").strip() or str(self.initial.get("key", ""))}
        for name, fields in _TAKEN.items():
            if name in stored and self.untouched(*fields):
                entry[name] = stored[name]
        for name in ("turn", "expected", "spec_node", "behaviour", "message", "variant_of", "reference"):
            text = self.text(name)
            given = text if name in ("turn", "expected", "reference") else text.strip()
            entry.setdefault(name, given or (None if name not in ("turn", "expected") else ""))
        entry.setdefault("required_phrases", notation.read_lines(self.text("required_phrases")))
        entry.setdefault("tags", notation.read_tags(self.text("tags")))
        entry.setdefault("nuggets", notation.read_nuggets(self.text("nuggets")))
        entry.setdefault("sources", self._sources(stored.get("sources", {})))
        entry.setdefault("criteria", self._document("criteria", list))
        entry.setdefault("metric", self._metric())
        entry.setdefault("setup", self._setup())
        return entry

    def _sources(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        roles: dict[str, Any] = {}
        for role in ("required", "acceptable", "forbidden"):
            name = f"{role}_sources"
            if role in stored and self.untouched(name):
                roles[role] = stored[role]
            else:
                read = notation.read_groups if role == "required" else notation.read_lines
                roles[role] = read(self.text(name))
        return roles

    def _metric(self) -> dict[str, Any] | None:
        params = self._document("metric_params", dict)
        name = self.text("metric_id")
        if not name:
            if params:
                self.refuse("metric_id", "Choose the metric these parameters are for.")
            return None
        version = self.text("metric_version").strip()
        return {"id": name, "version": int(version) if version.isdecimal() else 1, "params": params}

    def _setup(self) -> dict[str, Any]:
        start = self.text("start") or NONE
        setup: dict[str, Any] = {"kind": start}
        if start == REPLAY:
            setup = {"kind": REPLAY, "user_turns": notation.read_lines(self.text("replay"))}
        elif start == FIXTURE:
            parameters = self._document("fixture_parameters", dict)
            setup = {"kind": FIXTURE, "name": self.text("fixture").strip(), "parameters": parameters}
        self._unused_setup(start)
        for tool, message in reversed(self._tools()):
            setup = {"kind": "failing_tool", "tool": tool, "message": message, "then": setup}
        return setup

    def _unused_setup(self, start: str) -> None:
        """Text in a field that the chosen start does not read is a mistake, not something to drop."""
        if start != REPLAY and self.text("replay").strip():
            self.refuse("replay", "Not used: choose earlier user turns before the question, or clear this.")
        if start != FIXTURE:
            for name in ("fixture", "fixture_parameters"):
                if self.text(name).strip():
                    self.refuse(name, "Not used: choose a fixture before the question, or clear this.")
        if start == REPLAY and not self.text("replay").strip():
            self._unreadable("replay", "Write the earlier turns, one a line.")
        if start == FIXTURE and not self.text("fixture").strip():
            self._unreadable("fixture", "Name the fixture.")

    def _tools(self) -> list[tuple[str, str]]:
        try:
            return notation.read_tools(self.text("failing_tools"))
        except NotationError as refused:
            self._unreadable("failing_tools", str(refused))
            return []

    def _document(self, name: str, of: Any) -> Any:
        try:
            return notation.read_document(self.text(name), of=of)
        except NotationError as refused:
            self._unreadable(name, str(refused))
            return of()

    def _findings(
        self, entry: dict[str, Any], checked: CaseEntry | None
    ) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """What the suite's rules say about this case among the others of its suite."""
        suite = self._suite()
        if suite is None:
            return
        others = Case.objects.filter(suite=suite).exclude(key=entry["id"])
        raw: list[dict[str, Any]] = [entry, *({"id": key} for key in others.values_list("key", flat=True))]
        if entry["variant_of"]:
            stored = [case.current.content for case in others.select_related("current") if case.current]
            raw = [entry, *stored]
            if any(content.get("variant_of") == entry["id"] for content in stored):
                yield ("variant_of",), "other cases are variants of this one"
        if self.thing is None and Case.objects.filter(suite=suite, key=entry["id"]).exists():
            yield ("id",), f"{suite} has a case {entry['id']} already"
        rules = suite.current
        for path, sentence in suite_findings(
            {0: checked} if checked else {},
            raw,
            messages=_messages(suite),
            graded_by_suite=bool(rules and rules.criteria),
            metrics=load_hooks().metrics,
        ):
            if path[:2] == ("cases", 0):
                yield path[2:], sentence

    # -- what happens to it

    def save_thing(self, edition: str) -> Case:
        suite = self._suite()
        if self.value is None or suite is None:
            raise ValueError("a form with mistakes is not saved")
        case = self.thing if isinstance(self.thing, Case) else None
        return save_case(self.user, self.value, suite=suite, case=case, edition=edition)

    def preview(self) -> dict[str, Any]:
        return preview_of(self._suite(), self._draft(), self._mistakes())

    def _draft(self) -> EvalCase:
        """The case as far as it can be read."""
        if self.is_bound:
            self.is_valid()
            return self.value or as_far_as_readable(self.entry)
        if isinstance(self.thing, Case) and self.thing.current:
            return case_of(self.thing.current)
        return EvalCase(id="new", turn="")

    def _mistakes(self) -> list[tuple[str, str]]:
        if not self.is_bound:
            return []
        return [
            (str(self.fields[name].label) if name in self.fields else "", str(sentence))
            for name, sentences in self.errors.items()
            for sentence in sentences
        ]


def _messages(suite: Suite | None) -> dict[str, str]:
    return dict(suite.current.messages) if suite and suite.current else {}
