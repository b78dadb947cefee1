"""Publishing suites, rubrics, policies and corpora."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.evaluation import CorpusUnit, CriterionSpec, EvalCase, Rubric
from experiments.mapping import case_of, corpus_of, criteria_of
from experiments.models import (
    Activity,
    Case,
    CaseVersion,
    Corpus,
    CorpusVersion,
    Role,
    Suite,
    SuiteVersion,
    User,
)
from experiments.services import authoring
from experiments.services.authoring import publish_corpus, publish_policy, publish_rubric, publish_suite
from experiments.wire.suite import SuiteDocument, from_cases
from tests.factories import make_user

pytestmark = pytest.mark.django_db

TEMPLATE = "{replay_history} {simulation_history} {system_output} {expected_outcome}"


def case(key: str, **content: Any) -> EvalCase:
    return EvalCase.model_validate(
        {"id": key, "turn": f"question {key}?", "expected": "an answer", **content}
    )


def document(*cases: EvalCase, **rules: Any) -> SuiteDocument:
    return from_cases("refunds", cases, **rules)


def author() -> User:
    return make_user(Role.AUTHOR)


def verbs(**of: Any) -> list[str]:
    return list(Activity.objects.filter(**of).order_by("id").values_list("verb", flat=True))


def test_a_new_suite_gets_version_1_of_its_rules_and_of_every_case() -> None:
    user = author()
    gated = CriterionSpec(kind="run.no_failure", gate=True)
    found = publish_suite(user, document(case("a"), case("b"), criteria=[gated], pass_score=0.5))
    suite = Suite.objects.get(name="refunds")
    assert (found.version, found.created, found.new_version) == (1, ("a", "b"), True)
    assert suite.current is not None
    assert criteria_of(suite.current) == (gated,)
    rows = list(Case.objects.filter(suite=suite).select_related("current").order_by("position"))
    assert [row.key for row in rows] == ["a", "b"]
    assert [case_of(row.current) for row in rows if row.current] == [case("a"), case("b")]
    assert {row.current.created_by_id for row in rows if row.current} == {user.pk}
    assert verbs(object_type="suite", actor=user) == ["created"]
    assert verbs(object_type="case", actor=user) == ["created", "created"]


def test_the_same_document_again_changes_nothing_and_leaves_no_line() -> None:
    publish_suite(None, document(case("a")))
    before = Activity.objects.count(), CaseVersion.objects.count(), SuiteVersion.objects.count()
    found = publish_suite(None, document(case("a")))
    assert (found.unchanged, found.changed_anything) == (("a",), False)
    assert (Activity.objects.count(), CaseVersion.objects.count(), SuiteVersion.objects.count()) == before


def test_only_what_differs_gets_a_new_version() -> None:
    publish_suite(None, document(case("a"), case("b")))
    found = publish_suite(None, document(case("b", turn="another?"), case("c"), case("a")))
    assert (found.created, found.changed, found.unchanged) == (("c",), ("b",), ("a",))
    assert found.new_version is False
    numbers = dict(Case.objects.values_list("key", "current__number"))
    assert numbers == {"a": 1, "b": 2, "c": 1}
    assert list(Case.objects.order_by("position").values_list("key", flat=True)) == ["b", "c", "a"]
    changed = Activity.objects.get(object_label="b", verb="edited")
    assert (changed.before, changed.after) == ({"version": 1}, {"version": 2})


def test_a_case_the_document_drops_is_archived_and_comes_back_with_it() -> None:
    publish_suite(None, document(case("a"), case("b")))
    assert publish_suite(None, document(case("a"))).archived == ("b",)
    assert Case.objects.get(key="b").archived_at is not None
    assert publish_suite(None, document(case("a"))).changed_anything is False
    found = publish_suite(None, document(case("a"), case("b")))
    assert (found.restored, found.unchanged) == (("b",), ("a", "b"))
    assert Case.objects.get(key="b").archived_at is None
    assert verbs(object_type="case", object_label="b") == ["created", "archived", "restored"]


def test_new_rules_make_a_new_version_of_the_suite_alone() -> None:
    publish_suite(None, document(case("a")))
    found = publish_suite(None, document(case("a"), pass_score=0.8))
    assert (found.version, found.unchanged, found.new_version) == (2, ("a",), True)
    assert CaseVersion.objects.count() == 1


def test_a_message_that_reads_differently_is_another_version_of_its_case() -> None:
    refusing = case("a", behaviour="refuse", message="no_advice")
    publish_suite(None, document(refusing, case("b"), messages={"no_advice": "No."}))
    found = publish_suite(None, document(refusing, case("b"), messages={"no_advice": "Sorry, no."}))
    assert (found.changed, found.unchanged) == (("a",), ("b",))


def test_nothing_is_written_when_anything_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    publish_suite(None, document(case("a")))
    before = Activity.objects.count()

    def breaks(*_args: Any, **_named: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(authoring, "record_activity", breaks)
    with pytest.raises(RuntimeError):
        publish_suite(None, document(case("a", turn="new?"), case("b"), pass_score=0.1))
    assert Case.objects.count() == CaseVersion.objects.count() == SuiteVersion.objects.count() == 1
    assert Activity.objects.count() == before


@pytest.mark.parametrize("role", [Role.STRANGER, Role.VIEWER, Role.REVIEWER])
def test_who_may_not_author_publishes_nothing(role: str) -> None:
    user = make_user(role)
    publishing: list[Callable[[], object]] = [
        lambda: publish_suite(user, document(case("a"))),
        lambda: publish_corpus(user, "law", UNITS),
        lambda: publish_policy(user, "p", "text"),
        lambda: publish_rubric(user, Rubric(name="r", template=TEMPLATE)),
    ]
    for publish in publishing:
        with pytest.raises(PermissionDenied):
            publish()
    assert not Suite.objects.exists()
    assert not Corpus.objects.exists()
    assert not Activity.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_cases() -> None:
    def queries(count: int, name: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            publish_suite(None, from_cases(name, [case(f"c{n}") for n in range(count)]))
        return len(captured)

    assert queries(5, "small") == queries(50, "large")


def test_hostile_text_in_a_case_is_kept_whole() -> None:
    hostile = case("a", turn="x\x00\ud800<script>", reference="\u202e")
    publish_suite(None, document(hostile))
    stored = Case.objects.select_related("current").get(key="a").current
    assert stored is not None
    assert case_of(stored) == hostile


# -- rubrics and policies -----------------------------------------------------------------------------------


def test_a_rubric_gets_a_version_only_for_new_wording() -> None:
    first = publish_rubric(None, Rubric(name="r", template=TEMPLATE))
    again = publish_rubric(None, Rubric(name="r", template=TEMPLATE))
    other = publish_rubric(None, Rubric(name="r", template="Be strict. " + TEMPLATE))
    assert [(one.version, one.changed_anything) for one in (first, again, other)] == [
        (1, True),
        (1, False),
        (2, True),
    ]
    assert verbs(object_type="rubric") == ["created", "imported"]


def test_a_policy_gets_a_version_only_for_new_text() -> None:
    found = [publish_policy(None, "p", text) for text in ("one", "one", "two")]
    assert [(one.version, one.changed_anything) for one in found] == [(1, True), (1, False), (2, True)]
    assert verbs(object_type="policy") == ["created", "imported"]


# -- corpora ------------------------------------------------------------------------------------------------

UNITS = (
    CorpusUnit(id="law", title="Law", aliases=("L",)),
    CorpusUnit(id="law/art:1", parent="law", text="first"),
)


def test_a_corpus_is_stored_as_it_was_given() -> None:
    found = publish_corpus(None, "law", UNITS)
    assert (found.version, found.created) == (1, ("law", "law/art:1"))
    version = CorpusVersion.objects.get()
    stored = corpus_of(version)
    assert stored is not None
    assert [stored.unit(unit.id) for unit in UNITS] == list(UNITS)
    assert version.unit_count == 2


def test_a_corpus_gets_a_version_by_content_and_an_old_content_its_old_number() -> None:
    changed = (
        UNITS[0],
        UNITS[1].model_copy(update={"text": "second"}),
        CorpusUnit(id="law/art:2", parent="law"),
    )
    first = publish_corpus(None, "law", UNITS)
    again = publish_corpus(None, "law", UNITS)
    second = publish_corpus(None, "law", changed)
    back = publish_corpus(None, "law", UNITS)
    assert [one.version for one in (first, again, second, back)] == [1, 1, 2, 1]
    assert again.changed_anything is False
    assert (second.created, second.changed, second.unchanged) == (("law/art:2",), ("law/art:1",), ("law",))
    current = Corpus.objects.select_related("current").get().current
    assert current is not None
    assert (CorpusVersion.objects.count(), current.number) == (2, 1)
    lines = Activity.objects.filter(object_type="corpus").order_by("id")
    assert [(line.verb, (line.after or {})["version"]) for line in lines] == [
        ("created", 1),
        ("imported", 2),
        ("imported", 1),
    ]
