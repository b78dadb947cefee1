"""The compare page: the gate first, then what may be said, then which cases changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from experiments import models as m
from experiments.evaluation import Evidence
from experiments.services.comparisons import run_comparison
from tests.factories import make_case, make_suite, make_user
from tests.stored import answering_target, finished_run, make_policy, ready_experiment, says
from tests.web.test_run import seen

pytestmark = pytest.mark.django_db

CRITERIA = [{"kind": "citations.required", "gate": True}, {"kind": "citations.unseen"}]


@pytest.fixture
def target() -> Iterator[m.Target]:
    with answering_target() as made:
        yield made


def experiment_of(target: m.Target, cases: int) -> m.Experiment:
    suite = make_suite(criteria=CRITERIA)
    for number in range(cases):
        make_case(suite, f"case-{number:02}", sources={"required": [["law/art:1"]]})
    return ready_experiment(target, suite, repeats=2)


def good(_: str, __: int) -> Evidence:
    return says("30 days", "law/art:1")


def worse(key: str, number: int) -> Evidence:
    return says("30 days", "law/art:9" if key < "case-08" and number == 2 else "law/art:1")


def signed_in(client: Client, role: str = "viewer") -> Client:
    client.force_login(make_user(role), "django.contrib.auth.backends.ModelBackend")
    return client


def address(a: m.Run, b: m.Run, more: str = "") -> str:
    return f"{reverse('web:compare')}?a={a.pk}&b={b.pk}{more}"


def compared(client: Client, a: m.Run, b: m.Run, more: str = "") -> str:
    """The page once the quick task has done its work."""
    client.get(address(a, b))
    run_comparison(m.Comparison.objects.get(a__run=a, b__run=b).pk)
    return client.get(address(a, b, more)).content.decode()


@pytest.fixture
def runs(target: m.Target) -> tuple[m.Run, m.Run]:
    experiment = experiment_of(target, 12)
    return finished_run(experiment, good), finished_run(experiment, worse)


def test_a_regression_is_said_in_words_with_its_counts_interval_and_test(
    client: Client, runs: tuple[m.Run, m.Run]
) -> None:
    text = seen(compared(signed_in(client), *runs))
    assert "Comparable" in text
    assert "On these 12 cases B is worse than A." in text
    assert "Mean share of passes a case: A 100%, B 66.7%; attempts passed: A 24 of 24, B 16 of 24" in text
    assert "8 worse, 0 better; sign test p = 0.0078" in text
    assert "difference -33.3 points (95%:" in text
    assert text.count("citations.required") == 9  # once in the gate, once a case


def test_every_number_of_the_matrix_and_every_tab_is_a_filter(
    client: Client, runs: tuple[m.Run, m.Run]
) -> None:
    reader = signed_in(client)
    html = compared(reader, *runs, "&cell=PASSED.VARIED")
    assert html.count("data-row-link") == 8
    assert reader.get(address(*runs, "&change=same")).content.decode().count("data-row-link") == 4
    assert reader.get(address(*runs, "&change=better")).content.decode().count("data-row-link") == 0
    assert (
        reader.get(address(*runs, "&change=x&cell=A.B&after=x")).content.decode().count("data-row-link") == 12
    )


def test_a_first_look_waits_with_a_fragment_that_stops_itself(
    client: Client, runs: tuple[m.Run, m.Run]
) -> None:
    reader = signed_in(client)
    assert "Comparing" in reader.get(address(*runs)).content.decode()
    part = reader.get(address(*runs), headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert "<html" not in part.content.decode()
    run_comparison(m.Comparison.objects.get().pk)
    assert reader.get(address(*runs), headers={"HX-Request": "true"}).status_code == 286


def test_runs_under_two_policies_show_no_figure_until_someone_looks_anyway_and_then_claim_nothing(
    client: Client, target: m.Target
) -> None:
    experiment = experiment_of(target, 12)
    a = finished_run(experiment, good)
    make_policy("desk", "Be brief.")
    experiment = m.Experiment.objects.get(pk=experiment.pk)
    b = finished_run(experiment, worse)
    reader = signed_in(client)
    text = seen(compared(reader, a, b))
    assert "Not comparable" in text
    assert "desk v1" in text
    assert "points" not in text
    looked = seen(reader.get(address(a, b, "&anyway=on")).content.decode())
    assert "no regression and no improvement is stated" in looked
    assert "B is worse" not in looked
    assert "difference -33.3 points" in looked


def test_too_few_cases_are_said_to_be_too_few(client: Client, target: m.Target) -> None:
    experiment = experiment_of(target, 3)
    text = seen(compared(signed_in(client), finished_run(experiment, good), finished_run(experiment, worse)))
    assert "too few to tell A from B" in text


def test_without_an_address_the_two_newest_runs_of_an_experiment_are_compared(
    client: Client, runs: tuple[m.Run, m.Run]
) -> None:
    response = signed_in(client).get(reverse("web:compare"))
    assert response.status_code == 302
    assert response.headers["Location"] == address(*runs)


def test_without_runs_the_page_says_what_is_missing(client: Client) -> None:
    reader = signed_in(client)
    assert "Choose two finished runs" in reader.get(reverse("web:compare")).content.decode()
    assert reader.get(reverse("web:compare") + "?a=999&b=998").status_code == 404
    assert reader.get(reverse("web:compare") + "?a=x&b=y").status_code == 200


def test_a_run_with_itself_is_refused_in_words(client: Client, runs: tuple[m.Run, m.Run]) -> None:
    text = seen(signed_in(client).get(address(runs[0], runs[0])).content.decode())
    assert "not with itself" in text


@pytest.mark.parametrize(("role", "status"), [("viewer", 200), ("reviewer", 200), ("", 403)])
def test_who_may_read_may_compare(client: Client, role: str, status: int) -> None:
    assert signed_in(client, role).get(reverse("web:compare")).status_code == status


def test_nobody_signed_in_is_sent_to_the_sign_in_page(client: Client) -> None:
    assert client.get(reverse("web:compare")).status_code == 302
    assert client.post(reverse("web:grade_alike")).status_code in (302, 403)


@pytest.mark.parametrize("role", ["viewer", "reviewer", "author"])
def test_only_operators_grade_a_run_like_another(
    client: Client, role: str, runs: tuple[m.Run, m.Run]
) -> None:
    given = {"a": runs[0].pk, "b": runs[1].pk}
    assert signed_in(client, role).post(reverse("web:grade_alike"), given).status_code == 403
    assert signed_in(client, "operator").post(reverse("web:grade_alike"), given).status_code == 302
    assert m.Grading.objects.filter(run=runs[0]).count() == 2


def test_the_page_asks_the_same_number_of_queries_for_any_number_of_cases(
    client: Client, target: m.Target, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    reader = signed_in(client)
    for cases in (4, 40):
        experiment = experiment_of(target, cases)
        a, b = finished_run(experiment, good), finished_run(experiment, worse)
        compared(reader, a, b)
        with django_assert_max_num_queries(14):
            reader.get(address(a, b))
