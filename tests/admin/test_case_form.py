"""The case form: what authors type, what it says back, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from experiments.mapping import case_of
from experiments.models import Activity, Case, CaseVersion, Suite
from experiments.services.edits import edition_of
from tests.admin.conftest import As, typed
from tests.admin.test_doors import address
from tests.factories import make_case, make_experiment, make_suite

HOSTILE = '<script>alert(1)</script> \u202egnp.exe "quoted" & {{ 7|add:7 }} {% now "Y" %}'

FULL: dict[str, Any] = {
    "turn": "And when is it paid?\nPlease say.",
    "expected": "the reply says within 30 days",
    "spec_node": "RF-04.2",
    "setup": {
        "kind": "failing_tool",
        "tool": "ledger",
        "message": "503: down",
        "then": {
            "kind": "failing_tool",
            "tool": "mail",
            "message": "refused",
            "then": {"kind": "replay", "user_turns": ["Hello", "one\n\ntwo"]},
        },
    },
    "behaviour": "refuse",
    "message": "no_advice",
    "message_text": "I do not give legal advice.",
    "sources": {"required": [["a/1", "a/2"], ["b c"]], "acceptable": ["x y"], "forbidden": ["z"]},
    "nuggets": [{"text": "thirty days", "vital": True}, {"text": "optional: no", "vital": False}],
    "reference": "  Within 30 days.\n",
    "tags": ["refunds", "walked"],
    "criteria": [
        {"kind": "reply.contains", "params": {"regex": [r"\b6:162\b"]}, "weight": 0.5, "gate": True},
        {"kind": "reply.max_length", "params": {"max": 80}, "weight": None, "gate": False},
    ],
}


def change(case: Case) -> str:
    return address("case", "change", case.pk)


def latest(case: Case) -> CaseVersion:
    version = Case.objects.select_related("current").get(pk=case.pk).current
    assert version is not None
    return version


def test_saving_a_change_makes_a_new_version_and_says_who(author: Client, case: Case) -> None:
    answer = author.post(
        change(case), typed(author, change(case), expected="the reply says six weeks, in writing")
    )
    assert answer.status_code == 302
    version = latest(case)
    assert (version.number, case_of(version).expected) == (2, "the reply says six weeks, in writing")
    line = Activity.objects.get(verb="edited", object_id=case.pk)
    assert line.before == {"version": 1, "expected": "the reply says six weeks"}
    assert line.after == {"version": 2, "expected": "the reply says six weeks, in writing"}
    assert line.actor_name == version.created_by.get_username()  # type: ignore[union-attr]


def test_saving_without_a_change_makes_no_version_and_no_activity(author: Client, case: Case) -> None:
    answer = author.post(change(case), typed(author, change(case)), follow=True)
    assert "Nothing changed: objection-period v1 stays as it was." in answer.text
    assert latest(case).number == 1
    assert not Activity.objects.exists()


def test_every_part_of_a_case_survives_a_save_that_touches_only_its_tags(
    author: Client, suite: Suite
) -> None:
    case = make_case(suite, "full", **FULL)
    before = case_of(latest(case))
    author.post(change(case), typed(author, change(case), tags="refunds, walked, new"))
    after = case_of(latest(case))
    assert after.tags == ("refunds", "walked", "new")
    assert after.model_copy(update={"tags": before.tags}) == before
    assert latest(case).fingerprint == case.current.fingerprint  # type: ignore[union-attr]


def test_what_no_text_field_can_hold_survives_a_save_of_something_else(author: Client, suite: Suite) -> None:
    odd = "ends in \r\n, NUL \x00, half a pair \ud83d"
    case = make_case(suite, "odd", turn=odd, expected="fine", required_phrases=["  spaced  ", "two\nlines"])
    answer = author.post(change(case), typed(author, change(case), expected="finer"))
    assert answer.status_code == 302
    after = case_of(latest(case))
    assert (after.turn, after.expected) == (odd, "finer")
    assert after.required_phrases == ("  spaced  ", "two\nlines")


def test_a_new_case_takes_the_end_of_its_suite_and_the_text_of_its_message(
    author: Client, suite: Suite, case: Case
) -> None:
    form = typed(
        author,
        address("case", "add") + f"?suite={suite.pk}",
        key="advice",
        turn="What are my chances?",
        expected="the reply gives no advice",
        behaviour="refuse",
        message="no_advice",
        start="replay",
        replay="Hello\n\nI have a question",
        required_sources="hb/art:2 hb/art:3\nhb/art 4 | hb/art:5",
        nuggets="free counter\noptional: opening hours",
        failing_tools="ledger: 503: down",
        criteria="- {kind: reply.max_length, max: 300}",
        tags="limits, limits, manners",
        metric_id="latency-budget",
        metric_params="budget: 2.5",
    )
    answer = author.post(address("case", "add"), form)
    assert answer.status_code == 302, answer.text
    made = Case.objects.get(key="advice")
    assert made.position == case.position + 1
    value = case_of(latest(made))
    assert value.message_text == "I do not give legal advice."
    assert value.setup.model_dump() == {
        "kind": "failing_tool",
        "tool": "ledger",
        "message": "503: down",
        "then": {"kind": "replay", "user_turns": ("Hello", "I have a question")},
    }
    assert value.sources.required == (("hb/art:2", "hb/art:3"), ("hb/art 4", "hb/art:5"))
    assert [(nugget.text, nugget.vital) for nugget in value.nuggets] == [
        ("free counter", True),
        ("opening hours", False),
    ]
    assert value.criteria[0].params == {"max": 300}
    assert value.tags == ("limits", "manners")
    assert value.metric is not None
    assert value.metric.params == {"budget": 2.5}


def test_every_mistake_is_said_at_once_at_its_field_and_nothing_typed_is_lost(
    author: Client, suite: Suite, case: Case
) -> None:
    form = typed(
        author,
        change(case),
        turn="The reply must not mention six weeks",
        expected="the reply must not mention six weeks",
        required_phrases="thirty days\nsix weeks",
        criteria="- {kind: reply.contain}\n- {kind: reply.max_length, max: none, extra: 1}",
        metric_id="latency-budget",
        metric_params="budgets: 1",
        start="fixture",
        failing_tools="ledger",
        variant_of="nowhere",
    )
    answer = author.post(change(case), form)
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert errors["turn"] == ["The graded turn is equal to the expected outcome"]
    assert errors["required_phrases"] == [
        "The required phrase “six weeks” is what the expected outcome forbids"
    ]
    assert "reply.contain" in errors["criteria"][0]
    assert "did you mean reply.contains" in errors["criteria"][0]
    assert any("reply.max_length, max" in sentence for sentence in errors["criteria"])
    assert any("reply.max_length, extra" in sentence for sentence in errors["criteria"])
    assert errors["fixture"] == ["Name the fixture."]
    assert errors["variant_of"] == ["No case nowhere in this suite"]
    assert any("budget" in sentence for sentence in errors["metric_params"])
    assert errors["failing_tools"] == ["Line 1 must read as tool: what it answers"]
    assert latest(case).number == 1
    for name in ("criteria", "metric_params", "failing_tools"):
        assert answer.context["form"][name].value() == form[name]


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"turn": ""}, "turn", "This field is required."),
        ({"turn": "   "}, "turn", "Must not be blank"),
        ({"criteria": "kind: x"}, "criteria", "Must be a list"),
        ({"criteria": "- {kind: a"}, "criteria", "is not YAML"),
        ({"criteria": "- {max: 3}"}, "criteria", "kind: is required"),
        ({"metric_params": "budget: 1"}, "metric_id", "Choose the metric these parameters are for."),
        ({"metric_id": "latency-budget", "metric_version": "two"}, "metric_version", "whole number"),
        ({"replay": "Hello"}, "replay", "Not used"),
        ({"start": "replay", "replay": " \n "}, "replay", "Write the earlier turns"),
        ({"start": "elsewhere"}, "start", "elsewhere"),
        ({"message": "unheard"}, "message", "no message unheard"),
        ({"behaviour": "dance"}, "behaviour", "answer"),
        ({"required_sources": "x" * 301}, "required_sources", "300"),
        ({"variant_of": "objection-period"}, "variant_of", "variant of itself"),
        ({"start": "fixture", "fixture": "f", "fixture_parameters": "[1]"}, "fixture_parameters", "mapping"),
    ],
)
def test_a_mistake_is_named_at_its_field(
    author: Client, case: Case, fields: dict[str, str], field: str, sentence: str
) -> None:
    answer = author.post(change(case), typed(author, change(case), **fields))
    assert answer.status_code == 422
    said = answer.context["form"].errors[field]
    assert any(sentence.casefold() in one.casefold() for one in said), said
    assert latest(case).number == 1


def test_a_key_that_is_taken_is_refused(author: Client, suite: Suite, case: Case) -> None:
    form = {"suite": suite.pk, "key": case.key, "turn": "x?", "expected": "y"}
    answer = author.post(address("case", "add"), form)
    assert answer.context["form"].errors["key"] == ["Refunds has a case objection-period already"]


def test_the_key_and_suite_of_a_case_never_change(author: Client, case: Case) -> None:
    other = make_suite("other")
    form = typed(author, change(case), key="renamed", suite=str(other.pk), expected="new")
    author.post(change(case), form)
    case.refresh_from_db()
    assert (case.key, case.suite.name, case_of(latest(case)).id) == (
        "objection-period",
        "refunds",
        "objection-period",
    )


def test_a_colleagues_newer_save_shows_both_texts_and_loses_neither(as_: As, case: Case) -> None:
    ana, bram = as_("author"), as_("author")
    hers = typed(ana, change(case), expected="Ana's sentence", turn="Ana's question?")
    his = typed(bram, change(case), expected="Bram's sentence")
    assert ana.post(change(case), hers).status_code == 302
    answer = bram.post(change(case), his)
    assert answer.status_code == 409
    assert latest(case).number == 2
    shown = {one.label: (one.theirs, one.yours) for one in answer.context["form"].conflict.differing}
    assert shown == {
        "Expected outcome": ("Ana's sentence", "Bram's sentence"),
        "Question": ("Ana's question?", "How long do I have to object?"),
    }
    assert answer.context["form"]["expected"].value() == "Bram's sentence"
    assert bram.post(change(case), his).status_code == 409, "saving again is no consent"
    on_top = {**his, "_over": answer.context["form"].conflict.edition}
    assert bram.post(change(case), on_top).status_code == 302
    assert [case_of(one).expected for one in case.versions.order_by("number")] == [
        "the reply says six weeks",
        "Ana's sentence",
        "Bram's sentence",
    ]


def test_a_save_on_top_of_a_version_that_is_not_the_newest_conflicts_again(as_: As, case: Case) -> None:
    ana = as_("author")
    his = typed(ana, change(case), expected="third")
    for text in ("first", "second"):
        ana.post(change(case), typed(ana, change(case), expected=text))
    assert ana.post(change(case), {**his, "_over": "2"}).status_code == 409
    assert ana.post(change(case), {**his, "_over": "3"}).status_code == 302


def test_a_newer_save_is_told_also_when_the_form_has_mistakes(as_: As, case: Case) -> None:
    ana, bram = as_("author"), as_("author")
    his = typed(bram, change(case), turn="")
    ana.post(change(case), typed(ana, change(case), expected="hers"))
    answer = bram.post(change(case), his)
    assert answer.status_code == 409
    assert answer.context["form"].errors["turn"]


def test_the_form_says_which_evaluator_settles_the_case(author: Client, case: Case) -> None:
    make_experiment(suite=case.suite, name="daily", settle_mode="expectation")
    assert "Settled by looking for 1 required phrase in the reply." in author.get(change(case)).text


def test_the_preview_follows_what_is_typed_without_saving_it(author: Client, case: Case) -> None:
    make_experiment(suite=case.suite, name="daily", settle_mode="expectation")
    form = {**typed(author, change(case), spec_node="RF-04"), "_preview": "1"}
    for headers in ({"HX-Request": "true"}, {}):
        answer = author.post(change(case), form, headers=headers)
        assert "Settled by comparing the spec node with RF-04." in answer.text
        assert "required phrases</bdi></b> is not used" in answer.text
        assert ("<html" in answer.text) is (not headers), "a fragment for htmx, a page without script"
    assert latest(case).number == 1


def test_the_preview_of_a_form_with_mistakes_says_what_would_be_refused(author: Client, case: Case) -> None:
    form = {**typed(author, change(case), turn="the reply says six weeks"), "_preview": "1"}
    answer = author.post(change(case), form, headers={"HX-Request": "true"})
    assert "The graded turn is equal to the expected outcome" in answer.text
    assert "Settled by" in answer.text


def test_each_mode_that_an_experiment_uses_is_told(author: Client, case: Case) -> None:
    make_experiment(suite=case.suite, name="daily", settle_mode="expectation")
    make_experiment(suite=case.suite, name="nightly")
    lines = author.get(change(case)).context["settlings"]
    assert {line.experiments: line.mode for line in lines} == {
        ("daily",): "by expectation",
        ("nightly",): "by criteria",
    }


def test_an_archived_case_keeps_its_versions_and_comes_back(author: Client, case: Case) -> None:
    archive = address("case", "archive", case.pk)
    in_use = Case.objects.filter(archived_at__isnull=True)
    assert author.get(archive).status_code == 405
    author.post(archive, {"archived": "yes"})
    assert not in_use.exists()
    assert "objection-period is archived" in author.get(address("case")).text
    assert "objection-period" not in author.get(address("case")).text
    assert "objection-period" in author.get(address("case") + "?archived=yes").text
    author.post(archive, {"archived": "no"})
    assert in_use.exists()
    assert case.versions.count() == 1
    assert [line.verb for line in Activity.objects.order_by("id")] == ["archived", "restored"]


def test_ticked_cases_are_archived_together(author: Client, suite: Suite, case: Case) -> None:
    other = make_case(suite, "other")
    asked = {"action": "archive_selected", "_selected_action": [case.pk, other.pk], "index": "0"}
    assert "2 cases archived." in author.post(address("case"), asked, follow=True).text
    assert not suite.cases.filter(archived_at=None).exists()


def test_the_versions_page_shows_what_differs_and_edits_nothing(author: Client, case: Case) -> None:
    author.post(change(case), typed(author, change(case), expected="the reply says eight weeks"))
    answer = author.get(address("case", "history", case.pk))
    newest = answer.context["lines"][0]
    assert [(line.kind, line.text) for line in newest.difference if line.kind != "same"][:2] == [
        ("removed", "expected: the reply says six weeks"),
        ("added", "expected: the reply says eight weeks"),
    ]
    assert "<textarea" not in answer.text
    assert "Version 1" in answer.text


def test_hostile_text_stands_inert_on_every_page_of_a_case(author: Client, suite: Suite) -> None:
    case = make_case(
        suite,
        f"key {HOSTILE}",
        turn=HOSTILE,
        expected=HOSTILE,
        required_phrases=[HOSTILE],
        tags=[HOSTILE],
        reference="\x00\ud800" + HOSTILE,
        metric={"id": HOSTILE, "params": {HOSTILE: HOSTILE}},
    )
    pages = [address("case"), change(case), address("case", "history", case.pk)]
    for url in pages:
        text = author.get(url).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text
    answer = author.post(change(case), {**typed(author, change(case)), "variant_of": HOSTILE})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text


def test_a_megabyte_of_text_is_edited_like_any_other(author: Client, case: Case) -> None:
    text = "x " * 500_000
    answer = author.post(change(case), typed(author, change(case), reference=text))
    assert answer.status_code == 302
    assert case_of(latest(case)).reference == text
    assert author.get(address("case", "history", case.pk)).status_code == 200


def test_the_edition_of_a_case_is_its_version_number(case: Case) -> None:
    assert edition_of(Case.objects.select_related("current").get(pk=case.pk)) == "1"
