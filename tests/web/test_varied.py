"""A case whose attempts differ: what differs, where, why, and two attempts side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from experiments import models as m
from experiments.evaluation import Evidence
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, ready_experiment, says
from tests.web.test_run import seen

pytestmark = pytest.mark.django_db

CRITERIA = [{"kind": "citations.required", "gate": True}, {"kind": "run.no_failure"}]
LONG = "\n".join(f"line {number}" for number in range(12))


def answers(key: str, number: int) -> Evidence:
    if key == "steady":
        return says("Always the same.", "law/art:1")
    if number in (2, 4):
        return says(f"You can return it within the usual period.\n{LONG}")
    return says(f"You can return it within 30 days.\n{LONG}", "law/art:1")


@pytest.fixture
def run() -> Iterator[m.Run]:
    with answering_target() as target:
        suite = make_suite(criteria=CRITERIA)
        for key in ("varies", "steady"):
            make_case(suite, key, sources={"required": [["law/art:1"]]})
        yield finished_run(ready_experiment(target, suite, repeats=5), answers)


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(make_user("viewer"), "django.contrib.auth.backends.ModelBackend")
    return client


def address(run: m.Run, key: str, query: str = "") -> str:
    row = m.CaseResult.objects.get(grading__run=run, case__key=key)
    return reverse("web:case_in_run", args=[run.pk, row.pk]) + query


def test_the_page_says_that_it_varied_how_uncertain_that_is_and_what_it_comes_from(
    reader: Client, run: m.Run
) -> None:
    text = seen(reader.get(address(run, "varies")).content.decode())
    assert "passed 3 of 5; true rate between 23% and 88%" in text
    assert "differs because of: system" in text
    assert "2 distinct replies: ×3, ×2" in text
    assert text.count("same as 1") == 2
    assert text.count("same as 2") == 1


def test_a_passing_and_a_failing_attempt_stand_side_by_side_with_their_words_marked(
    reader: Client, run: m.Run
) -> None:
    html = reader.get(address(run, "varies")).content.decode()
    assert "30 days" in html.split("<ins>")[1].split("</ins>")[0]
    assert "the usual period" in html.split("<del>")[1].split("</del>")[0]
    assert html.count("first difference") == 2
    assert html.count("equal lines folded") == 2
    assert '<ins class="cite"><code>' in html
    assert "cites nothing" in seen(html)


def test_any_two_attempts_can_be_chosen_by_address_and_nonsense_chooses_the_default(
    reader: Client, run: m.Run
) -> None:
    chosen = reader.get(address(run, "varies", "?left=3&right=5")).context["page"].varied
    assert (chosen.left, chosen.right) == (3, 5)
    assert chosen.difference.equal
    for query in ("?left=99&right=x", "?left=-1", "?right=" + "9" * 400, "?left=²"):
        varied = reader.get(address(run, "varies", query)).context["page"].varied
        assert (varied.left, varied.right) == (1, 2)


def test_the_criterion_that_flips_stands_first_in_the_grid(reader: Client, run: m.Run) -> None:
    varied = reader.get(address(run, "varies")).context["page"].varied
    assert [(line.kind, line.flips) for line in varied.grid] == [
        ("citations.required", True),
        ("run.no_failure", False),
    ]
    assert [cell.status for cell in varied.grid[0].cells] == ["pass", "fail", "pass", "fail", "pass"]


def test_a_case_that_does_not_vary_claims_no_source_of_a_difference(reader: Client, run: m.Run) -> None:
    text = seen(reader.get(address(run, "steady")).content.decode())
    assert "differs because of" not in text
    assert "1 distinct reply: ×5" in text
    assert "true rate between 57% and 100%" in text


def test_hostile_replies_are_compared_and_stay_inert(reader: Client) -> None:
    def hostile(_: str, number: int) -> Evidence:
        start = "<script>alert(1)</script>\x00\ud800\u202e"
        return says(start + ("javascript:alert(1)" if number == 1 else "<img src=x onerror=alert(2)>"))

    with answering_target() as target:
        suite = make_suite(criteria=CRITERIA)
        make_case(suite, "varies")
        run = finished_run(ready_experiment(target, suite, repeats=2), hostile)
    response = reader.get(address(run, "varies"))
    html = response.content.decode()
    assert response.status_code == 200
    assert "<script>alert" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
