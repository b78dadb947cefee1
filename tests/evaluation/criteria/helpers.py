"""Small builders for the tests of criteria."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.evaluation.case import CriterionSpec, EvalCase, SourceRoles
from experiments.evaluation.criteria import CriterionRegistry, builtin_registry
from experiments.evaluation.evidence import Citation, Evidence, Turn
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CorpusUnit, CriterionContext


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


class FakeCorpus:
    def __init__(self, *ids: str) -> None:
        self._ids = set(ids)

    def __contains__(self, unit: object, /) -> bool:
        return unit in self._ids

    def unit(self, unit: str, /) -> CorpusUnit | None:
        return CorpusUnit(id=unit) if unit in self._ids else None

    def units(self) -> list[CorpusUnit]:
        return [CorpusUnit(id=unit) for unit in sorted(self._ids)]
