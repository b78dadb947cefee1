"""What the page of one case in a run shows: the question, and every attempt with evidence and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.evaluation import Evidence
from experiments.evaluation.results import AttemptResult
from experiments.mapping import evidence_of, failure_of, result_of
from experiments.models import Attempt, AttemptEvidence, AttemptState, CaseResult, Result
from experiments.selectors.run import passes_of, settled_words, strip_of
from experiments.selectors.varied import VariedView, varied_view

REPLY_SHOWN = 20_000
"""Characters of a reply that the page itself holds; the whole reply has an address of its own."""
CONTEXT_SHOWN = 2_000
SHOWN_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class Text:
    """A text cut to what a page holds; `length` is that of the whole in characters."""

    shown: str
    length: int

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.shown)


@dataclass(frozen=True, slots=True)
class TurnView:
    prompt: Text
    reply: Text | None
    failure: str
    citations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CriterionView:
    kind: str
    status: str
    detail: str
    gate: bool
    weight: float


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt. `turns` is empty when it has no evidence; `purged` says that it once had."""

    id: int
    number: int
    letter: str
    seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    failure: str
    reason: str
    evaluator: str
    figure: str
    criteria: tuple[CriterionView, ...]
    turns: tuple[TurnView, ...]
    notes: tuple[str, ...]
    purged: bool

    @property
    def earlier(self) -> tuple[TurnView, ...]:
        """The turns that led up to the graded one."""
        return self.turns[:-1]

    @property
    def graded(self) -> TurnView | None:
        return self.turns[-1] if self.turns else None


@dataclass(frozen=True, slots=True)
class CasePage:
    id: int
    case_id: int
    run_id: int
    experiment: str
    key: str
    version: int
    verdict: str
    strip: str
    passes: str
    settled_by: str
    turn: Text
    expected: Text
    setup: str
    tags: tuple[str, ...]
    attempts: tuple[AttemptView, ...]
    varied: VariedView | None
    hidden_attempts: int
    previous: int | None
    next: int | None


def case_page(
    run_id: int, case_result_id: int, chosen: tuple[int | None, int | None] = (None, None)
) -> CasePage:
    """The page in seven queries, whatever the number of attempts. Raises `CaseResult.DoesNotExist`.

    `chosen`: the numbers of the two attempts to set side by side, None for what the page itself would choose.
    """
    row = CaseResult.objects.select_related(
        "case", "case_version", "graded_version", "grading__run__experiment"
    ).get(pk=case_result_id, grading__run=run_id, grading__is_current=True)
    content = row.case_version.content
    attempts = list(
        Attempt.objects.filter(run=run_id, case=row.case_id, counts=True).order_by("number")[:SHOWN_ATTEMPTS]
    )
    before, after = _neighbours(row)
    stored = _stored(row, attempts)
    return CasePage(
        id=row.pk,
        case_id=row.case_id,
        run_id=run_id,
        experiment=row.grading.run.experiment.name,
        key=row.case.key,
        version=row.case_version.number,
        verdict=row.verdict,
        strip=strip_of(row),
        passes=passes_of(row),
        settled_by=settled_words(row),
        turn=_text(row.case_version.turn),
        expected=_text(row.graded_version.content.get("expected") or ""),
        setup=setup_words(content.get("setup") or {}),
        tags=tuple(str(tag) for tag in row.case_version.tags),
        attempts=tuple(
            _attempt(attempt, letter, stored)
            for attempt, letter in zip(attempts, strip_of(row), strict=False)
        ),
        varied=_varied(row, attempts, stored, chosen),
        hidden_attempts=max(0, row.requested - SHOWN_ATTEMPTS),
        previous=before,
        next=after,
    )


def whole_reply(run_id: int, attempt_id: int) -> str:
    """The graded reply of an attempt, uncut. Raises `AttemptEvidence.DoesNotExist` when there is none."""
    stored = AttemptEvidence.objects.get(attempt=attempt_id, attempt__run=run_id)
    turns = (stored.document or {}).get("turns") or []
    reply = turns[-1].get("reply") if turns else None
    if reply is None:
        raise AttemptEvidence.DoesNotExist
    return str(reply)


def _neighbours(row: CaseResult) -> tuple[int | None, int | None]:
    siblings = CaseResult.objects.filter(grading=row.grading_id)
    before = siblings.filter(position__lt=row.position).order_by("-position", "-id")
    after = siblings.filter(position__gt=row.position).order_by("position", "id")
    return before.values_list("id", flat=True).first(), after.values_list("id", flat=True).first()


@dataclass(frozen=True, slots=True)
class _Stored:
    """Results and evidence documents of the shown attempts, by attempt id."""

    results: dict[int, Result]
    documents: dict[int, Any]


