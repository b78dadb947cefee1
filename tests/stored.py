"""Finished runs made of evidence a test gives, through the product's own start, recorder and end of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from experiments import models as m
from experiments.evaluation import (
    Citation,
    CriterionContext,
    Evidence,
    Failure,
    Judge,
    Turn,
    evaluate_attempt,
    failure_of,
)
from experiments.execution.finishing import case_loader, finish_run
from experiments.execution.recording import Place, record
from experiments.mapping import corpus_of, ruler_of
from experiments.runner.ports import FinishedAttempt, PlannedAttempt
from experiments.services.runs import start_run
from tests.factories import make_experiment, make_suite, make_target
from tests.local_http import Answer, Seen, served

TEMPLATE = "{replay_history}{simulation_history}{system_output}{expected_outcome}\nSCORE:\nREASON:"

Answers = Callable[[str, int], Evidence | Failure]
"""What the attempt of this case key and number left."""


@contextmanager
def answering_target(version: str = "4.2.0") -> Iterator[m.Target]:
    """A target that says what it can do; nothing else is asked of it here."""

    async def respond(_: Seen) -> Answer:
        capabilities = {"version": version, "fixtures": {"booked": ""}, "breakable_tools": ["search"]}
        return Answer(capabilities)

    with served(respond) as server:
        yield make_target(url=server.url)


def make_rubric(name: str = "judge") -> m.Rubric:
    rubric, made = m.Rubric.objects.get_or_create(name=name)
    if made:
        rubric.current = m.RubricVersion.objects.create(
            rubric=rubric, number=1, fingerprint="f", template=TEMPLATE
        )
        rubric.save()
    return rubric


def make_policy(name: str = "desk", text: str = "Be kind.") -> m.Policy:
    policy, _ = m.Policy.objects.get_or_create(name=name)
    if policy.current is None or policy.current.text != text:
        number = policy.versions.count() + 1
        policy.current = m.PolicyVersion.objects.create(
            policy=policy, number=number, fingerprint=f"{number:064x}", text=text
        )
        policy.save()
    return policy


def ready_experiment(target: m.Target, suite: m.Suite | None = None, **fields: Any) -> m.Experiment:
    """An experiment that pre-flight lets start, once its suite has cases."""
    return make_experiment(
        **{
            "target": target,
            "suite": suite or make_suite(),
            "rubric": make_rubric(),
            "policy": make_policy(),
            "accept_errors": True,
            **fields,
        }
    )


def says(reply: str, *cited: str, prompt: str = "?", tokens: int | None = 100) -> Evidence:
    """The evidence of one turn."""
    citations = tuple(Citation(id=each) for each in cited)
    return Evidence(
        turns=(
            Turn(
                prompt=prompt,
                reply=reply,
                citations=citations,
                prompt_tokens=tokens,
                completion_tokens=tokens,
                seconds=0.5,
            ),
        )
    )


def finished_run(experiment: m.Experiment, answers: Answers, judge: Judge | None = None) -> m.Run:
    """A run of `experiment`, finished, whose attempts left what `answers` gives."""
    run = start_run(None, experiment)
    grading = m.Grading.objects.select_related("suite_version", "rubric_version__rubric").get(run=run)
    group = m.LaneGroup.objects.create(run=run, lanes=1, heartbeat_at=timezone.now())
    m.Attempt.objects.filter(run=run).update(
        state="running", tries=1, group=group, lease_until=timezone.now(), started_at=timezone.now()
    )
    load, ruler = case_loader(), ruler_of(grading)
    ctx = CriterionContext(judge=judge, corpus=corpus_of(grading.corpus_version))
    batch = []
    for attempt in run.attempts.select_related("case").order_by("id"):
        case = load(attempt.case_version_id)
        left = answers(attempt.case.key, attempt.number)
        evidence = left if isinstance(left, Evidence) else None
        failure = left if isinstance(left, Failure) else failure_of(left)
        result = None
        if failure is None and evidence is not None:
            result = asyncio.run(evaluate_attempt(case, evidence, ruler, ctx))
        planned = PlannedAttempt(attempt.pk, case, attempt.number, 1, f"key-{attempt.pk}")
        batch.append(FinishedAttempt(planned, evidence, failure, result, 0.5, timezone.now()))
    assert record(Place(run.pk, grading.pk, run.attempt_seconds), batch, load) == len(batch)
    m.LaneGroup.objects.filter(run=run).update(state="ended")
    assert finish_run(run.pk)
    run.refresh_from_db()
    return run
