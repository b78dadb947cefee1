"""The replies that cite a source, with the citation marked where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.models import AttemptEvidence, CaseResult, CitationOccurrence, ReviewItem
from experiments.selectors.case import REPLY_SHOWN, Text
from experiments.selectors.marking import segments, spans
from experiments.selectors.run import passes_of, strip_of

READ = 20
"""The newest occurrences of an item, whose replies are read."""
PROMPT_SHOWN = 4_000
IDS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """One reply that cites the source, with the attempts of a run that gave exactly it.

    `pieces` are (text, marked); `marks` counts the places marked, 0 for a citation beside the text. `first`
    is the character the pieces begin at, `reply` None when there is none to show (removed, or never stored).
    """

    run_id: int
    experiment: str
    numbers: tuple[int, ...]
    attempt_id: int
    prompt: Text
    reply: Text | None
    pieces: tuple[tuple[str, bool], ...]
    marks: int
    first: int
    cited: tuple[str, ...]
    purged: bool

    @property
    def where(self) -> str:
        """ "attempts 1, 3, 4"."""
        noun = "attempt" if len(self.numbers) == 1 else "attempts"
        return f"{noun} {', '.join(str(number) for number in self.numbers)}"


@dataclass(frozen=True, slots=True)
class VerdictNow:
    """How the case stands in a run at present."""

    case_result_id: int
    verdict: str
    strip: str
    passes: str


def passages_of(item: ReviewItem) -> tuple[Passage, ...]:
    """The newest citations in two queries, equal replies of a run as one, the newest run first."""
    occurrences = list(
        CitationOccurrence.objects.filter(item=item)
        .select_related("attempt", "run__experiment")
        .order_by("-attempt")[:READ]
    )
    documents = dict(
        AttemptEvidence.objects.filter(attempt__in=[each.attempt_id for each in occurrences]).values_list(
            "attempt_id", "document"
        )
    )
    alike: dict[tuple[int, str, str, bool], list[CitationOccurrence]] = {}
    for each in sorted(occurrences, key=lambda one: (-one.run_id, one.attempt.number)):
        turn = _graded_turn(documents.get(each.attempt_id))
        reply = turn.get("reply")
        key = (each.run_id, str(turn.get("prompt") or ""), str(reply or ""), reply is None)
        alike.setdefault(key, []).append(each)
    return tuple(_passage(item, group, documents.get(group[0].attempt_id)) for group in alike.values())


def _graded_turn(document: Any) -> dict[str, Any]:
    turns = (document or {}).get("turns") or [{}]
    return turns[-1] or {}


def _passage(item: ReviewItem, group: Sequence[CitationOccurrence], document: Any) -> Passage:
    turn, first = _graded_turn(document), group[0]
    reply = turn.get("reply")
    citations = [each for each in turn.get("citations") or [] if isinstance(each, dict)]
    quote = next((each.get("quote") for each in citations if each.get("id") == item.unit_id), None)
    marks = spans(reply, item.unit_id, quote) if reply else []
    pieces, start = segments(reply or "", marks, REPLY_SHOWN)
    prompt = str(turn.get("prompt") or "")
    return Passage(
        run_id=first.run_id,
        experiment=first.run.experiment.name,
        numbers=tuple(each.attempt.number for each in group),
        attempt_id=first.attempt_id,
        prompt=Text(prompt[:PROMPT_SHOWN], len(prompt)),
        reply=None if reply is None else Text("".join(text for text, _ in pieces), len(reply)),
        pieces=tuple(pieces),
        marks=len(marks),
        first=start,
        cited=tuple(str(each.get("id")) for each in citations[:IDS_SHOWN]),
        purged=document is None,
    )


def verdicts_now(item: ReviewItem, passages: Sequence[Passage]) -> dict[int, VerdictNow]:
    """By run: how the case stands in the runs shown."""
    rows = CaseResult.objects.filter(
        case=item.case_id, grading__is_current=True, grading__run__in={each.run_id for each in passages}
    ).select_related("grading")
    return {
        row.grading.run_id: VerdictNow(row.pk, row.verdict, strip_of(row), passes_of(row)) for row in rows
    }
