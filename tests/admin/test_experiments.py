"""Experiments: limits, what a run would do, and who may set one up."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Activity, Case, Experiment, Suite
from tests.admin.conftest import As, typed
from tests.admin.test_doors import address
from tests.factories import make_case, make_experiment, make_target


def test_an_author_sets_up_an_experiment(author: Client, suite: Suite) -> None:
    target = make_target()
    url = address("experiment", "add")
    form = typed(
        author, url, name="daily", suite=str(suite.pk), target=str(target.pk), tags="a, b", lanes="512"
    )
    assert author.post(url, form).status_code == 302
    experiment = Experiment.objects.get()
    assert (experiment.lanes, experiment.repeats, experiment.tags) == (512, 5, ["a", "b"])
    assert experiment.target == target
    assert Activity.objects.get().after["suite"] == {"id": suite.pk, "name": "refunds"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"lanes": "0"}, "lanes"),
        ({"lanes": "513"}, "lanes"),
        ({"lanes": "many"}, "lanes"),
        ({"repeats": "0"}, "repeats"),
        ({"repeats": "100000"}, "repeats"),
        ({"attempt_seconds": "0"}, "attempt_seconds"),
        ({"suite": "999999"}, "suite"),
        ({"suite": ""}, "suite"),
        ({"settle_mode": "by lot"}, "settle_mode"),
        ({"name": ""}, "name"),
    ],
)
def test_a_limit_is_refused_at_its_field(
    author: Client, suite: Suite, fields: dict[str, str], field: str
) -> None:
    url = address("experiment", "add")
    form = {**typed(author, url), "name": "daily", "suite": str(suite.pk), **fields}
    answer = author.post(url, form)
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not Experiment.objects.exists()


def test_the_panel_counts_cases_by_what_settles_them_and_multiplies(
    author: Client, suite: Suite, case: Case
) -> None:
    make_case(suite, "judged", expected="kind", tags=["x"])
    make_case(suite, "gone", tags=["x"]).__class__.objects.filter(key="gone").update(
        archived_at="2026-01-01T00:00Z"
    )
    url = address("experiment", "add")
    form = {
        **typed(author, url, suite=str(suite.pk), repeats="3", settle_mode="expectation"),
        "_preview": "1",
    }
    shown = author.post(url, form, headers={"HX-Request": "true"}).context
    assert shown["count"].groups == (("required phrases", 1), ("the judge", 1))
    assert shown["attempts"] == 6
    assert "The judge settles cases, and no judge is chosen." in shown["missing"]
    tagged = author.post(url, {**form, "tags": "x"}, headers={"HX-Request": "true"}).context
    assert tagged["count"].cases == 1
    by_default = author.post(url, {**form, "settle_mode": ""}, headers={"HX-Request": "true"}).context
    assert by_default["count"].groups == (("criteria", 2),)


def test_the_panel_stands_whatever_is_typed(author: Client) -> None:
    url = address("experiment", "add")
    for suite in ("", "x", "-1", "9" * 40, "\x00"):
        form = {"suite": suite, "repeats": "9" * 40, "settle_mode": "x", "_preview": "1"}
        assert author.post(url, form, headers={"HX-Request": "true"}).status_code == 200


def test_a_saved_experiment_leads_to_its_page_and_keeps_its_history(author: Client) -> None:
    experiment = make_experiment()
    url = address("experiment", "change", experiment.pk)
    assert f"/experiments/{experiment.pk}/" in author.get(url).text
    author.post(url, typed(author, url, lanes="9"))
    experiment.refresh_from_db()
    assert experiment.lanes == 9
    line = Activity.objects.get()
    assert (line.before, line.after) == ({"lanes": 4}, {"lanes": 9})


def test_a_colleagues_newer_setup_is_shown_beside_the_own(as_: As) -> None:
    experiment = make_experiment()
    url = address("experiment", "change", experiment.pk)
    ana, bram = as_("author"), as_("author")
    his = typed(bram, url, lanes="7")
    ana.post(url, typed(ana, url, repeats="9"))
    answer = bram.post(url, his)
    assert answer.status_code == 409
    assert {one.label for one in answer.context["form"].conflict.differing} == {"Lanes", "Repeats"}
    experiment.refresh_from_db()
    assert (experiment.lanes, experiment.repeats) == (4, 9)
