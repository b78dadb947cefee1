"""Starting, stopping and resuming runs. Each function is one verb, atomic, and writes its activity line."""

from __future__ import annotations

import uuid

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction

from experiments.evaluation import Refusal
from experiments.execution import dispatch
from experiments.execution.finishing import finish_run
from experiments.mapping import search_of
from experiments.models import (
    Attempt,
    AttemptState,
    CaseResult,
    Experiment,
    Grading,
    Permission,
    Run,
    RunState,
    User,
    record_activity,
)
from experiments.services.plans import RunPlan, plan_run

__all__ = ["RunPlan", "RunRefused", "WrongState", "plan_run", "resume_run", "start_run", "stop_run"]


class RunRefused(Exception):
    """Pre-flight found reasons not to start; `refusals` holds all of them."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        super().__init__("; ".join(refusal.sentence for refusal in refusals))
        self.refusals = refusals


class WrongState(Exception):
    """The run is in no state in which this can be done; the message says which and what could be."""


def _allow(user: User | None) -> None:
    """Whoever starts, stops or resumes needs the operator's permission; None is the command line."""
    if user is not None and not user.may(Permission.OPERATE):
        raise PermissionDenied("starting and stopping runs needs the operator role")


def start_run(user: User | None, experiment: Experiment, token: uuid.UUID | None = None) -> Run:
    """Start `experiment` once for `token`: the same token gives the same run, so two clicks are one run.

    Everything is written in one transaction, the workers are told after it. Raises `RunRefused` with
    every reason and `PermissionDenied`; nothing is written then.
    """
    _allow(user)
    token = token or uuid.uuid4()
    started = Run.objects.filter(token=token).first()
    if started is not None:
        return started
    plan = plan_run(experiment)
    if plan.refusals:
        raise RunRefused(plan.refusals)
    try:
        with transaction.atomic():
            run = _create_run(user, experiment, token, plan)
            grading = _create_grading(user, run, experiment, plan)
            _create_case_results(grading, plan)
            _create_attempts(grading)
            record_activity(
                user, "started", run, after={"experiment": experiment.name, "attempts": run.requested}
            )
            dispatch.dispatch_run(run.pk)
    except IntegrityError:
        # The other click won the race for the token.
        started = Run.objects.filter(token=token).first()
        if started is None:
            raise
        return started
    return run


def _create_run(user: User | None, experiment: Experiment, token: uuid.UUID, plan: RunPlan) -> Run:
    target = experiment.target
    assert target is not None, "pre-flight refuses an experiment without a target"
    return Run.objects.create(
        experiment=experiment,
        token=token,
        policy_version=experiment.policy.current if experiment.policy else None,
        target_name=target.name,
        target_config=target.config,
        target_version=plan.capabilities.version[:200] if plan.capabilities else "",
        lanes=experiment.lanes,
        repeats=experiment.repeats,
        attempt_seconds=experiment.attempt_seconds,
        requested=plan.attempts,
        started_by=user,
    )


def _create_grading(user: User | None, run: Run, experiment: Experiment, plan: RunPlan) -> Grading:
    judge, suite_version = experiment.judge, experiment.suite.current
    assert suite_version is not None, (
        "pre-flight refuses a suite without cases, and cases come with a version"
    )
    return Grading.objects.create(
        run=run,
        suite_version=suite_version,
        rubric_version=experiment.rubric.current if experiment.rubric else None,
        corpus_version=experiment.corpus.current if experiment.corpus else None,
        judge_config=judge.config if judge else None,
        judge_model=judge.config.get("model", "")[:200] if judge else "",
        settle_mode=plan.settle_mode.value,
        metric_versions=plan.metric_versions,
        created_by=user,
    )


def _create_case_results(grading: Grading, plan: RunPlan) -> None:
    CaseResult.objects.bulk_create(
        [
            CaseResult(
                grading=grading,
                case_id=version.case_id,
                case_version=version,
                graded_version=version,
                position=position,
                requested=plan.repeats,
                tags=" ".join(case.tags),
                search=search_of(case),
            )
            for position, (version, case) in enumerate(plan.versions)
        ],
        batch_size=500,
    )


def _create_attempts(grading: Grading) -> None:
    """Every planned attempt, all first ones before any second, so that early figures cover every case."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE numbers(number) AS (
                SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < %s
            )
            INSERT INTO experiments_attempt
                (run_id, case_id, case_version_id, number, take,
                 counts, state, tries, failure_cause, failure_detail)
            SELECT %s, c.case_id, c.case_version_id, numbers.number, 1, %s, 'pending', 0, '', ''
            FROM experiments_caseresult c CROSS JOIN numbers
            WHERE c.grading_id = %s
            ORDER BY numbers.number, c.position
            """,
            [grading.run.repeats, grading.run_id, True, grading.pk],
        )


def stop_run(user: User | None, run: Run) -> Run:
    """Ask a running run to stop: attempts in flight finish, the rest become CANCELLED, which is never a fail.

    A run that is stopping, stopped or finished already stays as it is.
    """
    _allow(user)
    with transaction.atomic():
        asked = Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
            state=RunState.STOPPING,
            stop_reason=f"stopped by {user.get_username() if user else 'the command line'}",
        )
        if asked:
            cancelled = Attempt.objects.filter(run=run, state=AttemptState.PENDING).update(
                state=AttemptState.CANCELLED
            )
            record_activity(user, "stopped", run, after={"cancelled": cancelled})
            transaction.on_commit(lambda: finish_run(run.pk))
    run.refresh_from_db()
    return run


def resume_run(user: User | None, run: Run) -> Run:
    """Go on with a stopped run: what was cancelled is planned again, what was done is kept.

    Raises `WrongState` unless the run is stopped; one that is running already is returned as it is.
    """
    _allow(user)
    with transaction.atomic():
        resumed = Run.objects.filter(pk=run.pk, state=RunState.STOPPED).update(
            state=RunState.RUNNING, stop_reason="", finished_at=None
        )
        if resumed:
            planned = Attempt.objects.filter(run=run, state=AttemptState.CANCELLED).update(
                state=AttemptState.PENDING
            )
            record_activity(user, "resumed", run, after={"planned": planned, "kept": run.finished})
            dispatch.dispatch_run(run.pk)
    run.refresh_from_db()
    if not resumed and run.state != RunState.RUNNING:
        raise WrongState(f"run {run.number} is {run.get_state_display()}; only a stopped run can be resumed")
    return run
