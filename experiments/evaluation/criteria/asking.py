"""What criteria put before a judge: an instruction, and the attempt's texts as delimited data."""

from collections.abc import Iterable

from experiments.evaluation.evidence import Evidence
from experiments.evaluation.ports import JudgeRequest
from experiments.evaluation.text import printable, sha256_of

Part = tuple[str, str]
"""A name and the text that stands under it."""


def transcript(parts: Iterable[Part]) -> str:
    """The texts under their names, between marks that no text can hold: they carry a hash of all of them.

    NUL and lone surrogates are shown as U+FFFD, because no judge can be sent them.
    """
    shown = [(name, printable(text)) for name, text in parts]
    mark = sha256_of([list(part) for part in shown])[:16]
    while any(mark in text for _, text in shown):
        mark = sha256_of(mark)[:16]
    return "\n".join(f"<<<{name} {mark}>>>\n{text}\n<<<end {name} {mark}>>>" for name, text in shown)


def final_turn(evidence: Evidence) -> list[Part]:
    """The graded turn: what was asked and what was replied."""
    turn = evidence.final_turn
    return [] if turn is None else [("question", turn.prompt), ("reply", turn.reply or "")]


def conversation(evidence: Evidence) -> list[Part]:
    """Every turn in order."""
    parts: list[Part] = []
    for number, turn in enumerate(evidence.turns, start=1):
        parts.append((f"turn {number} question", turn.prompt))
        parts.append((f"turn {number} reply", "(no reply)" if turn.reply is None else turn.reply))
    return parts


def question(instruction: str, parts: Iterable[Part], labels: Iterable[str]) -> JudgeRequest:
    """The request for one label."""
    return JudgeRequest(instruction=instruction, transcript=transcript(parts), allowed_labels=tuple(labels))
