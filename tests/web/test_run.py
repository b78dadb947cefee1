"""The page of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from experiments.models import CaseResult, Experiment, Role, Run
from tests.web.world import MOCK, a_run


class _Text(HTMLParser):
    """What a reader sees, white space collapsed."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def seen(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    return re.sub(r"\s+", " ", "".join(parser.parts))


def keys(html: str) -> list[str]:
    """The cases of the table, in order."""
    table = html[html.index('id="case-table"') :]
    return re.findall(r'id="case-\d+"[^>]*>\s*<code><bdi dir="auto">([^<]+)', table)


def page(client: Client, run: Run, **query: str) -> str:
    response = client.get(reverse("web:run", args=[run.pk]), query)
    assert response.status_code == 200
    return response.content.decode()


def test_a_rate_stands_with_its_counts_its_coverage_and_its_interval(viewer: Client, finished: Run) -> None:
    text = seen(page(viewer, finished))
    assert "38.2%" in text
    assert "13 of 34 passed; 34 of 45 counted; 3 inconclusive, 3 evaluator failures, 5 not reached" in text
    assert "95%: 30 to 46, over cases" in text


def test_every_figure_on_the_page_is_the_records(viewer: Client, finished: Run) -> None:
    text = seen(page(viewer, finished))
    record = json.loads(viewer.get(reverse("web:run_record", args=[finished.pk])).content)
    report = record["report"]
    assert f"{100 * report['pass_rate']:.1f}%" in text
    assert (
        f"{report['passed']} of {report['judged']} passed; {report['judged']} of {report['total']} counted"
        in text
    )
    assert f"{report['inconclusive']} inconclusive" in text
    assert f"{report['without_evidence']} of {report['total']} attempts say nothing" in text
    for flag in report["flags"]:
        assert flag["sentence"] in text
    for case in record["cases"]:
        line = CaseResult.objects.get(grading__run=finished, case__key=case["id"])
        assert case["passes"] == line.passed
        assert f"{case['passes']} of 5" in text


def test_the_record_is_a_file_to_keep(viewer: Client, finished: Run) -> None:
    response = viewer.get(reverse("web:run_record", args=[finished.pk]))
    assert response.headers["Content-Type"] == "application/json"
    assert f'filename="refunds-run-{finished.pk}.json"' in response.headers["Content-Disposition"]


def test_nothing_judged_is_no_rate_and_never_0_percent(viewer: Client, experiment: Experiment) -> None:
    run = a_run(experiment, {"a": "SSN", "b": "EEI"})
    text = seen(page(viewer, run))
    assert "no rate" in text
    assert "0.0%" not in text
    assert "0 of 6 counted" in text


def test_no_percentage_stands_without_counts_in_the_lists(viewer: Client, finished: Run) -> None:
    for address in ("/", "/runs/", reverse("web:experiment", args=[finished.experiment_id])):
        text = seen(viewer.get(address).content.decode())
        rates = re.findall(r"\d+\.\d%( \d+ of \d+ passed)?", text)
        assert rates
        assert all(rates)


def test_what_needs_reading_comes_first(viewer: Client, finished: Run) -> None:
    assert keys(page(viewer, finished)) == [
        "refund-sale-item",
        "escalation-path",
        "cash-country",
        "receipt-per-airline",
        "vague-window",
        "broken-judge",
        "seat-fee-fixture",
        "tone-check",
        "refund-14d",
    ]


def test_the_table_is_sorted_by_position_on_request(viewer: Client, finished: Run) -> None:
    assert keys(page(viewer, finished, sort="position")) == list(MOCK)


def test_a_verdict_tab_shows_its_cases_and_its_count(viewer: Client, finished: Run) -> None:
    html = page(viewer, finished, verdict="VARIED")
    assert keys(html) == ["refund-sale-item", "escalation-path"]
    tabs = html[html.index('id="case-tabs"') : html.index('id="search-state"')]
    shown = re.findall(r"(All|Varied|Failed|Undecided|No result|Passed) (\d+)", tabs)
    assert shown == [
        ("All", "9"),
        ("Varied", "2"),
        ("Failed", "2"),
        ("Undecided", "1"),
        ("No result", "2"),
        ("Passed", "2"),
    ]
    assert re.search(r'aria-current="true"[^>]*>\s*Varied', tabs)


def test_search_finds_every_word_in_key_question_or_reason(viewer: Client, finished: Run) -> None:
    assert keys(page(viewer, finished, q="SALE refund")) == ["refund-sale-item"]
    assert keys(page(viewer, finished, q="asks escalation")) == ["escalation-path"]


def test_an_empty_list_says_that_a_filter_is_why(viewer: Client, finished: Run) -> None:
    text = seen(page(viewer, finished, q="no such words"))
    assert "No case here" in text
    assert "Show all cases" in text


