"""Citations without a role: collected, taken, decided, applied, undone; nothing lost or overwritten."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.utils import timezone

from experiments import models as m
from experiments.evaluation import Evidence
from experiments.mapping import case_of
from experiments.services.adjudication import (
    Answer,
    DecisionRefused,
    decide,
    flag,
    release,
    renew,
    save_draft,
    take,
    take_next,
    undo,
)
from experiments.services.applying import (
    apply_decisions,
    apply_gathered,
    latest_runs,
    preview,
    run_application,
    to_apply,
)
from experiments.services.collecting import collect_citations
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, ready_experiment, says

pytestmark = pytest.mark.django_db

CRITERIA = [{"kind": "citations.required", "gate": True}, {"kind": "citations.unseen"}]


@pytest.fixture
def target() -> Iterator[m.Target]:
    with answering_target() as made:
        yield made


def answers(key: str, number: int) -> Evidence:
    if key == "asks":
        return says("30 days", "law/art:1" if number == 1 else "law/art:9")
    return says("14 days", "law/art:9", "law/art:8")


@pytest.fixture
def run(target: m.Target) -> m.Run:
    """Case `asks` varies: its second attempt cites law/art:9, which has no role; `other` cites it too."""
    suite = make_suite(criteria=CRITERIA)
    make_case(suite, "asks", sources={"required": [["law/art:1"]]})
    make_case(suite, "other")
    run = finished_run(ready_experiment(target, suite), answers)
    collect_citations(m.Grading.objects.get(run=run).pk)
    return run


def item_of(key: str, unit: str = "law/art:9") -> m.ReviewItem:
    return m.ReviewItem.objects.get(case__key=key, unit_id=unit)


def answer(user: m.User, item: m.ReviewItem, role: str = "acceptable", **fields: Any) -> m.RoleDecision:
    """Take the item and decide it, as the page does."""
    taken = take(user, item)
    assert taken is not None
    return decide(user, taken, Answer(role=role, **fields), lease=taken.lease, version=taken.version)


# -- the queue ----------------------------------------------------------------------------------------------


def test_every_cited_id_without_a_role_is_one_item_a_case_with_its_occurrences(run: m.Run) -> None:
    found = m.ReviewItem.objects.order_by("case__position", "unit_id").values_list(
        "case__key", "unit_id", "weight"
    )
    assert list(found) == [("asks", "law/art:9", 1), ("other", "law/art:8", 2), ("other", "law/art:9", 2)]
    occurrence = m.CitationOccurrence.objects.get(item=item_of("asks"))
    assert (occurrence.attempt.number, occurrence.run) == (2, run)


def test_collecting_twice_changes_nothing_and_a_decided_item_stays_decided(run: m.Run) -> None:
    grading = m.Grading.objects.get(run=run)
    answer(make_user("reviewer"), item_of("asks"))
    assert collect_citations(grading.pk) == 0
    m.Grading.objects.filter(pk=grading.pk).update(collected=False)
    assert collect_citations(grading.pk) == 0
    assert item_of("asks").state == "settled"
    assert m.CitationOccurrence.objects.count() == 5


def test_the_most_cited_item_is_taken_first_and_a_reload_takes_no_second_one(run: m.Run) -> None:
    reviewer = make_user("reviewer")
    item = take_next(reviewer)
    assert item is not None
    assert item.weight == 2
    assert take_next(reviewer) == item
    assert m.ReviewItem.objects.filter(holder=reviewer).count() == 1


def test_no_item_is_held_by_two_and_nothing_is_left_once_all_are_held(run: m.Run) -> None:
    reviewers = [make_user("reviewer") for _ in range(4)]
    taken = [take_next(reviewer) for reviewer in reviewers]
    assert taken[3] is None
    assert len({item.pk for item in taken if item}) == 3
    assert take(reviewers[3], item_of("asks")) is None


def test_a_lease_that_ended_frees_the_item_and_keeps_the_draft(run: m.Run) -> None:
    first, second, item = make_user("reviewer"), make_user("reviewer"), item_of("asks")
    taken = take(first, item)
    assert taken is not None
    assert taken.lease is not None
    save_draft(first, taken, {"role": "forbidden", "reason": "old law"})
    m.ReviewItem.objects.filter(pk=item.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert take(second, item) is not None
    assert not renew(first, item, taken.lease)
    assert m.ReviewDraft.objects.get(item=item, reviewer=first).document["reason"] == "old law"


def test_the_holder_renews_skips_and_comes_back(run: m.Run) -> None:
    reviewer = make_user("reviewer")
    item = take_next(reviewer)
    assert item is not None
    assert item.lease is not None
    assert renew(reviewer, item, item.lease)
    assert not renew(reviewer, item, uuid.uuid4())
    release(reviewer, item)
    other = take_next(reviewer, skipping=[item.pk])
    assert other is not None
    assert other != item


@pytest.mark.parametrize("role", ["", "viewer"])
def test_who_only_reads_takes_and_decides_nothing(role: str, run: m.Run) -> None:
    user, item = make_user(role), item_of("asks")
    for forbidden in (
        lambda: take_next(user),
        lambda: take(user, item),
        lambda: save_draft(user, item, {}),
        lambda: flag(user, item, flagged=True),
        lambda: decide(user, item, Answer(role="acceptable"), lease=None, version=1),
        lambda: apply_decisions(user),
    ):
        with pytest.raises(PermissionDenied):
            forbidden()
    assert m.RoleDecision.objects.count() == 0


# -- deciding -----------------------------------------------------------------------------------------------


def test_a_decision_settles_the_item_ends_the_lease_and_is_in_the_log(run: m.Run) -> None:
    reviewer, item = make_user("reviewer"), item_of("asks")
    save_draft(reviewer, item, {"role": "acceptable"})
    decision = answer(reviewer, item, reason="same rule")
    item.refresh_from_db()
    assert (item.state, item.current, item.applied, item.holder) == ("settled", decision, None, None)
    assert m.ReviewDraft.objects.count() == 0
    line = m.Activity.objects.get(verb="decided")
    assert (line.actor, line.before["role"], line.after["role"]) == (reviewer, None, "acceptable")
    assert line.after["reason"] == "same rule"


def test_everything_that_is_wrong_with_a_decision_is_said_at_once(run: m.Run) -> None:
    item, reviewer = item_of("asks"), make_user("reviewer")
    with pytest.raises(DecisionRefused, match=r"needs a reason.*required source only"):
        decide(reviewer, item, Answer(role="forbidden", group=0, reason=" "), lease=None, version=1)
    with pytest.raises(DecisionRefused, match="1 required groups"):
        decide(reviewer, item, Answer(role="required", group=4), lease=None, version=1)
    with pytest.raises(DecisionRefused, match="five roles"):
        decide(reviewer, item, Answer(role="holy"), lease=None, version=1)
    assert m.RoleDecision.objects.count() == 0


def test_an_answer_for_every_case_reaches_the_open_ones_nobody_else_holds(run: m.Run) -> None:
    reviewer, colleague = make_user("reviewer"), make_user("reviewer")
    decision = answer(reviewer, item_of("asks"), "acceptable", everywhere=True)
    assert item_of("other").state == "settled"
    assert m.RoleDecision.objects.get(item=item_of("other")).scope_origin == decision
    assert item_of("other", "law/art:8").state == "waiting"
    undo(reviewer, decision)
    assert item_of("other").state == item_of("asks").state == "waiting"
    assert take(colleague, item_of("other")) is not None
    answer(reviewer, item_of("asks"), "acceptable", everywhere=True)
    assert item_of("other").state == "waiting"


def test_a_lost_lease_loses_no_answer_when_nobody_answered_meanwhile(run: m.Run) -> None:
    first, second, item = make_user("reviewer"), make_user("reviewer"), item_of("asks")
    taken = take(first, item)
    assert taken is not None
    m.ReviewItem.objects.filter(pk=item.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert take(second, item) is not None
    decide(first, taken, Answer(role="acceptable"), lease=taken.lease, version=taken.version)
    assert item_of("asks").state == "settled"


def test_two_answers_at_once_are_both_kept_and_a_third_person_decides(run: m.Run) -> None:
    first, second, third = (make_user("reviewer") for _ in range(3))
    item = item_of("asks")
    taken = take(first, item)
    assert taken is not None
    m.ReviewItem.objects.filter(pk=item.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    answer(second, item, "acceptable")
    decide(first, taken, Answer(role="forbidden", reason="old"), lease=taken.lease, version=taken.version)
    item.refresh_from_db()
    assert (item.state, item.current, item.decisions.count()) == ("disagreed", None, 2)
    assert take(first, item) is None
    decision = answer(third, item, "acceptable")
    item.refresh_from_db()
    assert (item.state, item.current) == ("settled", decision)


def test_double_review_asks_a_second_person_and_disagreement_a_third(run: m.Run) -> None:
    first, second, third = (make_user("reviewer") for _ in range(3))
    m.ReviewItem.objects.update(wanted=2)
    answer(first, item_of("asks"), "acceptable")
    assert item_of("asks").state == "needs_second"
    assert take(first, item_of("asks")) is None
    answer(second, item_of("asks"), "acceptable")
    assert item_of("asks").state == "settled"
    answer(first, item_of("other"), "acceptable")
    answer(second, item_of("other"), "not_a_source")
    assert item_of("other").state == "disagreed"
    answer(third, item_of("other"), "not_a_source")
    assert item_of("other").state == "settled"


def test_only_ones_own_decision_is_undone_but_an_admin_undoes_any(run: m.Run) -> None:
    reviewer, item = make_user("reviewer"), item_of("asks")
    decision = answer(reviewer, item)
    with pytest.raises(PermissionDenied):
        undo(make_user("operator"), decision)
    undo(make_user("admin"), decision)
    item.refresh_from_db()
    assert (item.state, item.current) == ("waiting", None)
    with pytest.raises(DecisionRefused, match="already"):
        undo(reviewer, decision)
    assert [
        line.verb
        for line in m.Activity.objects.filter(object_type="reviewitem", object_id=item.pk).order_by("id")
    ] == [
        "decided",
        "undid",
    ]


# -- applying -----------------------------------------------------------------------------------------------


def verdict(run: m.Run, key: str) -> str:
    return m.CaseResult.objects.get(grading__run=run, grading__is_current=True, case__key=key).verdict


def test_a_preview_says_before_the_decision_what_it_would_change(run: m.Run) -> None:
    asks = preview(item_of("asks"), Answer(role="required", group=0))
    assert (asks.citations, asks.runs, asks.flips) == (1, (run.pk,), 1)
    (change,) = asks.changes
    assert (change.case_key, change.before, change.after, change.attempts) == (
        "asks",
        "VARIED",
        "PASSED",
        (2,),
    )
    assert preview(item_of("asks"), Answer(role="acceptable")).flips == 0
    assert preview(item_of("asks"), Answer(role="acceptable", everywhere=True)).citations == 3
    assert m.Grading.objects.count() == 1


def test_applied_decisions_make_a_case_version_and_a_grading_and_undo_gives_both_back(run: m.Run) -> None:
    reviewer = make_user("reviewer")
    decision = answer(reviewer, item_of("asks"), "required", group=0)
    application = apply_decisions(reviewer)
    assert application is not None
    assert run_application(application.pk)
    assert not run_application(application.pk)
    assert verdict(run, "asks") == "PASSED"
    case = m.Case.objects.get(key="asks")
    assert case.current is not None
    assert case.current.number == 2
    assert case_of(case.current).sources.required == (("law/art:1", "law/art:9"),)
    assert m.AppliedGrading.objects.get(application=application).changed == 1
    assert to_apply() == []

    undo(reviewer, decision)
    assert [item.unit_id for item in to_apply()] == ["law/art:9"]
    again = apply_decisions(reviewer)
    assert again is not None
    run_application(again.pk)
    assert verdict(run, "asks") == "VARIED"
    assert m.Grading.objects.filter(run=run).count() == 3
    case.refresh_from_db()
    assert case.current is not None
    first = case.versions.get(number=1)
    assert case.current.graded_fingerprint == first.graded_fingerprint
    verbs = set(m.Activity.objects.values_list("verb", flat=True))
    assert {"decided", "undid", "asked to apply", "applied", "published", "graded anew"} <= verbs


def test_a_decision_never_unpairs_two_runs_because_what_was_asked_stays(run: m.Run) -> None:
    before = m.CaseResult.objects.get(grading__run=run, case__key="asks").case_version
    answer(make_user("reviewer"), item_of("asks"), "required")
    application = apply_decisions(make_user("reviewer"))
    assert application is not None
    run_application(application.pk)
    row = m.CaseResult.objects.get(grading__run=run, grading__is_current=True, case__key="asks")
    assert row.case_version == before
    assert row.graded_version.fingerprint == before.fingerprint
    assert row.graded_version.graded_fingerprint != before.graded_fingerprint


@pytest.mark.parametrize(("role", "reason"), [("cannot_tell", "unclear"), ("not_a_source", "")])
def test_a_decision_without_a_role_changes_no_case_and_no_verdict(role: str, reason: str, run: m.Run) -> None:
    answer(make_user("reviewer"), item_of("asks"), role, reason=reason)
    application = apply_decisions(make_user("reviewer"))
    assert application is not None
    run_application(application.pk)
    assert m.Case.objects.get(key="asks").versions.count() == 1
    assert verdict(run, "asks") == "VARIED"


def test_only_the_latest_run_of_each_experiment_is_graded_anew_unless_others_are_picked(run: m.Run) -> None:
    second = finished_run(run.experiment, answers)
    assert latest_runs([item_of("asks").case_id]) == [second]
    answer(make_user("reviewer"), item_of("asks"), "required", group=0)
    application = apply_decisions(make_user("reviewer"), run_ids=[run.pk])
    assert application is not None
    run_application(application.pk)
    assert (verdict(run, "asks"), verdict(second, "asks")) == ("PASSED", "VARIED")


def test_a_run_whose_evidence_is_gone_is_named_and_stays_as_it_was(run: m.Run) -> None:
    m.AttemptEvidence.objects.update(document=None, purged_at=timezone.now())
    answer(make_user("reviewer"), item_of("asks"), "required", group=0)
    assert "purged" in preview(item_of("other"), Answer(role="acceptable")).unread[0]
    application = apply_decisions(make_user("reviewer"))
    assert application is not None
    run_application(application.pk)
    application.refresh_from_db()
    assert application.state == "failed"
    assert "purged" in application.error
    assert verdict(run, "asks") == "VARIED"


def test_gathered_decisions_are_applied_a_minute_after_the_last_one(
    run: m.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewer = make_user("reviewer")
    answer(reviewer, item_of("asks"), "required", group=0)
    assert apply_gathered() is None
    later = timezone.now() + timedelta(seconds=61)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    application = apply_gathered()
    assert application is not None
    assert application.created_by == reviewer
    assert apply_gathered() == application


def test_nothing_decided_is_nothing_to_apply(run: m.Run) -> None:
    assert apply_decisions(make_user("reviewer")) is None
    assert apply_gathered() is None


@pytest.mark.django_db(transaction=True)
def test_reviewers_who_ask_at_the_same_moment_get_different_items(run: m.Run) -> None:
    reviewers, barrier = [make_user("reviewer") for _ in range(3)], threading.Barrier(3)
    taken: list[int] = []

    def ask(reviewer: m.User) -> None:
        try:
            barrier.wait(10)
            item = take_next(reviewer)
            assert item is not None
            taken.append(item.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=[reviewer]) for reviewer in reviewers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(taken) == sorted(m.ReviewItem.objects.values_list("pk", flat=True))
