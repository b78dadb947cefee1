"""The demo's suite: what it covers, and that its cases get the verdicts docs/demo.md says they get."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from experiments.demo.desk import BREAKABLE_TOOLS, FIXTURES
from experiments.demo.handbook import load_handbook
from experiments.demo.servers import DemoServices
from experiments.demo.topics import emittable_nodes
from experiments.evaluation import (
    AttemptMark,
    CaseVerdict,
    Cause,
    Policy,
    SettledBy,
    SettleMode,
    builtin_metrics,
    layers,
    preflight,
    route,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.preflight import Plan
from experiments.targets.base import Capabilities
from experiments.wire.suite import suite_criteria
from tests.demo.story import Story, demo_cases, demo_rubric, demo_suite, tell

DOC = Path(__file__).parents[2] / "docs" / "demo.md"
MARKS = {
    "●": AttemptMark.passed,
    "○": AttemptMark.failed,
    "◐": AttemptMark.undecided,
    "?": AttemptMark.inconclusive,
    "✕": AttemptMark.evaluator_failed,
    "–": AttemptMark.not_reached,
}
COLUMNS = {SettleMode.expectation: 0, SettleMode.criteria: 1, SettleMode.both: 2}
KINDS = {
    "reply.contains",
    "reply.max_length",
    "citations.required",
    "citations.forbidden",
    "citations.in_corpus",
    "citations.unseen",
    "usage.max_tokens",
    "run.no_failure",
}
# The judge wavers by the order in which it is asked, which lanes change; how often it does what is fixed.
BY_ORDER_OF_ASKING = {"late-objection", "instalments"}


def documented(mode: SettleMode) -> dict[str, tuple[str, list[AttemptMark]]]:
    """The documented verdict and marks of each case."""
    rows = {}
    for line in DOC.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", line)
        if found:
            verdict, strip = found[2 + COLUMNS[mode]].split()
            rows[found[1]] = (verdict, [MARKS[mark] for mark in strip])
    return rows


def test_the_suite_is_read_without_a_problem_or_a_warning() -> None:
    assert demo_suite().warnings == ()
    assert set(documented(SettleMode.both)) == {case.id for case in demo_cases()}


def test_it_uses_every_setup_every_route_and_the_eight_criteria() -> None:
    cases = demo_cases()
    setups = {tuple(layer.kind for layer in layers(case.setup)) for case in cases}
    assert setups == {
        ("none",),
        ("replay",),
        ("fixture",),
        ("failing_tool", "none"),
        ("failing_tool", "replay"),
        ("failing_tool", "fixture"),
    }
    assert {route(case) for case in cases} == set(SettledBy) - {SettledBy.criteria}
    assert {case.metric.id for case in cases if case.metric} == {
        "end-state",
        "exact-match",
        "token-budget",
        "token-f1",
    }
    specs = [*suite_criteria(demo_suite().document), *(spec for case in cases for spec in case.criteria)]
    assert {spec.kind for spec in specs} == KINDS


def test_every_source_named_in_a_case_stands_in_the_handbook() -> None:
    for case in demo_cases():
        groups = [*case.sources.required, case.sources.acceptable, case.sources.forbidden]
        assert all(source in load_handbook() for group in groups for source in group), case.id


@pytest.mark.parametrize("mode", SettleMode)
def test_preflight_finds_nothing_against_it(mode: SettleMode) -> None:
    plan = Plan(
        cases=demo_cases(),
        settle_mode=mode,
        registry=builtin_registry(),
        metrics=builtin_metrics(),
        lanes=8,
        repeats=5,
        criteria=suite_criteria(demo_suite().document),
        rubric=demo_rubric(),
        policy=Policy(name="desk", version=1, text="rules"),
        capabilities=Capabilities("1", FIXTURES, BREAKABLE_TOOLS, emittable_nodes()),
        services=frozenset({"judge", "corpus"}),
    )
    assert preflight(plan) == ()


@pytest.mark.parametrize("mode", SettleMode)
def test_every_case_gets_its_documented_verdict(demo: DemoServices, mode: SettleMode) -> None:
    story = tell(demo, mode)
    wanted = documented(mode)
    assert story.verdicts() == {case: verdict for case, (verdict, _) in wanted.items()}
    for case, (_, marks) in wanted.items():
        if case in BY_ORDER_OF_ASKING:
            assert Counter(story.marks(case)) == Counter(marks), case
        else:
            assert story.marks(case) == marks, case


def test_by_both_it_yields_all_five_verdicts_and_varies_for_at_least_five_reasons(demo: DemoServices) -> None:
    story = tell(demo, SettleMode.both, run="another-run")
    found = Counter(story.verdicts().values())
    assert set(found) == set(CaseVerdict)
    assert found[CaseVerdict.VARIED] >= 5
    assert len(causes_of_variation(story)) >= 5
    assert failure_causes(story, "archived-claim") == {Cause.SETUP_FAILED}
    assert failure_causes(story, "unanswered-complaint") == {Cause.NO_REPLY}


def failure_causes(story: Story, case: str) -> set[Cause | None]:
    return {attempt.failure.cause if attempt.failure else None for attempt in story.attempts[case]}


def causes_of_variation(story: Story) -> set[str]:
    """What decided the failed attempts of the cases that varied: an evaluator or a criterion."""
    causes = set()
    for case in story.attempts:
        if story.verdict(case) is not CaseVerdict.VARIED:
            continue
        for result in story.results(case):
            if not result.passed:
                failed = [verdict.kind for verdict in result.verdicts if verdict.status == "fail"]
                causes.add(
                    failed[0] if result.settled_by is SettledBy.criteria and failed else result.evaluator
                )
    return causes


def test_many_citations_without_a_role_wait_for_adjudication(demo: DemoServices) -> None:
    story = tell(demo, SettleMode.criteria)
    where: dict[str, set[str]] = {}
    for case in story.attempts:
        for result in story.results(case):
            for verdict in result.verdicts:
                for source in verdict.data.get("unseen", ()) if verdict.kind == "citations.unseen" else ():
                    where.setdefault(source, set()).add(case)
    assert len(where) >= 12
    assert len({case for cases in where.values() for case in cases}) >= 8
    assert len(where["handbook/ch:3/art:3"]) == 3
    assert "handbook/ch:3/art:9" in where
    assert "handbook/ch:3/art:9" not in load_handbook()


def test_a_second_run_under_other_keys_gives_the_same_replies(demo: DemoServices) -> None:
    varying = frozenset({"second-vehicle-sold", "reminder-cost", "cash-refund", "event-weather"})
    one, two = (tell(demo, SettleMode.criteria, run, varying) for run in ("run-41", "run-42"))
    assert set(one.attempts) == varying
    for case in one.attempts:
        first, second = ([attempt.evidence for attempt in story.attempts[case]] for story in (one, two))
        assert [e.reply if e else None for e in first] == [e.reply if e else None for e in second], case
