"""The whole story on one database and broker: import, run, queue, decide, apply, undo; each step held against
the oracle.

Workers must listen on both queues; who starts them is the caller's business. Every check is an assertion.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments import models as m
from experiments.evaluation import Rubric
from experiments.services import adjudication, applying
from experiments.services.authoring import publish_policy, publish_rubric
from experiments.services.configuring import save_experiment, save_target
from experiments.services.edits import NEW
from experiments.services.runs import start_run
from experiments.services.users import save_user
from experiments.transfer.imports import import_corpus, import_suite
from tests.real import oracle
from tests.real.oracle import Evidence, Roles, Standing
from tests.real.service import GDPR

NAME = "gdpr"
RUN_SECONDS = 300
JOB_SECONDS = 60
POLICY = "Answer from the Regulation only. Quote the provision and cite its id. Say so when it has no answer."
RUBRIC = """EXPECTED OUTCOME: {expected_outcome}
{replay_history}
{simulation_history}
{system_output}
SCORE: from 1 to 10
REASON: one sentence"""


@dataclass(frozen=True)
class Decision:
    """What a reviewer says of an id that came into the queue, and why."""

    case: str
    unit: str
    role: str
    reason: str
    group: int | None = None


DECISIONS = (
    Decision(
        "wrong-address",
        "gdpr/art:33/par:3/pt:d",
        "forbidden",
        "How a breach is addressed, in the notice of it: nothing about a wrong address in a file.",
    ),
    Decision(
        "told-where-from",
        "gdpr/art:15/par:1/pt:g",
        "required",
        "Whoever asks for access is told the source by this point, as by Article 14(2)(f) without asking.",
        group=0,
    ),
)
"""One that turns passes into fails and one that turns fails into passes."""


@dataclass
class Figures:
    """What came out. Standings are (verdict, strip) by case, `queue` holds attempt numbers by "case id"."""

    attempts: int = 0
    seconds: float = 0.0
    by_process: dict[str, int] = field(default_factory=dict)
    groups: int = 0
    before: dict[str, tuple[str, str]] = field(default_factory=dict)
    after: dict[str, tuple[str, str]] = field(default_factory=dict)
    queue: dict[str, list[int]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    flipped: int = 0
    grade_seconds: float = 0.0


def set_up(url: str, *, lanes: int, repeats: int, tags: Sequence[str] = ()) -> m.Experiment:
    """Corpus, suite, texts, target and experiment, each through its service."""
    import_corpus(None, NAME, GDPR)
    _, warnings = import_suite(None, oracle.SUITE)
    assert not warnings, warnings
    publish_policy(None, NAME, POLICY)
    publish_rubric(None, Rubric(name=NAME, template=RUBRIC))
    config = {"adapter": "contract_http", "url": url, "total_seconds": 30.0}
    fields = {
        "name": NAME,
        "suite": m.Suite.objects.get(name=NAME),
        "tags": list(tags),
        "target": save_target(None, target=None, name=NAME, config=config, edition=NEW),
        "policy": m.Policy.objects.get(name=NAME),
        "rubric": m.Rubric.objects.get(name=NAME),
        "corpus": m.Corpus.objects.get(name=NAME),
        "settle_mode": "criteria",
        "lanes": lanes,
        "repeats": repeats,
    }
    return save_experiment(None, experiment=None, fields=fields, edition=NEW)


def make_reviewer() -> m.User:
    """A person who may decide, without a password."""
    return save_user(
        None,
        user=None,
        username="reviewer",
        email="",
        role=m.Role.REVIEWER,
        is_active=True,
        password="",
        edition=NEW,
    )


def tell(url: str, *, lanes: int, repeats: int, tags: Sequence[str] = ()) -> Figures:
    """The story from an empty database to an undone decision."""
    experiment = set_up(url, lanes=lanes, repeats=repeats, tags=tags)
    figures = Figures()
    run = start_run(None, experiment)
    until(lambda: _ended(run), RUN_SECONDS)
    assert run.state == "finished", (run.state, run.last_error)
    evidence = check_attempts(run, figures)
    roles = {case: sources for case, sources in oracle.questions().items() if case in evidence}
    assert (len(roles), run.requested) == (len(evidence), len(roles) * repeats)
    figures.before = check_standings(run, roles, evidence)
    check_queue(run, roles, evidence, figures)
    decided_and_undone(run, roles, evidence, figures)
    return figures


# -- the run ------------------------------------------------------------------------------------------------


def check_attempts(run: m.Run, figures: Figures) -> dict[str, list[Evidence]]:
    """Every attempt planned is there once, done and graded once; the evidence by case in order of number."""
    rows = list(
        m.Attempt.objects.filter(run=run)
        .select_related("case", "group", "evidence")
        .order_by("case__position", "number")
    )
    assert Counter((row.state, row.take, row.failure_cause) for row in rows) == {
        ("done", 1, ""): run.requested
    }
    found: dict[str, list[Evidence]] = defaultdict(list)
    for row in rows:
        found[row.case.key].append(row.evidence.document)
        assert row.number == len(found[row.case.key]), f"{row.case.key}: {row.number} is missing or doubled"
    results = m.Result.objects.filter(grading__run=run, grading__is_current=True)
    graded = list(results.order_by("attempt").values_list("attempt", flat=True))
    assert graded == sorted(row.pk for row in rows)
    assert run.finished == run.requested == len(rows)
    assert run.started_at is not None
    assert run.finished_at is not None
    figures.attempts = len(rows)
    figures.seconds = (run.finished_at - run.started_at).total_seconds()
    groups = {row.group.pk: row.group for row in rows if row.group}
    figures.groups = len(groups)
    figures.by_process = dict(Counter(_process(row.group) for row in rows))
    return found


def _process(group: m.LaneGroup | None) -> str:
    """The process that drove a group, as its worker's name tells."""
    return group.worker.rpartition("/")[0] if group else "nobody"


