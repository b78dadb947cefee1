"""Users, experiments and runs with stored figures, as rows: what pages read, without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from experiments.evaluation import (
    AttemptCounts,
    AttemptMark,
    EvalCase,
    Replay,
    asked_fingerprint,
    collapse,
    graded_fingerprint,
)
from experiments.models import (
    Attempt,
    AttemptEvidence,
    Case,
    CaseResult,
    CaseVersion,
    CriterionVerdict,
    Experiment,
    Grading,
    Policy,
    PolicyVersion,
    Result,
    Role,
    Rubric,
    RubricVersion,
    Run,
    Suite,
    SuiteVersion,
    Target,
    User,
)

STARTED = datetime(2025, 11, 30, 13, 59, tzinfo=UTC)
MARKS = {
    "P": AttemptMark.passed,
    "F": AttemptMark.failed,
    "U": AttemptMark.undecided,
    "I": AttemptMark.inconclusive,
    "E": AttemptMark.evaluator_failed,
    "S": AttemptMark.not_reached,
    "N": AttemptMark.not_reached,
}
COLUMNS = {
    "P": "passed",
    "F": "failed",
    "U": "undecided",
    "I": "inconclusive",
    "E": "evaluator_failed",
    "S": "setup_failed",
    "N": "no_reply",
}
OUTCOMES = {"P": "VERDICT", "F": "VERDICT", "U": "UNDECIDED", "I": "INCONCLUSIVE", "E": "FAILED"}
_numbers = count(1)


def a_user(role: str = Role.VIEWER, name: str = "") -> User:
    return User.objects.create_user(name or f"{role or 'stranger'}-{next(_numbers)}", role=role)


def an_experiment(name: str = "refunds", repeats: int = 5, **fields: Any) -> Experiment:
    """An experiment with a suite, policy, rubric and target, each with one version, and no case."""
    suite = Suite.objects.create(name=name)
    criteria = [{"kind": "citations.required", "params": {"match": "exact"}, "weight": 2.0, "gate": True}]
    suite.current = SuiteVersion.objects.create(suite=suite, number=1, fingerprint="s", criteria=criteria)
    suite.save()
    policy = Policy.objects.create(name=f"{name}-desk")
    policy.current = PolicyVersion.objects.create(policy=policy, number=3, fingerprint="p", text="Be kind.")
    policy.save()
    rubric = Rubric.objects.create(name=f"{name}-judge")
    rubric.current = RubricVersion.objects.create(
        rubric=rubric,
        number=2,
        fingerprint="r",
        template="{replay_history}{simulation_history}{system_output}{expected_outcome}",
    )
    rubric.save()
    target = Target.objects.create(
        name=f"{name}-svc", config={"adapter": "contract_http", "url": "http://127.0.0.1:9/"}
    )
    return Experiment.objects.create(
        name=name, suite=suite, policy=policy, rubric=rubric, target=target, repeats=repeats, **fields
    )


def a_case(suite: Suite, key: str, position: int = 0, **content: Any) -> CaseVersion:
    case = Case.objects.create(suite=suite, key=key, position=position)
    value = EvalCase(
        id=key, **{"turn": f"question of {key}", "expected": "states a 30-day window", **content}
    )
    version = CaseVersion.objects.create(
        case=case,
        number=1,
        content=value.model_dump(),
        fingerprint=asked_fingerprint(value),
        graded_fingerprint=graded_fingerprint(value),
        turn=value.turn.replace("\0", "\ufffd"),
        tags=list(value.tags),
        walks=isinstance(value.setup, Replay),
    )
    case.current = version
    case.save()
    return version


def a_run(
    experiment: Experiment,
    strips: Mapping[str, str],
    *,
    state: str = "finished",
    reasons: Mapping[str, str] | None = None,
    replies: Mapping[str, str] | None = None,
    attempts: bool = True,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    **fields: Any,
) -> Run:
    """A run whose cases ended as their strips say; "." is an attempt that is not in yet."""
    repeats = max(len(strip) for strip in strips.values())
    ended = sum(len(strip.replace(".", "")) for strip in strips.values())
    moving = state in ("running", "stopping")
    run = Run.objects.create(
        **{
            "experiment": experiment,
            "state": state,
            "policy_version": experiment.policy.current if experiment.policy else None,
            "target_name": experiment.target.name if experiment.target else "gone",
            "target_config": {},
            "target_version": "4.2.0",
            "lanes": 8,
            "repeats": repeats,
            "attempt_seconds": 45,
            "requested": repeats * len(strips),
            "finished": ended,
            "busy_seconds": 1400.0,
            "started_at": STARTED,
            "finished_at": None if moving else STARTED + timedelta(seconds=192),
            **fields,
        }
    )
    grading = Grading.objects.create(
        run=run,
        suite_version=_current(experiment.suite),
        rubric_version=experiment.rubric.current if experiment.rubric else None,
        settle_mode="both",
        judge_model="claude",
    )
    verdicts: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    for position, (key, strip) in enumerate(strips.items()):
        version = CaseVersion.objects.filter(case__suite=experiment.suite, case__key=key).first()
        version = version or a_case(experiment.suite, key, position, **dict((cases or {}).get(key, {})))
        reason = (reasons or {}).get(key, f"the reply did not state what {key} asks")
        row = _case_result(grading, version, position, strip, reason)
        verdicts[row.verdict] += 1
        letters.update(strip.replace(".", ""))
        if attempts:
            _attempts(run, grading, version, strip, reason, (replies or {}).get(key, f"a reply to {key}"))
    _store_totals(grading, verdicts, letters)
    return run


def _current(suite: Suite) -> SuiteVersion:
    assert suite.current is not None
    return suite.current


def _case_result(
    grading: Grading, version: CaseVersion, position: int, strip: str, reason: str
) -> CaseResult:
    counts = Counter(strip.replace(".", ""))
    marks = [MARKS[letter] for letter in strip if letter != "."]
    reached = bool(set(counts) - {"S", "N"})
    return CaseResult.objects.create(
        grading=grading,
        case=version.case,
        case_version=version,
        graded_version=version,
        position=position,
        verdict=collapse(marks).value if marks else "",
        requested=len(strip),
        strip=strip if marks else "",
        settled_by="judge" if marks else "",
        decided_by="judge" if marks else "",
        reason=reason if marks else "",
        mean_seconds=2.1 if reached else None,
        tokens=1204 * len(marks) if reached else None,
        search=f"{version.case.key}\n{version.turn}\n{reason}".casefold(),
        **{COLUMNS[letter]: number for letter, number in counts.items()},
    )


def _attempts(run: Run, grading: Grading, version: CaseVersion, strip: str, reason: str, reply: str) -> None:
    for number, letter in enumerate(strip, 1):
        done = letter != "."
        silent = letter in "SN"
        attempt = Attempt.objects.create(
            run=run,
            case=version.case,
            case_version=version,
            number=number,
            state="done" if done else "pending",
            finished_at=STARTED if done else None,
            seconds=2.1 if done else None,
            prompt_tokens=900 if done and not silent else None,
            completion_tokens=304 if done and not silent else None,
            failure_cause={"S": "SETUP_FAILED", "N": "NO_REPLY"}.get(letter, ""),
            failure_detail="the fixture could not be built" if letter == "S" else "",
        )
        if not done or silent:
            continue
        turn = {"prompt": version.turn, "reply": reply, "citations": [{"id": "art:17"}], "failure": None}
        AttemptEvidence.objects.create(attempt=attempt, document={"turns": [turn], "cut": []})
        result = Result.objects.create(
            grading=grading,
            attempt=attempt,
            outcome=OUTCOMES[letter],
            passed=letter == "P",
            grade={"P": 9, "F": 3, "U": 6}.get(letter),
            reason=reason,
            evaluator="judge",
            evaluator_version="1",
            settled_by="judge",
        )
        CriterionVerdict.objects.create(
            result=result,
            position=0,
            kind="citations.required",
            status="pass" if letter == "P" else "fail",
            detail="" if letter == "P" else "art:17 is not cited",
            gate=True,
        )


def _store_totals(grading: Grading, verdicts: Counter[str], letters: Counter[str]) -> None:
    judged = letters["P"] + letters["F"] + letters["U"]
    totals = AttemptCounts(
        **{column: letters[letter] for letter, column in COLUMNS.items()},
        scored=judged,
        scored_passed=letters["P"],
        walked=judged // 4,
        seeded=judged // 3,
        prompt_tokens=900 * letters.total(),
        completion_tokens=304 * letters.total(),
        judge_calls=judged,
        judge_prompt_tokens=700 * judged,
        judge_completion_tokens=40 * judged,
        busy_ms=1_400_000,
        latency=(letters.total(), 0, 0, 0, 0),
    )
    for verdict in ("PASSED", "FAILED", "VARIED", "UNDECIDED", "NO_RESULT"):
        setattr(grading, f"{verdict.lower()}_cases", verdicts[verdict])
    grading.totals = totals.model_dump()
    grading.counted = judged
    if judged and grading.run.finished_at:
        share = letters["P"] / judged
        grading.rate_low, grading.rate_high = max(0.0, share - 0.08), min(1.0, share + 0.07)
        grading.state, grading.closed_at = "closed", grading.run.finished_at
    grading.save()


MOCK = {
    "refund-sale-item": "PFPFP",
    "escalation-path": "PPPPF",
    "cash-country": "FFFFF",
    "receipt-per-airline": "FFFFF",
    "tone-check": "UUUPU",
    "vague-window": "UUIUU",
    "refund-14d": "PPPPP",
    "broken-judge": "EIEEI",
    "seat-fee-fixture": "SSNSS",
}
"""The cases of the pictures the pages aim at, and one of each other ending."""
