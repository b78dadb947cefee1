"""Cited sources without a role as rows: what the queue's pages read, without running or grading anything."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from django.test import Client
from django.utils import timezone

from experiments.models import (
    Attempt,
    Case,
    CitationOccurrence,
    Corpus,
    CorpusUnit,
    CorpusVersion,
    Grading,
    ItemState,
    ReviewItem,
    RoleDecision,
    Run,
    User,
)
from experiments.services.adjudication import Answer, decide, take

UNIT = "law/art:2/par:1"
LAW = {
    "law": ("The Law", ""),
    "law/art:2": ("Returns", "1. Within 30 days. 2. With a receipt."),
    "law/art:2/par:1": ("", "Goods go back within 30 days."),
    "law/art:2/par:2": ("", "A receipt is needed."),
    "law/art:3": ("Cash", "Cash is paid in Canada."),
}


def cite(run: Run, key: str, unit: str = UNIT, times: int | None = None) -> ReviewItem:
    """`unit` cited without a role by the first `times` attempts of a case, by all of them without."""
    case = Case.objects.get(suite=run.experiment.suite, key=key)
    attempts = list(Attempt.objects.filter(run=run, case=case).order_by("number")[:times])
    item = ReviewItem.objects.create(case=case, unit_id=unit, weight=len(attempts))
    CitationOccurrence.objects.bulk_create(
        CitationOccurrence(item=item, attempt=attempt, run=run) for attempt in attempts
    )
    return item


def a_corpus(*runs: Run, units: dict[str, tuple[str, str]] | None = None) -> CorpusVersion:
    """A small law that these runs were graded with; each unit as id: (title, text)."""
    corpus = Corpus.objects.create(name="law")
    units = units or LAW
    version = CorpusVersion.objects.create(
        corpus=corpus, number=1, fingerprint="c" * 64, unit_count=len(units)
    )
    CorpusUnit.objects.bulk_create(
        CorpusUnit(
            version=version,
            unit_id=key,
            parent_unit=key.rpartition("/")[0],
            title=title,
            text=text,
            position=position,
        )
        for position, (key, (title, text)) in enumerate(units.items())
    )
    corpus.current = version
    corpus.save()
    for run in runs:
        # A grading's corpus is pinned, so a corpus that comes later comes with a new grading.
        first = run.gradings.get(is_current=True)
        run.gradings.update(is_current=False)
        Grading.objects.create(
            run=run,
            number=first.number + 1,
            suite_version=first.suite_version,
            settle_mode=first.settle_mode,
            corpus_version=version,
        )
    return version


def hold(item: ReviewItem, holder: User, minutes: float = 8) -> None:
    """Somebody has the item for so long, in the past for a lease that ended."""
    until = timezone.now() + timedelta(minutes=minutes)
    ReviewItem.objects.filter(pk=item.pk).update(holder=holder, lease=uuid4(), lease_until=until)


def answer(user: User, item: ReviewItem, role: str = "acceptable", reason: str = "") -> RoleDecision:
    """Take the item and decide it."""
    taken = take(user, item)
    assert taken is not None
    return decide(user, taken, Answer(role=role, reason=reason), lease=taken.lease, version=taken.version)


def disagree(item: ReviewItem, first: User, second: User) -> None:
    """Two reviewers answer differently."""
    ReviewItem.objects.filter(pk=item.pk).update(wanted=2)
    answer(first, item, "forbidden", "repealed in 2019")
    answer(second, item, "acceptable", "still cited")
    item.refresh_from_db()
    assert item.state == ItemState.DISAGREED


def browser_of(user: User, *, htmx: bool = False) -> Client:
    """A browser this very person has signed in with."""
    client = Client(headers={"hx-request": "true"} if htmx else {})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client