def check_standings(
    run: m.Run, roles: Mapping[str, Roles], evidence: Mapping[str, list[Evidence]]
) -> dict[str, tuple[str, str]]:
    """Verdict and strip of every case are the oracle's, and the run's own counts are of them."""
    grading = m.Grading.objects.get(run=run, is_current=True)
    assert grading.state == "closed"
    stored = standings_of(grading)
    worked_out = {case: oracle.standing(roles[case], evidence[case]) for case in evidence}
    assert stored == worked_out
    counts = Counter(each.verdict for each in stored.values())
    assert (grading.passed_cases, grading.failed_cases, grading.varied_cases) == (
        counts["PASSED"],
        counts["FAILED"],
        counts["VARIED"],
    )
    passes = sum(each.strip.count("P") for each in stored.values())
    assert (grading.counted, grading.totals["passed"]) == (run.requested, passes)
    return {case: (each.verdict, each.strip) for case, each in stored.items()}


def standings_of(grading: m.Grading) -> dict[str, Standing]:
    """What the grading's rows say, by case."""
    rows = m.CaseResult.objects.filter(grading=grading).values_list("case__key", "verdict", "strip")
    return {case: Standing(verdict, strip) for case, verdict, strip in rows}


# -- the queue ----------------------------------------------------------------------------------------------


def check_queue(
    run: m.Run, roles: Mapping[str, Roles], evidence: Mapping[str, list[Evidence]], figures: Figures
) -> None:
    """The quick worker has put every citation without a role into the queue, by itself."""
    until(lambda: m.Grading.objects.filter(run=run, is_current=True, collected=True).exists(), JOB_SECONDS)
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    rows = m.CitationOccurrence.objects.filter(run=run).order_by("attempt__number")
    for case, unit, number in rows.values_list("item__case__key", "item__unit_id", "attempt__number"):
        found[case, unit].append(number)
    assert found == oracle.queue(roles, evidence)
    weights = m.ReviewItem.objects.filter(state="waiting").values_list("case__key", "unit_id", "weight")
    assert {(case, unit): weight for case, unit, weight in weights} == {
        key: len(numbers) for key, numbers in found.items()
    }
    figures.queue = {" ".join(key): numbers for key, numbers in sorted(found.items())}


