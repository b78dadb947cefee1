"""What must never change does not, whoever asks the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from experiments import models as m
from experiments.models.protection import GUARDS, install_guards
from tests.factories import make_case, make_grading, make_run, make_suite, make_user

pytestmark = pytest.mark.django_db


def refused(change: Callable[..., object], *args: object, **fields: Any) -> str:
    """The database's sentence for refusing `change`; the test fails when it lets it through."""
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        change(*args, **fields)
    return str(refusal.value)


def make_attempt(**fields: Any) -> m.Attempt:
    run = fields.pop("run", None) or make_run()
    case = make_case(run.experiment.suite, f"case-{run.pk}-{run.attempts.count()}")
    values = {"run": run, "case": case, "case_version": case.current, "number": 1, **fields}
    return m.Attempt.objects.create(**values)


def done_attempt() -> m.Attempt:
    return make_attempt(state="done", finished_at=timezone.now(), seconds=1.0)


def closed_result() -> m.Result:
    attempt = done_attempt()
    grading = make_grading(attempt.run)
    result = m.Result.objects.create(
        grading=grading, attempt=attempt, outcome="VERDICT", passed=True, evaluator="e", settled_by="judge"
    )
    m.CriterionVerdict.objects.create(result=result, position=0, kind="k", status="pass")
    case_result = m.CaseResult.objects.create(
        grading=grading,
        case=attempt.case,
        case_version=attempt.case_version,
        graded_version=attempt.case_version,
        position=0,
        requested=1,
    )
    m.CaseCriterion.objects.create(case_result=case_result, position=0, kind="k")
    m.Grading.objects.filter(pk=grading.pk).update(state="closed", closed_at=timezone.now())
    return result


def versions() -> list[models.Model]:
    suite = make_suite()
    case = make_case(suite, "a")
    rubric = m.Rubric.objects.create(name="r")
    policy = m.Policy.objects.create(name="p")
    corpus = m.Corpus.objects.create(name="c")
    corpus_version = m.CorpusVersion.objects.create(corpus=corpus, number=1, fingerprint="f", unit_count=1)
    assert suite.current is not None
    assert case.current is not None
    return [
        suite.current,
        case.current,
        m.RubricVersion.objects.create(rubric=rubric, number=1, fingerprint="f", template="t"),
        m.PolicyVersion.objects.create(policy=policy, number=1, fingerprint="f", text="t"),
        corpus_version,
        m.CorpusUnit.objects.create(version=corpus_version, unit_id="u", position=0),
    ]


def test_no_version_can_be_changed_or_deleted() -> None:
    for version in versions():
        table = type(version)._default_manager.filter(pk=version.pk)
        field = "text" if isinstance(version, m.CorpusUnit) else "fingerprint"
        assert "never changes" in refused(table.update, **{field: "other"})
        assert "never deleted" in refused(table._raw_delete, table.db)


def test_the_activity_log_only_grows() -> None:
    line = m.record_activity(make_user("author"), "published", make_suite())
    lines = m.Activity.objects.filter(pk=line.pk)
    assert "only grows" in refused(lines.update, verb="hid")
    assert "only grows" in refused(lines.delete)


def test_a_decision_stands_as_it_was_taken() -> None:
    item = m.ReviewItem.objects.create(case=make_case(make_suite(), "k"), unit_id="u")
    decision = m.RoleDecision.objects.create(
        item=item, reviewer=make_user("reviewer"), role="acceptable", item_version=1
    )
    decisions = m.RoleDecision.objects.filter(pk=decision.pk)
    assert "never changes" in refused(decisions.update, role="forbidden")
    assert "never deleted" in refused(decisions._raw_delete, decisions.db)


def test_finished_evidence_never_changes_but_by_a_purge() -> None:
    attempt = done_attempt()
    m.AttemptEvidence.objects.create(attempt=attempt, document={"turns": []})
    evidence = m.AttemptEvidence.objects.filter(pk=attempt.pk)
    assert "purge_evidence" in refused(evidence.update, document={"turns": [1]})
    assert "purge_evidence" in refused(evidence.delete)
    evidence.update(document=None, purged_at=timezone.now())
    assert "purge_evidence" in refused(evidence.update, document={"turns": []}, purged_at=None)


