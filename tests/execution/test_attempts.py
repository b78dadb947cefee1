"""Claim, begin and put back: each a conditional UPDATE, and zero rows a normal answer."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from experiments import models as m
from experiments.execution import attempts, leases
from experiments.execution.attempts import Hold
from tests.execution.world import Other, begun_group, plan


@pytest.mark.django_db
def test_a_claim_takes_planned_attempts_in_order_and_counts_the_try() -> None:
    planned = plan(cases=3)
    hold = begun_group(planned)
    claims = attempts.claim(hold, 4)
    ids = list(planned.run.attempts.order_by("id").values_list("id", flat=True))
    assert [claim.attempt_id for claim in claims] == ids[:4]
    assert [(claim.number, claim.tries) for claim in claims] == [(1, 1), (1, 1), (1, 1), (2, 1)]
    rows = m.Attempt.objects.filter(state="claimed")
    assert {row.group_id for row in rows} == {hold.group_id}
    assert all(row.lease_until is not None for row in rows)
    assert planned.states() == {"claimed": 4, "pending": 2}


@pytest.mark.django_db
def test_a_claim_is_one_statement() -> None:
    hold = begun_group(plan())
    with CaptureQueriesContext(connection) as queries:
        attempts.claim(hold, 2)
    assert len(queries) == 1


@pytest.mark.django_db
def test_a_superseded_group_claims_nothing() -> None:
    planned = plan()
    hold = begun_group(planned)
    assert leases.supersede([hold.group_id]) == 1
    assert attempts.claim(hold, 2) == []
    assert attempts.claim(Hold(hold.group_id, hold.epoch + 1, hold.run_id), 2) == []
    assert planned.states() == {"pending": 4}


@pytest.mark.django_db
def test_a_yielding_group_claims_nothing() -> None:
    planned = plan()
    hold = begun_group(planned)
    leases.stop_claims(hold, 1)
    assert attempts.claim(hold, 2) == []


@pytest.mark.django_db
def test_nothing_is_claimed_of_a_run_that_is_being_stopped() -> None:
    planned = plan()
    hold = begun_group(planned)
    m.Run.objects.filter(pk=planned.run.pk).update(state="stopping")
    assert attempts.claim(hold, 2) == []


@pytest.mark.django_db
def test_an_attempt_is_begun_only_by_the_claim_that_holds_it() -> None:
    planned = plan()
    hold = begun_group(planned)
    first, second = attempts.claim(hold, 2)
    m.Attempt.objects.filter(pk=second.attempt_id).update(tries=second.tries + 1)
    assert attempts.begin(hold, [(first.attempt_id, 1), (second.attempt_id, 1)]) == {first.attempt_id}
    row = m.Attempt.objects.get(pk=first.attempt_id)
    assert (row.state, row.started_at is not None) == ("running", True)
    assert attempts.begin(hold, [(first.attempt_id, 1)]) == {first.attempt_id}, "the answer had been lost"


@pytest.mark.django_db
def test_a_superseded_group_begins_nothing() -> None:
    hold = begun_group(plan())
    (claim,) = attempts.claim(hold, 1)
    leases.supersede([hold.group_id])
    assert attempts.begin(hold, [(claim.attempt_id, claim.tries)]) == set()


@pytest.mark.django_db
def test_what_was_claimed_but_not_asked_is_cancelled_when_the_run_stops() -> None:
    planned = plan()
    hold = begun_group(planned)
    (claim,) = attempts.claim(hold, 1)
    m.Run.objects.filter(pk=planned.run.pk).update(state="stopping")
    assert attempts.begin(hold, [(claim.attempt_id, claim.tries)]) == set()
    assert planned.states() == {"cancelled": 1, "pending": 3}


@pytest.mark.django_db
def test_an_attempt_given_back_can_be_claimed_again_with_the_next_try() -> None:
    planned = plan(cases=1, repeats=1)
    hold = begun_group(planned)
    (claim,) = attempts.claim(hold, 1)
    assert attempts.give_back(hold, [(claim.attempt_id, claim.tries)]) == 1
    (again,) = attempts.claim(hold, 1)
    assert (again.attempt_id, again.tries) == (claim.attempt_id, 2)
    assert attempts.give_back(hold, [(claim.attempt_id, claim.tries)]) == 0, "that claim is over"
    assert planned.states() == {"claimed": 1}


@pytest.mark.django_db(transaction=True)
def test_claims_of_many_groups_at_once_never_share_an_attempt() -> None:
    planned = plan(cases=20, repeats=3, lanes=128)
    holds = [begun_group(planned) for _ in range(2)]

    def take(hold: Hold) -> list[int]:
        taken: list[int] = []
        while claims := attempts.claim(hold, 3):
            taken += [claim.attempt_id for claim in claims]
        return taken

    others = [Other(lambda hold=hold: take(hold)) for hold in holds]  # type: ignore[misc]
    taken = [attempt_id for other in others for attempt_id in other.result()]
    assert len(taken) == len(set(taken)) == 60


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="row locks are PostgreSQL's")
def test_a_claim_does_not_wait_for_rows_that_somebody_holds() -> None:
    planned = plan(cases=1, repeats=3)
    hold = begun_group(planned)
    first = planned.run.attempts.order_by("id")[0]
    with transaction.atomic():
        m.Attempt.objects.select_for_update().get(pk=first.pk)
        claims = Other(lambda: attempts.claim(hold, 3)).result(5)
    assert [claim.number for claim in claims] == [2, 3]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="row locks are PostgreSQL's")
def test_a_claim_waits_for_a_supersession_under_way_and_then_takes_nothing() -> None:
    planned = plan()
    hold = begun_group(planned)
    with transaction.atomic():
        leases.supersede([hold.group_id])
        claiming = Other(lambda: attempts.claim(hold, 2))
        claiming.join(0.2)
        assert claiming.is_alive(), "the claim waits for the group's row"
    assert claiming.result() == []
    assert planned.states() == {"pending": 4}
