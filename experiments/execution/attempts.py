"""Moving attempts: claim, begin, put back. Each is one conditional UPDATE, and zero rows is a normal answer.

The finish is in :mod:`experiments.execution.recording`, in the transaction that writes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from experiments.execution import sql
from experiments.models import Attempt, AttemptState, Run, RunState


@dataclass(frozen=True, slots=True)
class Hold:
    """A lane group's right to claim: its id and the epoch it was begun with."""

    group_id: int
    epoch: int
    run_id: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed attempt. `tries` is the fencing token of this claim."""

    attempt_id: int
    case_version_id: int
    number: int
    tries: int


def claim(hold: Hold, count: int) -> list[Claim]:
    """At most `count` planned attempts, now CLAIMED by the group, in order of id.

    One statement: a group whose epoch has moved on, that yields, or whose run is no longer RUNNING gets none.
    The share lock on the group's row makes a claim and a supersession wait for each other, so that whoever
    supersedes sees every attempt the group ever claimed.
    """
    words = sql.dialect()
    found = sql.fetch(
        f"""
        WITH held AS (
            SELECT g.id FROM experiments_lanegroup g JOIN experiments_run r ON r.id = g.run_id
            WHERE g.id = %s AND g.epoch = %s AND g.state = 'active' AND r.state = 'running'
            {words.share.format("g")}
        ), picked AS MATERIALIZED (
            SELECT a.id FROM experiments_attempt a
            WHERE a.run_id = %s AND a.state = 'pending' AND EXISTS (SELECT 1 FROM held)
            ORDER BY a.id LIMIT %s {words.skip_locked.format("a")}
        )
        UPDATE experiments_attempt
        SET state = 'claimed', tries = tries + 1, group_id = %s, lease_until =
        {words.later(settings.LEASE_SECONDS)} FROM picked WHERE experiments_attempt.id = picked.id RETURNING
        experiments_attempt.id, case_version_id, number, tries """,
        [hold.group_id, hold.epoch, hold.run_id, count, hold.group_id],
    )
    return [Claim(*row) for row in sorted(found)]


def anything_pending(run_id: int) -> bool:
    """Whether the run has an attempt that somebody could claim."""
    return Attempt.objects.filter(run_id=run_id, state=AttemptState.PENDING).exists()


def anything_open(run_id: int) -> bool:
    """Whether the run has an attempt that is planned or in flight."""
    states = [AttemptState.PENDING, AttemptState.CLAIMED, AttemptState.RUNNING]
    return any(Attempt.objects.filter(run_id=run_id, state=state).exists() for state in states)


def begin(hold: Hold, claims: Sequence[tuple[int, int]]) -> set[int]:
    """CLAIMED -> RUNNING for `(attempt id, tries)` pairs; the ids that may now be asked.

    Asked again after an answer that was lost with its connection, it says the same. The others were lost
    (lease ran out, group superseded) or, when the run is being stopped, are CANCELLED here: a lane drops
    them without a word, so nobody else would.
    """
    if not claims:
        return set()
    words = sql.dialect()
    query, params = sql.source((("id", "bigint"), ("tries", "integer")), claims)
    named, ids = sql.named("experiments_attempt.id", [attempt_id for attempt_id, _ in claims])
    found = sql.fetch(
        f"""
        WITH v(id, tries) AS ({query})
        UPDATE experiments_attempt
        SET state = 'running', started_at = {words.now}, lease_until = {words.later(settings.LEASE_SECONDS)}
        FROM v
        WHERE experiments_attempt.id = v.id AND experiments_attempt.tries = v.tries
          AND {named} AND {sql.BY_KEY} IN ('claimed', 'running') AND group_id = %s
          AND EXISTS (
            SELECT 1 FROM experiments_lanegroup g JOIN experiments_run r ON r.id = g.run_id
            WHERE g.id = %s AND g.epoch = %s AND r.state = 'running')
        RETURNING experiments_attempt.id
        """,
        [*params, *ids, hold.group_id, hold.group_id, hold.epoch],
    )
    begun = {int(row[0]) for row in found}
    if len(begun) < len(claims):
        give_back(hold, [pair for pair in claims if pair[0] not in begun])
    return begun


def give_back(hold: Hold, claims: Sequence[tuple[int, int]]) -> int:
    """Attempts this group claimed and will not begin; how many were still its own."""
    given = 0
    for attempt_id, tries in claims:
        mine = Attempt.objects.filter(
            pk=attempt_id, tries=tries, group_id=hold.group_id, state=AttemptState.CLAIMED
        )
        given += put_back(mine, hold.run_id)
    return given


def put_back(attempts: QuerySet[Attempt], run_id: int) -> int:
    """Attempts of one run that nobody works at any more: PENDING again, or CANCELLED when the run is not
    RUNNING, as their siblings were. How many changed."""
    running = Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists()
    state = AttemptState.PENDING if running else AttemptState.CANCELLED
    return attempts.update(state=state, group=None, lease_until=None, started_at=None)