def decided_and_undone(
    run: m.Run, roles: Mapping[str, Roles], evidence: Mapping[str, list[Evidence]], figures: Figures
) -> None:
    """Two decisions are taken, applied and taken back; the gradings are right each time, and all stay."""
    reviewer = make_reviewer()
    decided = dict(roles)
    taken = []
    for decision in DECISIONS:
        case = decision.case
        decided[case] = decided[case].decided(decision.unit, decision.role, decision.group)
        expected = (
            oracle.standing(roles[case], evidence[case]),
            oracle.standing(decided[case], evidence[case]),
        )
        taken.append(_decide(reviewer, decision, expected))
    before = time.monotonic()
    _apply(reviewer)
    figures.grade_seconds = time.monotonic() - before
    figures.after = check_standings(run, decided, evidence)
    figures.changed = [case for case in figures.before if figures.before[case] != figures.after[case]]
    figures.flipped = sum(
        one != other
        for case in figures.changed
        for one, other in zip(figures.before[case][1], figures.after[case][1], strict=True)
    )
    assert sorted(figures.changed) == sorted(decision.case for decision in DECISIONS)
    _check_layers(run, figures)
    for each in taken:
        adjudication.undo(reviewer, each)
    _apply(reviewer)
    assert check_standings(run, roles, evidence) == figures.before
    assert run.gradings.count() == 3


def _decide(reviewer: m.User, decision: Decision, expected: tuple[Standing, Standing]) -> m.RoleDecision:
    """Take the item, see in the preview what the oracle expects, decide."""
    item = m.ReviewItem.objects.get(case__key=decision.case, unit_id=decision.unit)
    held = adjudication.take(reviewer, item)
    assert held is not None
    answer = adjudication.Answer(role=decision.role, group=decision.group, reason=decision.reason)
    (change,) = applying.preview(held, answer).changes
    was, will_be = expected
    flips = [n for n, pair in enumerate(zip(was.strip, will_be.strip, strict=True), 1) if pair[0] != pair[1]]
    assert (change.case_key, change.before, change.after, list(change.attempts)) == (
        decision.case,
        was.verdict,
        will_be.verdict,
        flips,
    )
    return adjudication.decide(reviewer, held, answer, lease=held.lease, version=held.version)


def _apply(reviewer: m.User) -> None:
    """Ask for the application and wait for the quick worker to do it."""
    application = applying.apply_decisions(reviewer)
    assert application is not None

    def done() -> bool:
        application.refresh_from_db()
        return bool(application.state != m.JobState.WAITING)

    until(done, JOB_SECONDS)
    assert (application.state, application.error) == (m.JobState.DONE, "")


def _check_layers(run: m.Run, figures: Figures) -> None:
    """The first grading stands as it was; in the second all but the decided cases is a copy of it."""
    first, second = run.gradings.order_by("number")
    assert (first.is_current, second.is_current, second.parent_id) == (False, True, first.pk)
    assert {case: (each.verdict, each.strip) for case, each in standings_of(first).items()} == figures.before
    results = m.Result.objects.filter(grading=second)
    assert results.count() == figures.attempts
    graded_anew = results.filter(copied_from=None).values_list("attempt__case__key", flat=True)
    assert set(graded_anew) == {decision.case for decision in DECISIONS}


# -- waiting ------------------------------------------------------------------------------------------------


def until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until it holds; an assertion fails when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def _ended(run: m.Run) -> bool:
    run.refresh_from_db()
    return bool(run.state in (m.RunState.FINISHED, m.RunState.STOPPED))


def as_document(figures: Figures) -> dict[str, Any]:
    """The figures as JSON."""
    return vars(figures)
