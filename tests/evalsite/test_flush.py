"""Tests that commit leave nothing behind, although triggers guard what they wrote; the guards come back."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection

from experiments.models import Activity, User
from tests.conftest import triggers_of


def guards() -> int:
    with connection.cursor() as cursor:
        cursor.execute(triggers_of(connection.vendor))
        return len(cursor.fetchall())


def write_what_cannot_be_deleted() -> None:
    Activity.objects.create(
        actor=User.objects.create(username="somebody"),
        actor_name="somebody",
        verb="tested",
        object_type="suite",
        object_id=1,
        object_label="a suite",
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", [1, 2])
def test_each_time_the_table_is_empty_and_guarded(time: int) -> None:
    assert Activity.objects.count() == 0
    assert guards() > 0
    write_what_cannot_be_deleted()
    with pytest.raises(DatabaseError):
        Activity.objects.all().delete()
