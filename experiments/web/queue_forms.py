"""What the citation queue accepts in its addresses and in what is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms

from experiments.selectors.queue import FILTERS
from experiments.services.adjudication import Answer
from experiments.web.forms import PageQuery

REASON_LENGTH = 10_000
DRAFTED = ("role", "group", "reason", "everywhere")


class QueueQuery(PageQuery):
    """The list: a tab and a search."""

    state = forms.ChoiceField(required=False, choices=[(name, "") for name in FILTERS])
    q = forms.CharField(required=False, max_length=200)


class ItemQuery(PageQuery):
    """One item: the tab it was opened from, and which reply of several is shown."""

    state = forms.ChoiceField(required=False, choices=[(name, "") for name in FILTERS])
    at = forms.IntegerField(required=False, min_value=1, max_value=1000)


class DecisionForm(forms.Form):
    """A reviewer's answer with the lease and the version of the item as they were when the page was made.

    What of the answer is missing or odd is for the service to refuse, with every reason at once.
    """

    lease = forms.UUIDField(required=False)
    version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def read(self) -> tuple[Answer, UUID | None, int]:
        """The answer as sent, the lease and the version; a lease that cannot be read counts as none."""
        self.is_valid()
        return answer_from(self.data), self.cleaned_data.get("lease"), self.cleaned_data.get("version") or 0


def answer_from(values: Mapping[str, Any]) -> Answer:
    """The answer in a form or an address."""
    role = str(values.get("role") or "")
    group = str(values.get("group") or "")
    return Answer(
        role=role,
        group=int(group) if role == "required" and _is_index(group) else None,
        reason=str(values.get("reason") or ""),
        everywhere=bool(values.get("everywhere")),
    )


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 5


def draft_from(values: Mapping[str, Any]) -> dict[str, str]:
    """What is kept of a form that is still being written."""
    return {name: str(values.get(name) or "")[:REASON_LENGTH] for name in DRAFTED}