def test_paging_visits_every_case_once_in_both_directions(viewer: Client, experiment: Experiment) -> None:
    strips = {f"case-{n:03}": "PF"[n % 2] * 2 for n in range(120)}
    run = a_run(experiment, strips, attempts=False)
    html, found, backwards = page(viewer, run), [], []
    while True:
        found.append(keys(html))
        link = re.search(r'rel="next"\s+href="([^"]+)"', html)
        if not link:
            break
        html = viewer.get(reverse("web:run", args=[run.pk]) + link[1].replace("&amp;", "&")).content.decode()
    assert [len(part) for part in found] == [50, 50, 20]
    assert sorted(key for part in found for key in part) == sorted(strips)
    while link := re.search(r'rel="prev"\s+href="([^"]+)"', html):
        html = viewer.get(reverse("web:run", args=[run.pk]) + link[1].replace("&amp;", "&")).content.decode()
        backwards.append(keys(html))
    assert backwards == [found[1], found[0]]


@pytest.mark.parametrize(
    "query",
    [
        {"verdict": "NONSENSE", "sort": "colour"},
        {"after": "x.y.z"},
        {"after": "9" * 60},
        {"before": "-1.0.0", "after": "1.1"},
        {"q": "a\0b"},
        {"q": "%' OR 1=1 --"},
        {"q": "\u202e\U0001f600"},
        {"q": "x" * 5000},
    ],
)
def test_an_address_that_makes_no_sense_shows_a_page(
    viewer: Client, finished: Run, query: dict[str, str]
) -> None:
    page(viewer, finished, **query)


@pytest.mark.parametrize("number", [0, 999, 2**31, 2**63, 10**30])
def test_a_run_that_is_not_there_is_not_found(viewer: Client, number: int) -> None:
    assert viewer.get(f"/runs/{number}/").status_code == 404
    assert viewer.get(f"/runs/{number}/record.json").status_code == 404
    assert viewer.get(f"/runs/{number}/cases/{number}/").status_code == 404
    assert viewer.get(f"/experiments/{number}/").status_code == 404


def test_while_running_rows_keep_their_place_and_the_page_polls_itself(
    viewer: Client, experiment: Experiment
) -> None:
    run = a_run(experiment, {**MOCK, "later": "....."}, state="running")
    html = page(viewer, run)
    assert keys(html) == [*MOCK, "later"]
    assert re.search(r'hx-get="\?part=progress"\s+hx-trigger="every 2s"', html)
    assert "45 of 50" in seen(html)
    assert "5 not yet" in seen(html)


def test_the_polled_part_carries_what_changes_and_not_the_search_field(
    signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    run = a_run(experiment, {**MOCK, "later": "....."}, state="running")
    html = page(signed_in(htmx=True), run, part="progress", verdict="VARIED")
    assert "<html" not in html
    assert 'id="search"' not in html
    for part in ("run-head", "case-tabs", "search-state", "case-table"):
        assert re.search(rf'id="{part}"[^>]*hx-swap-oob="true"', html)
    assert 'hx-get="?part=progress&amp;verdict=VARIED"' in html
    # Links in a part lead to the page, never to the part.
    assert not re.search(r'href="[^"]*part=', html)


def test_polling_stops_when_the_run_has_ended(signed_in: Callable[..., Client], finished: Run) -> None:
    client = signed_in(htmx=True)
    there = reverse("web:run", args=[finished.pk])
    assert client.get(there, {"part": "progress"}).status_code == 286
    filtered = client.get(there, {"verdict": "FAILED"})
    assert filtered.status_code == 200
    assert "every 2s" not in filtered.content.decode()


def test_going_back_in_the_history_gets_the_whole_page(
    signed_in: Callable[..., Client], finished: Run
) -> None:
    response = signed_in(htmx=True).get(
        reverse("web:run", args=[finished.pk]), headers={"hx-history-restore-request": "true"}
    )
    assert "<html" in response.content.decode()


def test_no_cache_keeps_a_page_or_takes_a_part_for_the_whole(viewer: Client, finished: Run) -> None:
    response = viewer.get(reverse("web:run", args=[finished.pk]))
    assert "HX-Request" in response.headers["Vary"]
    assert "no-store" in response.headers["Cache-Control"]


def test_a_stopped_run_says_what_a_resume_would_do(
    signed_in: Callable[..., Client], experiment: Experiment
) -> None:
    run = a_run(experiment, {"a": "PP", "b": "P."}, state="stopped")
    assert "Resume: 1 to run, 3 kept" in seen(page(signed_in(Role.OPERATOR), run))


def test_what_the_run_cannot_tell_is_listed_with_figures(viewer: Client, finished: Run) -> None:
    text = seen(page(viewer, finished))
    assert "setup failed (4), no reply (1)" in text
    assert "the evaluator broke (3)" in text
    assert "Agreement between the judge and people is unmeasured" in text


def test_near_misses_name_the_attempt_and_its_margin(viewer: Client, finished: Run) -> None:
    text = seen(page(viewer, finished))
    assert re.search(r"tone-check ?attempt 1: grade 6, 8 passes", text)


@pytest.mark.parametrize("cases", [3, 40])
def test_the_page_asks_the_database_equally_often_at_any_size(
    cases: int,
    viewer: Client,
    experiment: Experiment,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    strips = {f"case-{n}": ["PPPFP", "FFFFF", "UUUUU"][n % 3] for n in range(cases)}
    run = a_run(experiment, strips)
    # Session and user; grading with run, failed, varied, near misses, their lines, the table; activity.
    with django_assert_num_queries(9):
        page(viewer, run)
