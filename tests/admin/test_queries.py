"""No page of the admin asks the database more often because there is more to show."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiments.models import Case, Suite
from tests.admin.test_doors import address
from tests.factories import make_case, make_experiment, make_run


def asked(author: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert author.get(url).status_code == 200
    return len(queries)


@pytest.mark.parametrize(
    "model", ["case", "suite", "experiment", "run", "activity", "rubric", "policy", "corpus"]
)
def test_a_list_asks_as_often_for_many_rows_as_for_few(author: Client, suite: Suite, model: str) -> None:
    fill(suite, 2)
    few = asked(author, address(model))
    fill(suite, 12)
    assert asked(author, address(model)) == few


def test_a_case_and_its_suite_are_shown_in_a_fixed_number_of_queries(
    author: Client, suite: Suite, case: Case
) -> None:
    pages = [
        address("case", "change", case.pk),
        address("suite", "change", suite.pk),
        address("case", "history", case.pk),
    ]
    make_experiment(suite=suite)
    few = [asked(author, url) for url in pages]
    fill(suite, 12)
    assert [asked(author, url) for url in pages] == few


def fill(suite: Suite, count: int) -> None:
    start = suite.cases.count()
    for number in range(start, start + count):
        make_case(suite, f"case-{number}")
        make_run(make_experiment(suite=suite))