def test_a_finished_attempt_stays_as_it_ended() -> None:
    attempts = m.Attempt.objects.filter(pk=done_attempt().pk)
    for change in (
        {"state": "pending", "finished_at": None},
        {"seconds": 0.1},
        {"failure_cause": "NO_REPLY"},
        {"tries": 7},
        {"number": 2},
    ):
        assert "finished attempt" in refused(attempts.update, **change)
    assert "never deleted" in refused(attempts._raw_delete, attempts.db)


def test_a_finished_attempt_that_was_retried_may_stop_counting() -> None:
    attempts = m.Attempt.objects.filter(pk=done_attempt().pk)
    assert attempts.update(counts=False) == 1


def test_an_unfinished_attempt_moves_freely() -> None:
    attempts = m.Attempt.objects.filter(pk=make_attempt().pk)
    assert attempts.update(state="done", finished_at=timezone.now(), seconds=2.0) == 1


def test_what_a_run_pinned_never_changes() -> None:
    runs = m.Run.objects.filter(pk=make_run().pk)
    changes: list[dict[str, Any]] = [
        {"lanes": 5},
        {"repeats": 3},
        {"target_config": {}},
        {"attempt_seconds": 1},
    ]
    for change in changes:
        assert "start another run" in refused(runs.update, **change)
    assert "never deleted" in refused(runs._raw_delete, runs.db)
    assert runs.update(finished=1, last_error="slow") == 1


def test_what_a_grading_pinned_never_changes_even_while_it_is_open() -> None:
    gradings = m.Grading.objects.filter(pk=make_grading().pk)
    for change in ({"settle_mode": "both"}, {"judge_model": "other"}, {"judge_config": {"model": "x"}}):
        assert "new grading" in refused(gradings.update, **change)
    assert gradings.update(passed_cases=1, totals={"passed": 1}) == 1


def test_a_closed_gradings_figures_and_results_never_change() -> None:
    result = closed_result()
    grading = result.grading_id
    tables: list[tuple[Any, dict[str, Any]]] = [
        (m.Grading.objects.filter(pk=grading), {"passed_cases": 9}),
        (m.Grading.objects.filter(pk=grading), {"totals": {"passed": 9}}),
        (m.Result.objects.filter(grading=grading), {"passed": False}),
        (m.CriterionVerdict.objects.filter(result=result), {"status": "fail"}),
        (m.CaseResult.objects.filter(grading=grading), {"passed": 1}),
        (m.CaseCriterion.objects.filter(case_result__grading=grading), {"passes": 1}),
    ]
    for rows, change in tables:
        assert rows.count() == 1
        rows = rows.model._default_manager.filter(pk=rows.get().pk)
        assert "new grading" in refused(rows.update, **change)
        said = refused(rows._raw_delete, rows.db)
        assert "new grading" in said or "never deleted" in said


def test_a_closed_grading_may_stop_being_the_current_one() -> None:
    result = closed_result()
    assert m.Grading.objects.filter(pk=result.grading_id).update(is_current=False) == 1


def guards_standing() -> set[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        else:
            cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        return {name for (name,) in cursor.fetchall()}


def test_every_guard_stands_after_a_migrate_and_installing_twice_changes_nothing() -> None:
    expected = {guard.name for guard in GUARDS}
    assert guards_standing() >= expected
    install_guards(connection)
    assert guards_standing() >= expected


@pytest.mark.django_db(transaction=True)
def test_guards_come_back_after_a_table_was_altered_and_migrated() -> None:
    """SQLite remakes the table and drops its triggers silently; the migrate that follows puts them back."""
    from django.core.management import call_command

    field = models.CharField(max_length=10, default="")
    field.set_attributes_from_name("extra")
    with connection.schema_editor() as editor:
        editor.add_field(m.PolicyVersion, field)
    with connection.schema_editor() as editor:
        editor.remove_field(m.PolicyVersion, field)
    if connection.vendor == "sqlite":
        assert "guard_experiments_policyversion_update" not in guards_standing()
    call_command("migrate", verbosity=0, interactive=False)
    policy = m.Policy.objects.create(name="p")
    version = m.PolicyVersion.objects.create(policy=policy, number=1, fingerprint="f", text="t")
    assert "never changes" in refused(
        lambda: m.PolicyVersion.objects.filter(pk=version.pk).update(text="other")
    )
