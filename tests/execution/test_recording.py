"""Writing finished attempts: all of it or nothing, lossless, and never for somebody else's attempt."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from experiments import models as m
from experiments.evaluation import (
    AttemptCounts,
    Cause,
    Citation,
    CriterionStatus,
    Evidence,
    JudgeUse,
    ToolCall,
    Turn,
)
from experiments.execution import attempts
from experiments.execution.recording import record
from experiments.execution.setting import Cases
from experiments.mapping import evidence_of
from tests.execution.world import Other, Planned, asked, begun_group, by_criteria, finished, not_reached, plan

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR
HOSTILE = "a\x00b\ud800c\u202e<script>alert(1)</script>'; DROP TABLE x; -- \\u0000 %s {} \U0001f600"


@pytest.mark.django_db
def test_a_result_its_evidence_and_every_figure_are_written_together() -> None:
    planned = plan(cases=1, repeats=2)
    one, two = asked(begun_group(planned), 2)
    assert record(planned.place, [finished(one), finished(two, passed=False)], Cases()) == 2
    row = m.Attempt.objects.get(pk=one.attempt_id)
    assert (row.state, row.seconds, row.prompt_tokens, row.completion_tokens) == ("done", 0.5, 10, 4)
    assert row.finished_at is not None
    assert row.lease_until is None
    result = row.results.get()
    assert (result.outcome, result.passed, result.reason, result.evaluator) == (
        ("VERDICT", True, "because", "contains-all")
    )
    case = planned.case_result()
    assert (case.verdict, case.strip, case.passed, case.failed) == ("VARIED", "PF", 1, 1)
    assert (case.settled_by, case.decided_by, case.reason) == ("contains_all", "contains-all", "because")
    assert (case.mean_seconds, case.tokens) == (0.5, 28)
    assert "because" in case.search
    planned.grading.refresh_from_db()
    assert (planned.grading.varied_cases, planned.grading.counted) == (1, 2)
    totals = AttemptCounts.model_validate(planned.grading.totals)
    assert (totals.passed, totals.failed, totals.asserted, totals.prompt_tokens) == (1, 1, 2, 20)
    planned.run.refresh_from_db()
    assert (planned.run.finished, planned.run.busy_seconds) == (2, 1.0)


@pytest.mark.django_db
def test_an_attempt_that_was_not_reached_has_its_cause_and_no_result() -> None:
    planned = plan(cases=1, repeats=2)
    one, two = asked(begun_group(planned), 2)
    record(planned.place, [not_reached(one), not_reached(two, Cause.SETUP_FAILED)], Cases())
    row = m.Attempt.objects.get(pk=one.attempt_id)
    assert (row.failure_cause, row.failure_detail, row.results.count()) == ("NO_REPLY", "nothing came", 0)
    assert not m.AttemptEvidence.objects.exists()
    case = planned.case_result()
    assert (case.verdict, case.strip, case.no_reply, case.setup_failed) == ("NO_RESULT", "NS", 1, 1)
    planned.grading.refresh_from_db()
    assert (planned.grading.no_result_cases, planned.grading.counted) == (1, 0)


@pytest.mark.django_db
def test_a_finish_with_an_older_try_changes_nothing() -> None:
    planned = plan(cases=1, repeats=1)
    hold = begun_group(planned)
    (old,) = asked(hold, 1)
    m.Attempt.objects.update(state="pending", group=None, lease_until=None)
    (new,) = asked(hold, 1)
    assert (old.tries, new.tries) == (1, 2)
    assert record(planned.place, [finished(old, passed=False)], Cases()) == 0
    assert planned.states() == {"running": 1}
    assert not m.AttemptEvidence.objects.exists()
    assert not m.Result.objects.exists()
    assert planned.case_result().verdict == ""
    assert record(planned.place, [finished(new)], Cases()) == 1
    assert planned.case_result().strip == "P"


@pytest.mark.django_db
def test_an_attempt_ends_once_however_often_its_result_arrives() -> None:
    planned = plan(cases=1, repeats=1)
    (claim,) = asked(begun_group(planned), 1)
    assert [record(planned.place, [finished(claim)], Cases()) for _ in range(3)] == [1, 0, 0]
    planned.run.refresh_from_db()
    planned.grading.refresh_from_db()
    assert (planned.run.finished, planned.grading.counted, m.Result.objects.count()) == (1, 1, 1)


@pytest.mark.django_db
def test_the_late_one_of_a_batch_leaves_no_trace_and_costs_the_others_nothing() -> None:
    planned = plan(cases=2, repeats=1)
    one, two = asked(begun_group(planned), 2)
    late = replace(finished(one), planned=replace(finished(one).planned, tries=7))
    assert record(planned.place, [late, finished(two)], Cases()) == 1
    assert planned.states() == {"running": 1, "done": 1}
    assert planned.case_result(0).strip == "", "untouched"
    assert planned.case_result(1).strip == "P"


@pytest.mark.django_db
def test_hostile_text_is_kept_to_the_letter_in_the_evidence_and_printable_beside_it() -> None:
    planned = plan(cases=1, repeats=2)
    one, two = asked(begun_group(planned), 2)
    evidence = Evidence(
        turns=(Turn(prompt=HOSTILE, reply=HOSTILE * 1000, citations=(Citation(id=HOSTILE),)),),
        tools_called=(ToolCall(name=HOSTILE, arguments={HOSTILE: [None, 10**30, HOSTILE]}),),
        end_state={HOSTILE: None},
    )
    result = by_criteria(FAIL, PASS, judge_use=JudgeUse(calls=1, reply=HOSTILE))
    told = result.model_copy(
        update={
            "reason": HOSTILE,
            "verdicts": (
                result.verdicts[0].model_copy(update={"detail": HOSTILE, "data": {"unseen": [HOSTILE]}}),
            ),
        }
    )
    lost = not_reached(two)
    assert lost.failure is not None
    lost = replace(lost, failure=lost.failure.model_copy(update={"detail": HOSTILE}))
    assert record(planned.place, [finished(one, evidence=evidence, result=told), lost], Cases()) == 2
    stored = m.AttemptEvidence.objects.get(pk=one.attempt_id)
    assert evidence_of(stored.document) == evidence
    row = m.Result.objects.get()
    assert "\x00" not in row.reason
    assert row.reason.startswith("a�b�c")
    assert row.judge_use["reply"] == HOSTILE
    assert row.verdicts.get().data == {"unseen": [HOSTILE]}
    assert m.Attempt.objects.get(pk=two.attempt_id).failure_detail.startswith("a�b�c")
    assert "drop table" in planned.case_result().search


@pytest.mark.django_db
def test_evidence_at_its_defaults_is_stored_small_and_comes_back_whole() -> None:
    planned = plan(cases=1, repeats=1)
    (claim,) = asked(begun_group(planned), 1)
    evidence = Evidence(turns=(Turn(prompt="q", reply="r"),), tools_called=(), context=None)
    record(planned.place, [finished(claim, evidence=evidence)], Cases())
    document = m.AttemptEvidence.objects.get().document
    assert evidence_of(document) == evidence
    assert len(json.dumps(document)) < 80


@pytest.mark.django_db
def test_more_tokens_than_a_column_holds_are_kept_in_the_evidence() -> None:
    planned = plan(cases=1, repeats=1)
    (claim,) = asked(begun_group(planned), 1)
    evidence = Evidence(turns=(Turn(prompt="q", reply="r", prompt_tokens=10**12, completion_tokens=1),))
    assert record(planned.place, [finished(claim, evidence=evidence)], Cases()) == 1
    planned.grading.refresh_from_db()
    assert planned.grading.totals["prompt_tokens"] == 10**12
    assert m.Attempt.objects.get(pk=claim.attempt_id).prompt_tokens == 2**31 - 1


@pytest.mark.django_db
def test_criteria_are_counted_over_the_attempts_of_a_case() -> None:
    planned = plan(cases=1, repeats=3)
    hold = begun_group(planned)
    one, two, three = asked(hold, 3)
    record(planned.place, [finished(one, result=by_criteria(PASS, PASS, PASS))], Cases())
    record(
        planned.place,
        [
            finished(two, result=by_criteria(PASS, FAIL, CriterionStatus.NOT_APPLICABLE)),
            finished(three, result=by_criteria(PASS, FAIL, ERROR)),
        ],
        Cases(),
    )
    rows = planned.case_result().criteria.order_by("position")
    assert [(r.kind, r.passes, r.fails, r.errors, r.not_applicable) for r in rows] == [
        ("reply.kind-0", 3, 0, 0, 0),
        ("reply.kind-1", 1, 2, 0, 0),
        ("reply.kind-2", 1, 0, 1, 1),
    ]
    case = planned.case_result()
    assert (case.settled_by, case.decided_by) == ("criteria", "reply.kind-1"), "the first that failed"
    assert list(
        m.CriterionVerdict.objects.filter(result__attempt=one.attempt_id).values_list("kind", flat=True)
    )


@pytest.mark.django_db
def test_a_batch_costs_the_same_number_of_statements_whatever_its_size() -> None:
    planned = plan(cases=30, repeats=1, lanes=32)
    claims = asked(begun_group(planned), 30)
    cases = Cases()
    results = [finished(claim, result=by_criteria(PASS, FAIL)) for claim in claims]
    cases.load(claim.case_version_id for claim in claims)
    counts = []
    for batch in (results[:1], results[1:30]):
        with CaptureQueriesContext(connection) as queries:
            assert record(planned.place, batch, cases) == len(batch)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 16


@pytest.mark.django_db(transaction=True)
def test_two_groups_that_finish_repeats_of_one_case_lose_no_update() -> None:
    """The first transaction has written its attempt and not committed when the second begins: the second must
    wait for the case's row and count the first's attempt too."""
    planned = plan(cases=1, repeats=2)
    one, two = asked(begun_group(planned), 2)
    recorded, may_commit = threading.Event(), threading.Event()

    def first() -> None:
        with transaction.atomic():
            record(planned.place, [finished(one)], Cases())
            recorded.set()
            assert may_commit.wait(10)

    earlier = Other(first)
    assert recorded.wait(10)
    later = Other(lambda: record(planned.place, [finished(two, passed=False)], Cases()))
    later.join(0.3)
    assert later.is_alive(), "it waits for the first"
    may_commit.set()
    earlier.result()
    assert later.result() == 1
    case = planned.case_result()
    assert (case.strip, case.verdict, case.passed, case.failed) == ("PF", "VARIED", 1, 1)
    planned.grading.refresh_from_db()
    planned.run.refresh_from_db()
    assert (planned.grading.varied_cases, planned.grading.passed_cases, planned.grading.counted) == (1, 0, 2)
    assert planned.run.finished == 2


@pytest.mark.django_db(transaction=True)
def test_many_recorders_at_once_agree_with_the_attempts() -> None:
    planned: Planned = plan(cases=5, repeats=8, lanes=64)
    hold = begun_group(planned)
    claims = asked(hold, 40)
    shares = [claims[start::4] for start in range(4)]

    def write(share: list[attempts.Claim]) -> int:
        cases = Cases()
        return sum(
            record(planned.place, [finished(claim, passed=claim.attempt_id % 3 > 0)], cases)
            for claim in share
        )

    others = [Other(lambda share=share: write(share)) for share in shares]  # type: ignore[misc]
    assert sum(other.result() for other in others) == 40
    planned.grading.refresh_from_db()
    planned.run.refresh_from_db()
    passed = m.Result.objects.filter(passed=True).count()
    assert planned.grading.totals["passed"] == passed
    assert (planned.grading.counted, planned.run.finished) == (40, 40)
    for index, case in enumerate(planned.cases):
        row = planned.case_result(index)
        letters = "".join(
            "P" if won else "F"
            for won in m.Result.objects.filter(attempt__case=case)
            .order_by("attempt__number")
            .values_list("passed", flat=True)
        )
        assert row.strip == letters
