"""Home, the list of runs, the list of experiments and the page of one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from experiments.models import Experiment, Role, Run
from experiments.selectors.figures import Rate, report_of
from experiments.selectors.trend import trend_of
from tests.web.test_run import seen
from tests.web.world import a_run, an_experiment


def test_an_empty_site_says_what_to_do(viewer: Client) -> None:
    assert "No experiment yet" in seen(viewer.get("/").content.decode())
    assert "No run yet" in seen(viewer.get("/runs/").content.decode())
    assert "No experiment yet" in seen(viewer.get("/experiments/").content.decode())


def test_home_pins_running_runs_above_the_experiments(viewer: Client, finished: Run) -> None:
    live = a_run(an_experiment("booking"), {"a": "P.", "b": ".."}, state="running")
    text = seen(viewer.get("/").content.decode())
    assert text.index("Running now") < text.index(f"booking, run {live.pk}") < text.index("Case verdicts")
    assert "1 of 4 attempts in" in text


def test_home_shows_the_last_ended_run_of_an_experiment(viewer: Client, experiment: Experiment) -> None:
    a_run(experiment, {"a": "FF"})
    last = a_run(experiment, {"a": "PP"})
    a_run(experiment, {"a": ".."}, state="running")
    html = viewer.get("/").content.decode()
    table = html[html.index("<table") :]
    assert f"run {last.pk}" in table
    assert "100%" in table
    assert 'aria-label="Pass rate over 2 runs:' in table


def test_an_experiment_that_never_ran_comes_last_and_says_so(viewer: Client, finished: Run) -> None:
    an_experiment("aaa-never")
    text = seen(viewer.get("/").content.decode())
    assert text.index("refunds") < text.index("aaa-never")
    assert "has not run yet" in text


def test_the_running_part_of_home_stops_polling_when_nothing_runs(
    signed_in: Callable[..., Client], finished: Run
) -> None:
    client = signed_in(htmx=True)
    response = client.get("/", {"part": "running"})
    assert response.status_code == 286
    assert "every 2s" not in response.content.decode()
    a_run(finished.experiment, {"refund-14d": "P."}, state="running")
    response = client.get("/", {"part": "running"})
    assert response.status_code == 200
    assert "every 2s" in response.content.decode()


@pytest.mark.parametrize("experiments", [2, 12])
def test_home_asks_the_database_equally_often_at_any_size(
    experiments: int, viewer: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(experiments):
        made = an_experiment(f"e{number}")
        for _ in range(3):
            a_run(made, {"a": "PF"}, attempts=False)
        a_run(made, {"a": "P."}, state="running", attempts=False)
    # Session and user; running runs and their gradings; experiments and their last gradings.
    with django_assert_num_queries(6):
        assert viewer.get("/").status_code == 200


@pytest.mark.parametrize("runs", [2, 30])
def test_the_lists_ask_the_database_equally_often_at_any_size(
    runs: int, viewer: Client, experiment: Experiment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(runs):
        a_run(experiment, {"a": "PF"}, attempts=False)
    for address, queries in (("/runs/", 4), ("/experiments/", 4), (f"/experiments/{experiment.pk}/", 5)):
        with django_assert_num_queries(queries):
            assert viewer.get(address).status_code == 200


def test_runs_are_newest_first_and_paged(viewer: Client, experiment: Experiment) -> None:
    made = [a_run(experiment, {"a": "P"}, attempts=False).pk for _ in range(53)]
    html = viewer.get("/runs/").content.decode()
    first = [int(number) for number in re.findall(r'id="run-(\d+)"', html)]
    link = re.search(r'rel="next"\s+href="([^"]+)"', html)
    assert link
    second = viewer.get("/runs/" + link[1]).content.decode()
    assert first + [int(number) for number in re.findall(r'id="run-(\d+)"', second)] == made[::-1]


def test_runs_are_narrowed_by_state_and_experiment(viewer: Client, finished: Run) -> None:
    other = a_run(an_experiment("other"), {"a": "P."}, state="running")
    assert re.findall(r'id="run-(\d+)"', viewer.get("/runs/?state=running").content.decode()) == [
        str(other.pk)
    ]
    narrowed = viewer.get(f"/runs/?experiment={finished.experiment_id}").content.decode()
    assert re.findall(r'id="run-(\d+)"', narrowed) == [str(finished.pk)]
    assert "The list is narrowed" in seen(viewer.get("/runs/?state=stopped").content.decode())
    assert viewer.get("/runs/?experiment=987654").status_code == 404
    assert viewer.get("/runs/?experiment=nonsense&state=nonsense").status_code == 200


def test_an_empty_search_of_experiments_says_that_the_search_is_why(
    viewer: Client, experiment: Experiment
) -> None:
    assert "refunds" in seen(viewer.get("/experiments/", {"q": "FUND"}).content.decode())
    assert "No experiment matches" in seen(viewer.get("/experiments/", {"q": "zzz"}).content.decode())


def test_a_time_is_printed_with_its_zone(viewer: Client, finished: Run) -> None:
    assert "30 Nov 2025, 13:59 UTC" in seen(viewer.get("/runs/").content.decode())


def test_the_experiment_page_shows_the_setup_with_its_versions(viewer: Client, finished: Run) -> None:
    text = seen(viewer.get(reverse("web:experiment", args=[finished.experiment_id])).content.decode())
    assert "refunds-desk v3" in text
    assert "refunds-judge v2" in text
    assert "suite refunds v1" in text
    assert "citations.required match exact · gate · weight 2" in text
    assert f"run {finished.pk}" in text


def test_the_experiment_page_stands_before_the_target_is_asked(
    viewer: Client, experiment: Experiment
) -> None:
    html = viewer.get(reverse("web:experiment", args=[experiment.pk])).content.decode()
    assert re.search(r'hx-get="/experiments/\d+/\?part=plan"\s+hx-trigger="load"', html)
    assert 'href="?part=plan"' in html


def test_every_refusal_is_listed_and_nothing_can_be_started(
    signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    a_run(experiment, {"a": "P"})
    there = reverse("web:experiment", args=[experiment.pk])
    for client in (signed_in(Role.OPERATOR), signed_in(Role.OPERATOR, htmx=True)):
        html = client.get(there, {"part": "plan"}).content.decode()
        assert "It would be refused" in html
        assert "The target cannot say what it can do" in html
        assert "1 case × 5" in html
        assert 'id="start-run"' not in html


def test_a_refused_start_says_every_reason_and_makes_no_run(
    signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    client = signed_in(Role.OPERATOR)
    token = "0192f0c1-2f6e-7c5e-9d5e-0123456789ab"
    response = client.post(reverse("web:start_run", args=[experiment.pk]), {"token": token}, follow=True)
    text = seen(response.content.decode())
    assert "The target cannot say what it can do" in text
    assert "no case" in text.lower()
    assert not Run.objects.exists()


def test_a_start_without_a_token_starts_nothing(
    signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    client = signed_in(Role.OPERATOR)
    response = client.post(reverse("web:start_run", args=[experiment.pk]), {"token": "x"}, follow=True)
    assert "no valid token" in seen(response.content.decode())
    assert not Run.objects.exists()


def test_a_trend_leaves_out_runs_that_judged_nothing(experiment: Experiment) -> None:
    runs = [a_run(experiment, {"a": strip}, attempts=False) for strip in ("PP", "SS", "PF")]
    gradings = [run.gradings.get() for run in runs]
    rates = [
        (run.pk, Rate.of(report_of(run, grading), grading))
        for run, grading in zip(runs, gradings, strict=True)
    ]
    trend = trend_of(rates)
    assert trend is not None
    assert len(trend.dots) == 2
    assert trend.dots[0].y < trend.dots[1].y
    first, last = runs[0].pk, runs[2].pk
    words = f"run {first}: 100%, 2 of 2 passed; run {last}: 50.0%, 1 of 2 passed"
    assert trend.words == f"Pass rate over 2 runs: {words}"
    assert trend_of(rates[1:2]) is None
