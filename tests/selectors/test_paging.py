"""Keyset paging."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Case, Value, When

from experiments.models import User
from experiments.selectors.paging import Page, keyset


@pytest.fixture
def users(db: None) -> list[int]:
    return [User.objects.create(username=f"u{number}", is_active=number % 3 == 0).pk for number in range(11)]


def ids(page: Page[Any]) -> list[int]:
    return [row.pk for row in page.rows]


def test_pages_follow_each_other_and_lead_back(users: list[int]) -> None:
    first = keyset(User.objects.all(), ["id"], size=4)
    second = keyset(User.objects.all(), ["id"], size=4, after=first.after)
    third = keyset(User.objects.all(), ["id"], size=4, after=second.after)
    assert ids(first) + ids(second) + ids(third) == users
    assert (first.before, third.after) == ("", "")
    assert ids(keyset(User.objects.all(), ["id"], size=4, before=third.before)) == ids(second)
    back = keyset(User.objects.all(), ["id"], size=4, before=second.before)
    assert ids(back) == ids(first)
    assert back.before == ""
    assert back.after == first.after


def test_descending_pages_start_at_the_newest(users: list[int]) -> None:
    first = keyset(User.objects.all(), ["-id"], size=8)
    assert ids(first) + ids(keyset(User.objects.all(), ["-id"], size=8, after=first.after)) == users[::-1]


def test_a_page_that_is_just_full_has_no_next(users: list[int]) -> None:
    assert keyset(User.objects.all(), ["id"], size=11).after == ""


def test_an_empty_list_has_no_neighbours(db: None) -> None:
    page = keyset(User.objects.none(), ["id"])
    assert page == Page(())


def test_equal_values_are_told_apart_by_the_next_column(users: list[int]) -> None:
    ranked = User.objects.annotate(rank=Case(When(is_active=True, then=Value(0)), default=Value(1)))
    order, found, after = ["rank", "id"], [], ""
    while True:
        page = keyset(ranked, order, size=3, after=after)
        found += ids(page)
        after = page.after
        if not after:
            break
    assert found == [*users[::3], *(user for index, user in enumerate(users) if index % 3)]


@pytest.mark.parametrize("cursor", ["", "x", "1.2", "-1", "1" * 19, "٣", "1" * 100, "\0"])
def test_a_cursor_that_cannot_be_read_means_the_first_page(users: list[int], cursor: str) -> None:
    page = keyset(User.objects.all(), ["id"], size=4, after=cursor)
    assert ids(page) == users[:4]
    assert page.before == ""
