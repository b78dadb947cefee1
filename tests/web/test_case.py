"""The page of one case in a run."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from experiments.models import AttemptEvidence, CaseResult, Experiment, Run
from experiments.selectors.case import setup_words
from tests.web.test_run import seen
from tests.web.world import a_run


def address(run: Run, key: str) -> str:
    row = CaseResult.objects.get(grading__run=run, case__key=key)
    return reverse("web:case_in_run", args=[run.pk, row.pk])


def test_every_attempt_stands_with_mark_time_tokens_reply_reason_and_criteria(
    viewer: Client, finished: Run
) -> None:
    text = seen(viewer.get(address(finished, "refund-sale-item")).content.decode())
    assert "question of refund-sale-item" in text
    assert "states a 30-day window" in text
    assert "3 of 5" in text
    text = text.split("Every attempt in full")[1]
    for number in range(1, 6):
        assert f"Attempt {number}" in text
    assert text.count("a reply to refund-sale-item") == 5
    assert text.count("900 tokens in, 304 out") == 5
    assert text.count("grade 9 of 10") == 3
    assert text.count("art:17 is not cited") == 2
    assert text.count("citations.required") == 5


def test_an_attempt_that_was_not_reached_says_why(viewer: Client, finished: Run) -> None:
    text = seen(viewer.get(address(finished, "seat-fee-fixture")).content.decode())
    text = text.split("Every attempt in full")[1]
    assert text.count("not reached: setup failed") == 4
    assert "the fixture could not be built" in text
    assert "not reached: no reply" in text
    assert "no usage reported" in text


def test_a_planned_attempt_has_no_figures_yet(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "P."}, state="running")
    text = seen(viewer.get(address(run, "a")).content.decode())
    assert "Attempt 2" in text
    assert "not yet" in text
    assert text.count("tokens in") == 1


def test_removed_evidence_is_said_to_be_removed(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "S"})
    attempt = run.attempts.get()
    AttemptEvidence.objects.create(attempt=attempt, document=None, purged_at=attempt.finished_at)
    assert "were removed" in seen(viewer.get(address(run, "a")).content.decode())


def test_the_neighbouring_cases_are_a_step_away(viewer: Client, finished: Run) -> None:
    html = viewer.get(address(finished, "escalation-path")).content.decode()
    assert f'href="{address(finished, "refund-sale-item")}"' in html
    assert f'href="{address(finished, "cash-country")}"' in html
    assert 'rel="prev"' not in viewer.get(address(finished, "refund-sale-item")).content.decode()


def test_a_case_is_found_under_its_own_run_only(viewer: Client, experiment: Experiment) -> None:
    first, second = a_run(experiment, {"a": "P"}), a_run(experiment, {"a": "P"})
    row = CaseResult.objects.get(grading__run=first)
    assert viewer.get(reverse("web:case_in_run", args=[second.pk, row.pk])).status_code == 404


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ({}, ""),
        ({"kind": "none"}, ""),
        ({"kind": "replay", "user_turns": ["a"]}, "after 1 earlier turn, sent one by one"),
        ({"kind": "replay", "user_turns": ["a", "b"]}, "after 2 earlier turns, sent one by one"),
        (
            {"kind": "fixture", "name": "booked", "parameters": {"seat": "4A"}},
            "from the fixture booked (seat 4A)",
        ),
        (
            {
                "kind": "failing_tool",
                "tool": "search",
                "message": "down",
                "then": {"kind": "replay", "user_turns": ["a"]},
            },
            'while the tool search fails with "down", after 1 earlier turn, sent one by one',
        ),
    ],
)
def test_a_setup_reads_as_a_sentence(setup: dict[str, object], words: str) -> None:
    assert setup_words(setup) == words


def test_the_turns_before_the_graded_one_are_folded(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "S"}, cases={"a": {"setup": {"kind": "replay", "user_turns": ["first"]}}})
    turns = [{"prompt": "first", "reply": "answer one"}, {"prompt": "question of a", "reply": "answer two"}]
    AttemptEvidence.objects.create(attempt=run.attempts.get(), document={"turns": turns})
    html = viewer.get(address(run, "a")).content.decode()
    assert "1 earlier turn" in seen(html)
    folded = html[html.index("<details") : html.index("</details>")]
    assert "answer one" in folded
    assert "answer two" not in folded


@pytest.mark.parametrize("repeats", [2, 40])
def test_the_page_asks_the_database_equally_often_at_any_size(
    repeats: int, viewer: Client, experiment: Experiment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = a_run(experiment, {"a": "P" * repeats, "b": "F" * repeats, "c": "P" * repeats})
    there = address(run, "b")
    # Session and user; the case, its attempts, two neighbours, results, verdicts, evidence, activity.
    with django_assert_num_queries(10):
        assert viewer.get(there).status_code == 200
