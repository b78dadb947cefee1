"""Where a passing and a failing attempt part: the pair to lay side by side, and its first difference."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.evidence import Evidence, Passage, ToolCall, Turn
from experiments.evaluation.results import AttemptResult
from experiments.evaluation.text import plural, printable, squeeze, to_json

_COMPARED = 20_000
"""Characters of a reply that nearness is measured on."""
_CANDIDATES = 20
_ALIKE = 5
_WORDS = 6
_SHOWN = 400
_Names = tuple[str, str]
_NAMED = 3


class Stage(StrEnum):
    """The stages of a turn, in the order in which a difference shows."""

    tool_call = "tool call"
    retrieved_context = "retrieved context"
    reply_text = "reply text"
    verdict = "verdict"


class Split(FrozenModel):
    """Where a passing and a failing attempt first differ: at which turn (from 1) and at which stage of it."""

    passing: int
    failing: int
    turn: int
    stage: Stage
    sentence: str


def normalised(attempts: Iterable[AttemptResult]) -> list[AttemptResult]:
    """The attempts in order of number, with one space for each run of whitespace in every reply.

    That is what makes two replies the same. Equal replies become one text, so that the functions here and in
    `diagnosis`, which expect such attempts, compare and split a megabyte once and not for each attempt.
    """
    seen: dict[str, str] = {}
    one_of: dict[str, str] = {}

    def squeezed(reply: str) -> str:
        if reply not in seen:
            short = squeeze(reply)
            seen[reply] = one_of.setdefault(short, short)
        return seen[reply]

    def plain(turn: Turn) -> Turn:
        return turn if turn.reply is None else turn.model_copy(update={"reply": squeezed(turn.reply)})

    found = []
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        evidence = attempt.evidence
        if evidence is not None:
            evidence = evidence.model_copy(update={"turns": tuple(map(plain, evidence.turns))})
        found.append(replace(attempt, evidence=evidence))
    return found


def reply_of(attempt: AttemptResult) -> str | None:
    """The graded reply, None without one."""
    return attempt.evidence.reply if attempt.evidence else None


def nearest_pair(
    passing: Sequence[AttemptResult], failing: Sequence[AttemptResult]
) -> tuple[AttemptResult, AttemptResult] | None:
    """The passing and the failing attempt with the nearest replies, and of those the ones most alike.

    Nearness is the share of words two replies have in common. None when either side has no evidence.
    """
    groups = [_by_reply(side) for side in (passing, failing)]
    bags = [{key: Counter(key[:_COMPARED].split()) for key in side} for side in groups]
    best: tuple[Any, ...] | None = None
    for here, words in bags[0].items():
        for there, other_words in bags[1].items():
            distance = 0.0 if here == there else _distance(words, other_words)
            if best and distance > best[0]:
                continue
            for one in groups[0][here]:
                for other in groups[1][there]:
                    found = (distance, len(list(_differences(one, other))), one.number, other.number)
                    if best is None or found < best[:4]:
                        best = (*found, one, other)
    return None if best is None else (best[4], best[5])


def split_of(passing: AttemptResult, failing: AttemptResult) -> Split:
    """The first turn and stage at which the two differ. Both need evidence (`ValueError`)."""
    a, b = passing.evidence, failing.evidence
    if a is None or b is None:
        raise ValueError("attempts without evidence cannot be set side by side")
    turns = max(len(a.turns), len(b.turns), 1)
    same = (turns, Stage.verdict, "everything recorded is the same up to the verdict.")
    turn, stage, said = next(_differences(passing, failing), same)
    where = f"Turn {turn:,} of {turns:,}: " if turns > 1 and stage is not Stage.verdict else ""
    return Split(
        passing=passing.number,
        failing=failing.number,
        turn=turn,
        stage=stage,
        sentence=where + said if where else said[:1].upper() + said[1:],
    )


def cited_by(turn: Turn) -> frozenset[tuple[str, str | None]]:
    """What a turn cites, with quotes; order and repetition mean nothing."""
    return frozenset((citation.id, citation.quote) for citation in turn.citations)


def _by_reply(side: Sequence[AttemptResult]) -> dict[str, list[AttemptResult]]:
    """The first five attempts of each distinct reply, by number; at most twenty replies."""
    found: dict[str, list[AttemptResult]] = {}
    for attempt in side:
        key = reply_of(attempt)
        if key is not None and (key in found or len(found) < _CANDIDATES):
            members = found.setdefault(key, [])
            if len(members) < _ALIKE:
                members.append(attempt)
    return found


def _distance(a: Counter[str], b: Counter[str]) -> float:
    """0 to 1 for two different replies; above 0 also when they have all the words compared in common."""
    together = (a | b).total()
    return max(1 - (a & b).total() / together, 1e-9) if together else 1.0


def _differences(one: AttemptResult, other: AttemptResult) -> Iterator[tuple[int, Stage, str]]:
    """Every stage at which two attempts differ, in order, as (turn, stage, sentence in lower case).

    Tool calls are recorded for the whole conversation and count with its last turn, like the context.
    """
    a, b = one.evidence, other.evidence
    if a is None or b is None:
        return
    names = f"attempt {one.number}", f"attempt {other.number}"
    last = max(len(a.turns), len(b.turns))
    for number, (here, there) in enumerate(zip(a.turns[:-1], b.turns[:-1], strict=False), start=1):
        if said := _turns(here, there, names):
            yield number, Stage.reply_text, said
    if len(a.turns) != len(b.turns):
        counts = f"{names[0]} has {plural(len(a.turns), 'turn')}, {names[1]} has {len(b.turns):,}."
        yield min(len(a.turns), len(b.turns)) or 1, Stage.reply_text, counts
    if said := _tools(a.tools_called, b.tools_called, names):
        yield last, Stage.tool_call, said
    if said := _context(a.context, b.context, names):
        yield last, Stage.retrieved_context, said
    if a.turns and b.turns and (said := _turns(a.turns[-1], b.turns[-1], names) or _beside(a, b, names)):
        yield last, Stage.reply_text, said


def _turns(here: Turn, there: Turn, names: _Names) -> str:
    a, b = here.reply or "", there.reply or ""
    cited = _sets([c.id for c in here.citations], [c.id for c in there.citations], names, "cites", "does not")
    if a != b:
        return _words(a, b, names) + (f"; {cited}." if cited else ".")
    if cited:
        return f"the same text, other citations: {cited}."
    if cited_by(here) != cited_by(there):
        return "the same text and sources, other quotes."
    if (here.failure or "") != (there.failure or ""):
        shown = [_quote(turn.failure) if turn.failure else "none" for turn in (here, there)]
        return f"the same text, another recorded failure: {shown[0]} in {names[0]}, {shown[1]} in {names[1]}."
    return ""


def _words(a: str, b: str, names: _Names) -> str:
    """The first words that differ. The texts are long and nearly equal, so only what differs is split."""
    at = _common(a, b)
    between = all(len(text) == at or text[at] == " " for text in (a, b))
    start = at + 1 if between else a.rfind(" ", 0, at) + 1
    shown = []
    for text in (a, b):
        words = text[start : start + _SHOWN].split()[:_WORDS]
        shown.append(_quote(" ".join(words)) if words else "the end")
    number = a.count(" ", 0, min(start, at)) + between + 1
    return f"the replies differ from word {number:,}: {shown[0]} in {names[0]}, {shown[1]} in {names[1]}"


def _common(a: str, b: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def _tools(a: tuple[ToolCall, ...] | None, b: tuple[ToolCall, ...] | None, names: _Names) -> str:
    if a is None or b is None:
        return ""
    for number, (here, there) in enumerate(zip_longest(a, b), start=1):
        if here is None or there is None:
            made = here or there
            who, other = names if here else names[::-1]
            called = _name(made.name) if made else ""
            return f"tool call {number:,}: {who} calls {called}, {other} makes no such call."
        if said := _call(here, there, names):
            return f"tool call {number:,}: {said}."
    return ""


def _call(here: ToolCall, there: ToolCall, names: _Names) -> str:
    if here.name != there.name:
        return f"{names[0]} calls {_name(here.name)}, {names[1]} calls {_name(there.name)}"
    if not _same(here.arguments, there.arguments):
        return f"{_name(here.name)} is called with other arguments"
    if here.failed != there.failed:
        return f"{_name(here.name)} failed in {names[0] if here.failed else names[1]} only"
    return "" if _same(here.result, there.result) else f"{_name(here.name)} gave another result"


def _context(a: tuple[Passage, ...] | None, b: tuple[Passage, ...] | None, names: _Names) -> str:
    if a is None or b is None or a == b:
        return ""
    here, there = [passage.id for passage in a], [passage.id for passage in b]
    if said := _sets(here, there, names, "retrieved", "did not"):
        return f"{said}."
    return "the same passages in another order." if here != there else "the same passages with other text."


def _beside(a: Evidence, b: Evidence, names: _Names) -> str:
    """What the target reports beside the text of its reply."""
    for what, here, there in (
        ("spec node", a.node, b.node),
        ("refusal code", a.refusal_code, b.refusal_code),
    ):
        if here != there:
            shown = [_quote(value) if value is not None else "none" for value in (here, there)]
            return f"the same text, another {what}: {shown[0]} in {names[0]}, {shown[1]} in {names[1]}."
    return "" if _same(a.end_state, b.end_state) else "the same text, another end state."


def _sets(here: list[str], there: list[str], names: _Names, does: str, does_not: str) -> str:
    """Which ids only one side has: "attempt 1 cites x, attempt 2 does not"; empty when both have the same."""
    only = [
        list(dict.fromkeys(i for i in these if i not in those))
        for these, those in ((here, set(there)), (there, set(here)))
    ]
    if all(only):
        return f"{names[0]} {does} {_ids(only[0])}, {names[1]} {does} {_ids(only[1])} instead"
    for (who, other), ids in zip((names, names[::-1]), only, strict=True):
        if ids:
            return f"{who} {does} {_ids(ids)}, {other} {does_not}"
    return ""


def _ids(ids: list[str]) -> str:
    more = len(ids) - _NAMED
    shown = ", ".join(_name(i) for i in ids[:_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _same(a: Any, b: Any) -> bool:
    """Equality of JSON values, in which 1, 1.0 and true are three things."""
    return to_json(a) == to_json(b)


def _name(text: str) -> str:
    return printable(text, 80)


def _quote(text: str) -> str:
    return f"“{printable(squeeze(text[:_SHOWN]), 80)}”"
