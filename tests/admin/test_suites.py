"""Suites: their rules, and the whole suite in and out as a file."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiments.mapping import case_of
from experiments.models import Activity, Case, Suite, SuiteVersion
from tests.admin.conftest import As, typed
from tests.admin.test_doors import address
from tests.factories import make_case, make_experiment

RULES = "- {kind: run.no_failure}\n- {kind: reply.max_length, max: 400, weight: 0.5, gate: true}"


def change(suite: Suite) -> str:
    return address("suite", "change", suite.pk)


def current(suite: Suite) -> SuiteVersion:
    version = Suite.objects.select_related("current").get(pk=suite.pk).current
    assert version is not None
    return version


def upload(author: Client, text: str | bytes, name: str = "refunds.yaml") -> object:
    raw = text.encode() if isinstance(text, str) else text
    return author.post(address("suite", "import"), {"file": SimpleUploadedFile(name, raw)}, follow=True)


def test_a_new_suite_begins_with_version_1(author: Client) -> None:
    form = {"name": "desk", "pass_score": "0.8", "criteria": RULES, "messages": "no: No, sorry."}
    assert author.post(address("suite", "add"), form).status_code == 302
    version = current(Suite.objects.get(name="desk"))
    assert (version.number, version.pass_score, version.messages) == (1, 0.8, {"no": "No, sorry."})
    assert version.criteria == [
        {"kind": "run.no_failure", "params": {}, "weight": None, "gate": False},
        {"kind": "reply.max_length", "params": {"max": 400}, "weight": 0.5, "gate": True},
    ]


def test_new_rules_are_a_new_version_and_the_same_rules_are_none(author: Client, suite: Suite) -> None:
    author.post(change(suite), typed(author, change(suite)))
    assert current(suite).number == 1
    author.post(change(suite), typed(author, change(suite), criteria=RULES))
    assert current(suite).number == 2


def test_a_description_alone_makes_no_version_but_an_activity_line(author: Client, suite: Suite) -> None:
    author.post(change(suite), typed(author, change(suite), description="About refunds"))
    assert current(suite).number == 1
    assert Activity.objects.get().after == {"description": "About refunds"}


def test_a_message_that_changed_gives_the_cases_that_use_it_a_new_version(
    author: Client, suite: Suite
) -> None:
    told = {"message": "no_advice", "message_text": "I do not give legal advice."}
    uses, other = make_case(suite, "uses", **told), make_case(suite, "other")
    author.post(change(suite), typed(author, change(suite), messages="no_advice: Ask a lawyer."))
    newest = uses.versions.order_by("-number")[0]
    assert (newest.number, case_of(newest).message_text) == (2, "Ask a lawyer.")
    assert other.versions.count() == 1
    assert Activity.objects.get(object_type="suite").after["cases with a new version"] == ["uses"]


def test_a_message_that_cases_use_cannot_be_taken_away(author: Client, suite: Suite) -> None:
    make_case(suite, "uses", message="no_advice", message_text="I do not give legal advice.")
    answer = author.post(change(suite), typed(author, change(suite), messages="", description="new"))
    assert answer.context["form"].errors["messages"] == [
        "Cases still use what is not listed here: no_advice (uses)"
    ]
    assert current(suite).number == 1
    suite.refresh_from_db()
    assert suite.description == "", "nothing of a refused save is kept"


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"criteria": "- {kind: reply.max_length}"}, "criteria", "1. reply.max_length, max: is required"),
        ({"criteria": "- {kind: unheard.of}"}, "criteria", "no criterion kind 'unheard.of'"),
        ({"criteria": "- run.no_failure"}, "criteria", "1. must be a mapping"),
        ({"criteria": "- {kind: run.no_failure, weight: -1}"}, "criteria", "run.no_failure, weight"),
        ({"criteria": "- &a [*a]"}, "criteria", "alias"),
        ({"messages": "code: {a: 1}"}, "messages", "code: must be text"),
        ({"messages": "code: a\ncode: b"}, "messages", "code"),
        ({"pass_score": "1.5"}, "pass_score", "less than or equal to 1"),
        ({"pass_score": "nan"}, "pass_score", "number"),
        ({"criteria": "[" * 100}, "criteria", "nest"),
    ],
)
def test_a_mistake_names_kind_and_parameter(
    author: Client, suite: Suite, fields: dict[str, str], field: str, sentence: str
) -> None:
    answer = author.post(change(suite), typed(author, change(suite), **fields))
    assert answer.status_code == 422
    said = answer.context["form"].errors[field]
    assert any(sentence.casefold() in one.casefold() for one in said), said
    assert current(suite).number == 1


def test_a_name_that_is_taken_is_refused(author: Client, suite: Suite) -> None:
    answer = author.post(address("suite", "add"), {"name": "refunds", "pass_score": "1"})
    assert answer.context["form"].errors["name"] == ["There is a suite refunds already"]


def test_a_colleagues_newer_rules_are_shown_beside_the_own(as_: As, suite: Suite) -> None:
    ana, bram = as_("author"), as_("author")
    his = typed(bram, change(suite), pass_score="0.5")
    ana.post(change(suite), typed(ana, change(suite), criteria=RULES))
    answer = bram.post(change(suite), his)
    assert answer.status_code == 409
    labels = {one.label for one in answer.context["form"].conflict.differing}
    assert labels == {"Pass score", "Criteria of every case"}


def test_the_page_counts_its_cases_by_what_settles_them(author: Client, suite: Suite, case: Case) -> None:
    make_case(suite, "asks-judge", expected="the reply is kind")
    make_experiment(suite=suite, name="daily", settle_mode="expectation")
    line = author.get(change(suite)).context["counts"][0]
    assert (line.cases, line.experiments) == (2, ("daily",))
    assert line.groups == (("required phrases", 1), ("the judge", 1))


def test_an_export_imported_again_changes_nothing(author: Client, suite: Suite, case: Case) -> None:
    for kind in ("yaml", "json"):
        answer = author.get(address("suite", "export", suite.pk, kind))
        assert answer["Content-Disposition"] == f'attachment; filename="refunds.{kind}"'
        assert "refunds stands like that already." in upload(author, answer.content, f"refunds.{kind}").text  # type: ignore[attr-defined]
    assert case.versions.count() == suite.versions.count() == 1


def test_an_export_of_another_kind_or_of_no_case_says_so(author: Client, suite: Suite) -> None:
    assert author.get(address("suite", "export", suite.pk, "exe")).status_code == 404
    answer = author.get(address("suite", "export", suite.pk, "yaml"), follow=True)
    assert "this suite has none in use" in answer.text


def test_an_import_says_what_it_did(author: Client, suite: Suite, case: Case) -> None:
    text = author.get(address("suite", "export", suite.pk, "yaml")).text
    answer = upload(author, text.replace("objection-period", "objection-term"))
    assert "1 created, 1 archived, since the file does not hold them" in answer.text  # type: ignore[attr-defined]


def test_a_file_with_problems_is_refused_whole_with_all_of_them(author: Client, suite: Suite) -> None:
    text = (
        "format: evalsite/suite@1\nsuite: refunds\ncases:\n"
        "  - {id: a, turn: x, criteria: [{kind: reply.contain}]}\n"
        "  - {id: a, turn: <script>alert(1)</script>, expected: y, tagz: []}\n"
    )
    answer = author.post(address("suite", "import"), {"file": SimpleUploadedFile("<b>.yaml", text.encode())})
    assert answer.status_code == 422
    paths = {problem.path for problem in answer.context["problems"]}
    assert {"cases[0].criteria[0].kind", "cases[1].tagz", "cases[1].id"} <= paths
    assert {problem.file for problem in answer.context["problems"]} == {"<b>.yaml"}
    assert "<script>alert" not in answer.text
    assert not suite.cases.exists()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"\xff\xfe\x00", "x.yaml"),
        (b"\x00", "x.yaml"),
        (b"not: [closed", "x.yaml"),
        (b"{}", "x.json"),
        (b"[" * 10_000, "../../etc/passwd.json"),
    ],
)
def test_what_is_no_suite_file_is_refused_with_a_reason(author: Client, raw: bytes, name: str) -> None:
    answer = author.post(address("suite", "import"), {"file": SimpleUploadedFile(name, raw)})
    assert answer.status_code == 422
    assert answer.context["problems"][0].sentence
    assert not Suite.objects.exists()


@pytest.mark.parametrize("role", ["stranger", "viewer", "reviewer"])
def test_only_authors_import_and_export(as_: As, suite: Suite, case: Case, role: str) -> None:
    browser = as_(role)
    file = SimpleUploadedFile("x.yaml", b"format: evalsite/suite@1")
    assert browser.post(address("suite", "import"), {"file": file}).status_code == 403
    assert browser.get(address("suite", "export", suite.pk, "yaml")).status_code == 403
    assert browser.post(address("case", "archive", case.pk), {"archived": "yes"}).status_code == 403
