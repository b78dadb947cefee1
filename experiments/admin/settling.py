"""The panel beside the case form: which evaluator will settle the case, and what a judge will read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from experiments.admin.criteriatext import known_kinds, known_metrics
from experiments.evaluation import (
    CriterionSpec,
    EvalCase,
    Evidence,
    Replay,
    Rubric,
    RubricKind,
    SettledBy,
    SettleMode,
    Turn,
    default_settle_mode,
    describe_settling,
    layers,
    render,
)
from experiments.evaluation.describe import Settling
from experiments.mapping import case_of, criteria_of, rubric_of
from experiments.models import Case, CaseVersion, Experiment, SettleChoice, Suite

SAMPLE_REPLY = "(here stands what the system replies)"

MODES = {
    SettleMode.expectation: "by expectation",
    SettleMode.criteria: "by criteria",
    SettleMode.both: "by expectation and criteria",
}


@dataclass(frozen=True)
class SettlingLine:
    """How the case is settled in one mode, and which experiments use that mode."""

    mode: str
    experiments: tuple[str, ...]
    settling: Settling

    @property
    def drops(self) -> bool:
        """Whether the author gave more than one expectation where one counts."""
        return bool(self.settling.unused) and self.settling.by != (SettledBy.criteria,)

    @property
    def asks_judge(self) -> bool:
        return SettledBy.judge in self.settling.by


def preview_of(
    suite: Suite | None, case: EvalCase, mistakes: list[tuple[str, str]] | None = None
) -> dict[str, Any]:
    """The panel's content: a line for each mode in use, what would be refused, the judge's reading."""
    experiments = list(_experiments(suite))
    rules = suite.current if suite else None
    shared = criteria_of(rules) if rules else ()
    by_mode: dict[SettleMode, list[str]] = {}
    default = default_settle_mode(has_criteria=bool(shared or case.criteria) or _others_have_criteria(suite))
    for experiment in experiments:
        chosen = experiment.settle_mode
        mode = default if chosen == SettleChoice.DEFAULT else SettleMode(chosen)
        by_mode.setdefault(mode, []).append(experiment.name)
    lines = [
        SettlingLine(MODES[mode], tuple(names), describe_settling(case, mode, shared))
        for mode, names in (by_mode or {default: []}).items()
    ]
    readings = (
        [reading(rubric, case) for rubric in _rubrics(experiments)]
        if any(line.asks_judge for line in lines)
        else []
    )
    known = {"kinds": list(known_kinds()), "metrics": list(known_metrics())}
    return {"settlings": lines, "mistakes": mistakes or [], "readings": readings, **known}


def _experiments(suite: Suite | None) -> list[Experiment]:
    if suite is None:
        return []
    found = Experiment.objects.filter(suite=suite).select_related("rubric__current__rubric")
    return list(found.order_by("name")[:50])


def _others_have_criteria(suite: Suite | None) -> bool:
    if suite is None or (suite.current and suite.current.criteria):
        return False
    cases = Case.objects.filter(suite=suite, archived_at=None, current__isnull=False).select_related(
        "current"
    )
    return any(case.current and case.current.content.get("criteria") for case in cases.iterator())


def _rubrics(experiments: list[Experiment]) -> list[Rubric]:
    found = {
        experiment.rubric_id: rubric_of(experiment.rubric.current)
        for experiment in experiments
        if experiment.rubric and experiment.rubric.current
    }
    return [rubric for rubric in found.values() if rubric.kind is RubricKind.grade]


def reading(rubric: Rubric, case: EvalCase) -> dict[str, str]:
    """The rubric as the judge will read it for this case, with a reply that stands in for the system's."""
    start = layers(case.setup)[-1]
    earlier = start.user_turns if isinstance(start, Replay) else ()
    turns = [Turn(prompt=prompt, reply=SAMPLE_REPLY) for prompt in (*earlier, case.turn)]
    name = f"{rubric.name} v{rubric.version}"
    return {"rubric": name, "prompt": render(rubric, case, Evidence(turns=tuple(turns)))}


@dataclass(frozen=True)
class CountLine:
    """How many cases are settled by what in one mode; `groups` is (what, cases) without zeros."""

    mode: str
    experiments: tuple[str, ...]
    cases: int
    groups: tuple[tuple[str, int], ...]


GROUP_NAMES = {
    SettledBy.spec_node: "comparing the spec node",
    SettledBy.contains_all: "required phrases",
    SettledBy.end_state: "comparing the end state",
    SettledBy.metric: "a metric",
    SettledBy.judge: "the judge",
    SettledBy.criteria: "criteria",
}


def values_of(suite: Suite | None, tags: tuple[str, ...] = ()) -> list[EvalCase]:
    """The cases of the suite in use that carry any of the tags; no tags means all."""
    if suite is None:
        return []
    rows = CaseVersion.objects.filter(
        case__suite=suite, case__archived_at=None, pk__in=suite.cases.values("current")
    )
    return [case_of(row) for row in rows.iterator() if not tags or set(tags) & set(row.tags)]


def count_line(
    cases: list[EvalCase], criteria: tuple[CriterionSpec, ...], chosen: str, experiments: tuple[str, ...] = ()
) -> CountLine:
    """The count for one choice of mode; the empty choice means the default."""
    has_criteria = bool(criteria) or any(case.criteria for case in cases)
    mode = SettleMode(chosen) if chosen else default_settle_mode(has_criteria=has_criteria)
    found = Counter(by for case in cases for by in describe_settling(case, mode, criteria).by)
    groups = tuple((name, found[by]) for by, name in GROUP_NAMES.items() if found[by])
    return CountLine(MODES[mode], experiments, len(cases), groups)


def counts_by_mode(suite: Suite | None, criteria: tuple[CriterionSpec, ...]) -> list[CountLine]:
    """A line for each mode that experiments of the suite use, or for the default."""
    cases = values_of(suite)
    by_choice: dict[str, list[str]] = {}
    for experiment in _experiments(suite):
        by_choice.setdefault(experiment.settle_mode, []).append(experiment.name)
    return [
        count_line(cases, criteria, choice, tuple(names)) for choice, names in (by_choice or {"": []}).items()
    ]
