"""Putting cited sources without a role into the queue."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction
from django.db.models import Count

from experiments.evaluation.text import printable
from experiments.models import CitationOccurrence, CriterionVerdict, Grading, ReviewItem

UNSEEN = "citations.unseen"
BATCH = 1000


def collect_citations(grading_id: int) -> int:
    """Make an item of each cited id that `citations.unseen` listed in a closed grading, with its occurrences.

    How many occurrences are new. Idempotent: an item is one a case and id, an occurrence one an attempt, and
    an item that people decided already stays decided.
    """
    with transaction.atomic():
        grading = Grading.objects.select_for_update(no_key=True).get(pk=grading_id)
        if grading.state != Grading.State.CLOSED or grading.collected:
            return 0
        cited = list(_cited(grading_id))
        ReviewItem.objects.bulk_create(
            [ReviewItem(case_id=case, unit_id=unit) for case, unit in sorted({(c, u) for c, u, _ in cited})],
            ignore_conflicts=True,
            batch_size=BATCH,
        )
        items = _items({case for case, _, _ in cited})
        before = CitationOccurrence.objects.count()
        CitationOccurrence.objects.bulk_create(
            [
                CitationOccurrence(item_id=items[case, unit], attempt_id=attempt, run_id=grading.run_id)
                for case, unit, attempt in cited
            ],
            ignore_conflicts=True,
            batch_size=BATCH,
        )
        _weigh(sorted({items[case, unit] for case, unit, _ in cited}))
        Grading.objects.filter(pk=grading_id).update(collected=True)
        return CitationOccurrence.objects.count() - before


def _cited(grading_id: int) -> Iterator[tuple[int, str, int]]:
    """(case, id, attempt) of every id listed, each once."""
    verdicts = CriterionVerdict.objects.filter(result__grading=grading_id, kind=UNSEEN).values_list(
        "result__attempt__case_id", "result__attempt_id", "data"
    )
    for case_id, attempt_id, data in verdicts.order_by("result__attempt_id").iterator():
        for unit_id in dict.fromkeys(data.get("unseen", ())):
            if unit_id:
                yield case_id, printable(unit_id, 300), attempt_id


def _items(case_ids: set[int]) -> dict[tuple[int, str], int]:
    found = {}
    ordered = sorted(case_ids)
    for start in range(0, len(ordered), BATCH):
        rows = ReviewItem.objects.filter(case__in=ordered[start : start + BATCH])
        found.update({(case, unit): key for key, case, unit in rows.values_list("pk", "case_id", "unit_id")})
    return found


def _weigh(item_ids: list[int]) -> None:
    for start in range(0, len(item_ids), BATCH):
        items = list(
            ReviewItem.objects.filter(pk__in=item_ids[start : start + BATCH]).annotate(n=Count("occurrences"))
        )
        for item in items:
            item.weight = item.n
        ReviewItem.objects.bulk_update(items, ["weight"], batch_size=BATCH)
