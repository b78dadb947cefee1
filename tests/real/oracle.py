"""What the verdicts must be, worked out from the suite file, the corpus file and stored evidence alone.

A second opinion: it shares no line with the product's criteria, settling or case verdicts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.real.service import GDPR

SUITE = Path(__file__).with_name("gdpr-suite.yaml")
Evidence = Mapping[str, Any]
"""The stored document of one attempt."""


@dataclass(frozen=True)
class Roles:
    """What sources are for one case, as the suite file says or a person decided."""

    required: tuple[tuple[str, ...], ...] = ()
    acceptable: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def decided(self, unit: str, role: str, group: int | None) -> Roles:
        """With one more source: forbidden, or an alternative in a required group."""
        if role == "forbidden":
            return replace(self, forbidden=(*self.forbidden, unit))
        assert role == "required"
        assert group is not None
        groups = list(self.required)
        groups[group] = (*groups[group], unit)
        return replace(self, required=tuple(groups))

    def unseen(self, evidence: Evidence) -> set[str]:
        """Ids cited that no source of any role covers."""
        known = [*(each for group in self.required for each in group), *self.acceptable, *self.forbidden]
        return {one for one in cited(evidence) if not _covered(known, one)}


@dataclass(frozen=True)
class Standing:
    """A case's verdict and its strip, one letter an attempt: P passed, F failed."""

    verdict: str
    strip: str


def questions() -> dict[str, Roles]:
    """The suite's cases with their sources, by id."""
    return {
        case["id"]: Roles(
            required=tuple(tuple(group) for group in case["sources"].get("required", ())),
            acceptable=tuple(case["sources"].get("acceptable", ())),
            forbidden=tuple(case["sources"].get("forbidden", ())),
        )
        for case in _suite()["cases"]
    }


def turns() -> dict[str, str]:
    """What each case asks, by id."""
    return {case["id"]: case["turn"] for case in _suite()["cases"]}


def cited(evidence: Evidence) -> list[str]:
    """The ids that the final reply cites."""
    return [each["id"] for each in evidence["turns"][-1].get("citations", ())]


def standing(roles: Roles, attempts: Iterable[Evidence]) -> Standing:
    """The case's standing by its attempts in order of number."""
    strip = "".join("P" if _passes(roles, evidence) else "F" for evidence in attempts)
    verdicts = {frozenset("P"): "PASSED", frozenset("F"): "FAILED", frozenset("PF"): "VARIED"}
    return Standing(verdicts[frozenset(strip)], strip)


def queue(
    roles: Mapping[str, Roles], attempts: Mapping[str, list[Evidence]]
) -> dict[tuple[str, str], list[int]]:
    """The numbers of the attempts that cite an id without a role, by (case, id)."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for case, documents in attempts.items():
        for number, evidence in enumerate(documents, start=1):
            for unit in roles[case].unseen(evidence):
                found[case, unit].append(number)
    return dict(found)


def _passes(roles: Roles, evidence: Evidence) -> bool:
    """All of the suite's criteria at once: each has weight 1 or is a gate, and all of the score is asked."""
    ids, final = cited(evidence), evidence["turns"][-1]
    tokens = sum(turn["prompt_tokens"] + turn["completion_tokens"] for turn in evidence["turns"])
    return (
        all(any(_covered(group, one) for one in ids) for group in roles.required)
        and not any(_covered(roles.forbidden, one) for one in ids)
        and all(one in corpus_ids() for one in ids)
        and len(final["reply"]) <= _most("reply.max_length")
        and tokens <= _most("usage.max_tokens")
        and all(turn.get("failure") is None for turn in evidence["turns"])
    )


def _covered(sources: Iterable[str], one: str) -> bool:
    """Whether an id is one of the sources or lies below one."""
    return any(one == source or one.startswith(source + "/") for source in sources)


def _most(kind: str) -> int:
    return next(int(each["max"]) for each in _suite()["criteria"] if each["kind"] == kind)


@cache
def corpus_ids() -> frozenset[str]:
    """Every id of the corpus file."""
    with GDPR.open(encoding="utf-8") as lines:
        return frozenset(json.loads(line)["id"] for line in lines if line.strip())


@cache
def _suite() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(SUITE.read_text(encoding="utf-8"))
    return found
