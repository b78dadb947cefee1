"""Small builders for the tests of criteria."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.evaluation.case import CriterionSpec, EvalCase, SourceRoles
from experiments.evaluation.criteria import CriterionRegistry, builtin_registry
from experiments.evaluation.evidence import Citation, Evidence, Turn
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import (
    CorpusUnit,
    CriterionContext,
    GradeRequest,
    JudgeReply,
    JudgeRequest,
    JudgeResult,
)


def case(**sources: Any) -> EvalCase:
    return EvalCase(id="c", turn="?", sources=SourceRoles(**sources))


def replied(reply: str | None, cited: Iterable[str] = (), **turn: Any) -> Evidence:
    citations = tuple(Citation(id=one) for one in cited)
    return Evidence(turns=(Turn(prompt="?", reply=reply, citations=citations, **turn),))


def verdict(
    kind: str,
    evidence: Evidence,
    params: Mapping[str, Any] | None = None,
    *,
    on: EvalCase | None = None,
    ctx: CriterionContext | None = None,
    registry: CriterionRegistry | None = None,
) -> Verdict:
    spec = CriterionSpec(kind=kind, params=dict(params or {}))
    used = registry or builtin_registry()
    return asyncio.run(used.evaluate(spec, on or case(), evidence, ctx or CriterionContext()))


def verdicts(
    kind: str,
    replies: Iterable[str],
    params: Mapping[str, Any] | None = None,
    ctx: CriterionContext | None = None,
) -> list[Verdict]:
    """A verdict for each reply, all in one loop: for thousands of them."""
    spec, registry = CriterionSpec(kind=kind, params=dict(params or {})), builtin_registry()

    async def all_of_them() -> list[Verdict]:
        context = ctx or CriterionContext()
        return [await registry.evaluate(spec, case(), replied(reply), context) for reply in replies]

    return asyncio.run(all_of_them())


class LabellingJudge:
    """Gives these labels in turn, the last one for ever, and keeps what it was asked."""

    model = "fake"

    def __init__(self, *labels: str, reason: str = "") -> None:
        self._labels = list(labels)
        self._reason = reason
        self.asked: list[JudgeRequest] = []

    async def grade(self, request: GradeRequest) -> JudgeReply:
        raise AssertionError("not asked for")

    async def label(self, request: JudgeRequest) -> JudgeResult:
        self.asked.append(request)
        label = self._labels.pop(0) if len(self._labels) > 1 else self._labels[0]
        return JudgeResult(label=label, reason=self._reason)


class TextCorpus:
    """A corpus of units given as {id: text}; the first segment's unit is the root with these aliases."""

    def __init__(self, texts: Mapping[str, str], *aliases: str) -> None:
        self._units = {
            name: CorpusUnit(
                id=name,
                parent=name.rpartition("/")[0] or None,
                text=text,
                aliases=aliases if "/" not in name else (),
            )
            for name, text in texts.items()
        }

    def __contains__(self, unit: object, /) -> bool:
        return unit in self._units

    def unit(self, unit: str, /) -> CorpusUnit | None:
        return self._units.get(unit)

    def units(self) -> list[CorpusUnit]:
        return list(self._units.values())


class FakeCorpus:
    def __init__(self, *ids: str) -> None:
        self._ids = set(ids)

    def __contains__(self, unit: object, /) -> bool:
        return unit in self._ids

    def unit(self, unit: str, /) -> CorpusUnit | None:
        return CorpusUnit(id=unit) if unit in self._ids else None

    def units(self) -> list[CorpusUnit]:
        return [CorpusUnit(id=unit) for unit in sorted(self._ids)]
