"""What pages accept in their address and in what is sent. A value that is not understood counts as absent."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from experiments.evaluation import CaseVerdict
from experiments.models import RunState
from experiments.selectors.run import SORTS, CaseFilter


class _Query(forms.Form):
    """A query string that cannot be wrong: `values` holds what was understood and "" for the rest."""

    @classmethod
    def values(cls, query: QueryDict) -> dict[str, Any]:
        form = cls(query)
        form.is_valid()
        return {name: form.cleaned_data.get(name, "") for name in form.fields}


class PageQuery(_Query):
    before = forms.CharField(required=False, max_length=80)
    after = forms.CharField(required=False, max_length=80)


class CasesQuery(PageQuery):
    """The case table of a run."""

    verdict = forms.ChoiceField(required=False, choices=[(verdict.value, "") for verdict in CaseVerdict])
    q = forms.CharField(required=False, max_length=200)
    sort = forms.ChoiceField(required=False, choices=[(sort, "") for sort in SORTS])

    @classmethod
    def filter(cls, query: QueryDict) -> CaseFilter:
        values = cls.values(query)
        return CaseFilter(
            verdict=values["verdict"],
            search=values["q"],
            sort=values["sort"],
            before=values["before"],
            after=values["after"],
        )


class RunsQuery(PageQuery):
    """The list of runs."""

    experiment = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    state = forms.ChoiceField(required=False, choices=RunState.choices)


class CompareQuery(PageQuery):
    """Two runs side by side; `anyway` shows figures of runs that cannot be compared."""

    a = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    b = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    anyway = forms.BooleanField(required=False)


class ExperimentsQuery(PageQuery):
    """The list of experiments."""

    q = forms.CharField(required=False, max_length=200)


class StartForm(forms.Form):
    """A start carries the token of the page it was clicked on: a second click starts nothing new."""

    token = forms.UUIDField()


class ThemeForm(forms.Form):
    theme = forms.ChoiceField(choices=[("auto", "system"), ("light", "light"), ("dark", "dark")])
    next = forms.CharField(required=False, max_length=2000)