def _stored(row: CaseResult, attempts: list[Attempt]) -> _Stored:
    ids = [attempt.pk for attempt in attempts]
    results = Result.objects.filter(grading=row.grading_id, attempt__in=ids).prefetch_related("verdicts")
    documents = AttemptEvidence.objects.filter(attempt__in=ids).values_list("attempt_id", "document")
    return _Stored({result.attempt_id: result for result in results}, dict(documents))


def _varied(
    row: CaseResult, attempts: list[Attempt], stored: _Stored, chosen: tuple[int | None, int | None]
) -> VariedView | None:
    done = [attempt for attempt in attempts if attempt.state == AttemptState.DONE]
    found = []
    for attempt in done:
        result = stored.results.get(attempt.pk)
        found.append(
            AttemptResult(
                number=attempt.number,
                evidence=_readable(stored.documents.get(attempt.pk)),
                result=result_of(result, list(result.verdicts.all())) if result else None,
                failure=failure_of(attempt),
                seconds=attempt.seconds,
            )
        )
    letters = strip_of(row)
    return varied_view(
        found,
        "".join(letters[attempt.number - 1] for attempt in done),
        [_tokens(attempt) for attempt in done],
        chosen,
    )


def _readable(document: Any) -> Evidence | None:
    """Stored evidence, or None when there is none that can be read; the page then shows what there is."""
    try:
        return evidence_of(document)
    except ValueError:
        return None


def _tokens(attempt: Attempt) -> int | None:
    if attempt.prompt_tokens is None or attempt.completion_tokens is None:
        return None
    return attempt.prompt_tokens + attempt.completion_tokens


def _attempt(attempt: Attempt, letter: str, stored: _Stored) -> AttemptView:
    result, documents = stored.results.get(attempt.pk), stored.documents
    document = documents.get(attempt.pk) or {}
    return AttemptView(
        id=attempt.pk,
        number=attempt.number,
        letter=letter,
        seconds=attempt.seconds,
        prompt_tokens=attempt.prompt_tokens,
        completion_tokens=attempt.completion_tokens,
        failure=attempt.failure_detail,
        reason=result.reason if result else "",
        evaluator=f"{result.evaluator} v{result.evaluator_version}" if result else "",
        figure=_figure(result) if result else "",
        criteria=tuple(
            CriterionView(verdict.kind, verdict.status, verdict.detail, verdict.gate, verdict.weight)
            for verdict in (result.verdicts.all() if result else ())
        ),
        turns=tuple(_turn(turn) for turn in document.get("turns") or []),
        notes=tuple(str(note) for note in document.get("cut") or []),
        purged=attempt.pk in documents and documents[attempt.pk] is None,
    )


def _turn(turn: dict[str, Any]) -> TurnView:
    reply = turn.get("reply")
    return TurnView(
        prompt=_text(str(turn.get("prompt") or ""), CONTEXT_SHOWN),
        reply=None if reply is None else _text(str(reply)),
        failure=str(turn.get("failure") or ""),
        citations=tuple(str(citation.get("id")) for citation in turn.get("citations") or []),
    )


def _text(text: str, limit: int = REPLY_SHOWN) -> Text:
    return Text(text[:limit], len(text))


def _figure(result: Result) -> str:
    """The number behind a verdict: "8 of 10", "score 0.48, threshold 0.50", "criteria 0.67 of 1.00"."""
    parts = []
    if result.grade is not None:
        parts.append(f"grade {result.grade} of 10")
    if result.score is not None:
        parts.append(f"score {result.score:.2f}")
    if result.threshold is not None:
        parts.append(f"threshold {result.threshold:.2f}")
    if result.criteria_score is not None and result.pass_score is not None:
        parts.append(f"criteria {result.criteria_score:.2f}, needed {result.pass_score:.2f}")
    return ", ".join(parts)


def setup_words(setup: dict[str, Any]) -> str:
    """A case's setup in a sentence."""
    kind = setup.get("kind", "none")
    if kind == "replay":
        turns = len(setup.get("user_turns") or [])
        return f"after {turns} earlier {'turn' if turns == 1 else 'turns'}, sent one by one"
    if kind == "fixture":
        given = ", ".join(f"{name} {value}" for name, value in (setup.get("parameters") or {}).items())
        return f"from the fixture {setup.get('name')}" + (f" ({given})" if given else "")
    if kind == "failing_tool":
        then = setup.get("then") or {}
        after = "" if then.get("kind", "none") == "none" else ", " + setup_words(then)
        return f'while the tool {setup.get("tool")} fails with "{setup.get("message")}"{after}'
    return ""
