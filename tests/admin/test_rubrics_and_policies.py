"""Rubrics and policies: wording as versions, and what the judge will read."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Policy, Rubric, RubricVersion, Suite
from tests.admin.conftest import As, typed
from tests.admin.test_doors import GRADE, address
from tests.factories import make_case, make_experiment


@pytest.fixture
def rubric(author: Client) -> Rubric:
    form = {"name": "strict", "kind": "grade", "template": GRADE}
    assert author.post(address("rubric", "add"), form).status_code == 302
    return Rubric.objects.get()


def current(rubric: Rubric) -> RubricVersion:
    version = Rubric.objects.select_related("current").get(pk=rubric.pk).current
    assert version is not None
    return version


def test_new_wording_is_a_new_version_and_the_old_one_stays(author: Client, rubric: Rubric) -> None:
    url = address("rubric", "change", rubric.pk)
    author.post(url, typed(author, url, template=f"Be strict.\n{GRADE}"))
    assert current(rubric).template == f"Be strict.\n{GRADE}"
    assert rubric.versions.get(number=1).template == GRADE
    author.post(url, typed(author, url))
    assert current(rubric).number == 2


def test_a_grade_rubric_that_omits_placeholders_is_refused_with_their_names(
    author: Client, rubric: Rubric
) -> None:
    url = address("rubric", "change", rubric.pk)
    answer = author.post(url, typed(author, url, template="Grade {system_output} {expected_outcome}"))
    assert answer.status_code == 422
    assert answer.context["form"].errors["template"] == [
        "The template omits {replay_history}, {simulation_history}"
    ]


def test_a_label_rubric_needs_labels_and_passing_ones_among_them(author: Client) -> None:
    form = {
        "name": "kind",
        "kind": "label",
        "template": "Is it kind?",
        "labels": "yes\nno",
        "pass_labels": "maybe",
    }
    answer = author.post(address("rubric", "add"), form)
    assert answer.context["form"].errors["pass_labels"] == ["The pass labels must be some of the labels"]
    assert author.post(address("rubric", "add"), {**form, "pass_labels": "yes"}).status_code == 302
    version = current(Rubric.objects.get())
    assert (version.labels, version.pass_labels) == (["yes", "no"], ["yes"])


def test_the_panel_shows_the_prompt_as_the_judge_reads_it_for_a_case_it_grades(
    author: Client, rubric: Rubric, suite: Suite
) -> None:
    make_case(suite, "by-phrase", required_phrases=["x"])
    make_case(suite, "by-judge", turn="May I bring my dog?", expected="the reply is kind")
    make_experiment(suite=suite, rubric=rubric)
    url = address("rubric", "change", rubric.pk)
    shown = author.get(url).context
    assert shown["sample"] == "the case by-judge"
    assert "May I bring my dog?" in shown["reading"]
    form = {**typed(author, url, template="ONLY {expected_outcome}"), "_preview": "1"}
    answer = author.post(url, form, headers={"HX-Request": "true"})
    assert "ONLY the reply is kind" in answer.text
    assert answer.context["placeholders"] == [
        ("replay_history", False),
        ("simulation_history", False),
        ("system_output", False),
        ("expected_outcome", True),
    ]
    assert current(rubric).number == 1


def test_the_panel_says_how_the_answer_is_read(author: Client, rubric: Rubric) -> None:
    url = address("rubric", "change", rubric.pk)
    assert "a bare number" in author.get(url).text
    labelled = {**typed(author, url, template=f"{GRADE}\nSCORE: 1 to 10\nREASON: why"), "_preview": "1"}
    assert "by its labels SCORE and REASON" in author.post(url, labelled, headers={"HX-Request": "true"}).text


def test_a_policy_is_saved_as_typed_and_kept_by_version(author: Client) -> None:
    form = {"name": "desk", "text_": "  Be kind.\r\n\r\nNever lie. \r\n"}
    assert author.post(address("policy", "add"), form).status_code == 302
    policy = Policy.objects.select_related("current").get()
    assert policy.current is not None
    assert policy.current.text == "  Be kind.\n\nNever lie. \n"
    url = address("policy", "change", policy.pk)
    author.post(url, typed(author, url))
    assert policy.versions.count() == 1
    author.post(url, typed(author, url, text_="Be brief."))
    assert policy.versions.count() == 2


def test_an_empty_policy_is_refused_at_its_field(author: Client) -> None:
    answer = author.post(address("policy", "add"), {"name": "desk", "text_": ""})
    assert answer.context["form"].errors["text_"] == ["This field is required."]
    assert not Policy.objects.exists()


def test_a_colleagues_newer_policy_is_shown_beside_the_own(as_: As, author: Client) -> None:
    author.post(address("policy", "add"), {"name": "desk", "text_": "one"})
    url = address("policy", "change", Policy.objects.get().pk)
    bram = as_("author")
    his = typed(bram, url, text_="his")
    author.post(url, typed(author, url, text_="hers"))
    answer = bram.post(url, his)
    assert answer.status_code == 409
    assert "hers" in answer.text
    assert answer.context["form"]["text_"].value() == "his"
    assert "Save mine on top" in answer.text
