"""Triggers that keep what must never change: versions, evidence, closed gradings, the activity log.

Installed after every `migrate` by one idempotent function, because SQLite drops a table's triggers silently
whenever a migration remakes the table. A refused change raises `django.db.IntegrityError` on both databases.

Two changes are let through on purpose: the purge of evidence (a document that becomes null together with a
`purged_at`), and `counts` of a finished attempt that a retry replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

ALWAYS = "1 = 1"


@dataclass(frozen=True)
class Guard:
    """Refuse `operation` on `table` where `condition` (SQL over OLD and NEW) holds, saying `sentence`."""

    table: str
    operation: str
    condition: str
    sentence: str

    @property
    def name(self) -> str:
        return f"guard_{self.table}_{self.operation.lower()}"


def _differ(*columns: str) -> str:
    return " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)


def _frozen(table: str, what: str) -> tuple[Guard, Guard]:
    return (
        Guard(table, "UPDATE", ALWAYS, f"{what} never changes: make a new one"),
        Guard(table, "DELETE", ALWAYS, f"{what} is never deleted"),
    )


def _closed(table: str, grading: str) -> tuple[Guard, Guard]:
    condition = f"EXISTS (SELECT 1 FROM experiments_grading g WHERE g.id = {grading} AND g.state = 'closed')"  # noqa: S608 - names of ours
    return (
        Guard(table, "UPDATE", condition, "a closed grading never changes: make a new grading"),
        Guard(table, "DELETE", condition, "a closed grading never changes: make a new grading"),
    )


_OF_RESULT = "(SELECT r.grading_id FROM experiments_result r WHERE r.id = OLD.result_id)"
_OF_CASE_RESULT = "(SELECT c.grading_id FROM experiments_caseresult c WHERE c.id = OLD.case_result_id)"

GUARDS: tuple[Guard, ...] = (
    *_frozen("experiments_suiteversion", "a suite version"),
    *_frozen("experiments_caseversion", "a case version"),
    *_frozen("experiments_rubricversion", "a rubric version"),
    *_frozen("experiments_policyversion", "a policy version"),
    *_frozen("experiments_corpusversion", "a corpus version"),
    *_frozen("experiments_corpusunit", "a unit of a corpus version"),
    *_frozen("experiments_roledecision", "a decision"),
    Guard("experiments_activity", "UPDATE", ALWAYS, "the activity log only grows"),
    Guard("experiments_activity", "DELETE", ALWAYS, "the activity log only grows"),
    Guard(
        "experiments_attemptevidence",
        "UPDATE",
        "NOT (OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL AND NEW.document IS NULL"
        " AND OLD.attempt_id = NEW.attempt_id)",
        "evidence never changes: purge_evidence is the only way to remove it",
    ),
    Guard("experiments_attemptevidence", "DELETE", ALWAYS, "evidence is never deleted: use purge_evidence"),
    Guard(
        "experiments_attempt",
        "UPDATE",
        "OLD.state = 'done' AND ("
        + _differ(
            *("run_id", "case_id", "case_version_id", "number", "take", "state", "tries", "started_at"),
            *(
                "finished_at",
                "seconds",
                "prompt_tokens",
                "completion_tokens",
                "failure_cause",
                "failure_detail",
            ),
        )
        + ")",
        "a finished attempt never changes",
    ),
    Guard("experiments_attempt", "DELETE", ALWAYS, "an attempt is never deleted"),
    Guard(
        "experiments_run",
        "UPDATE",
        _differ(
            *(
                "experiment_id",
                "token",
                "parent_id",
                "policy_version_id",
                "target_name",
                "target_config",
                "lanes",
            ),
            *("repeats", "attempt_seconds", "started_by_id", "created_at"),
        ),
        "what a run pinned never changes: start another run",
    ),
    Guard("experiments_run", "DELETE", ALWAYS, "a run is never deleted"),
    Guard(
        "experiments_grading",
        "UPDATE",
        _differ(
            *("run_id", "number", "parent_id", "suite_version_id", "rubric_version_id", "corpus_version_id"),
            *("judge_config", "judge_model", "settle_mode", "metric_versions", "created_by_id", "created_at"),
        )
        + " OR (OLD.state = 'closed' AND NEW.state = 'closed' AND ("
        + _differ(
            *("passed_cases", "failed_cases", "varied_cases", "undecided_cases", "no_result_cases"),
            *("counted", "totals", "rate_low", "rate_high", "closed_at"),
        )
        + "))",
        "what a grading pinned never changes, nor a closed grading's figures: make a new grading",
    ),
    Guard("experiments_grading", "DELETE", ALWAYS, "a grading is never deleted"),
    *_closed("experiments_result", "OLD.grading_id"),
    *_closed("experiments_criterionverdict", _OF_RESULT),
    *_closed("experiments_caseresult", "OLD.grading_id"),
    *_closed("experiments_casecriterion", _OF_CASE_RESULT),
)


def _sqlite(guard: Guard) -> list[str]:
    # IS DISTINCT FROM came to SQLite in 3.39; IS NOT is the same there and older.
    condition = guard.condition.replace("IS DISTINCT FROM", "IS NOT")
    return [
        f"DROP TRIGGER IF EXISTS {guard.name}",
        (
            f"CREATE TRIGGER {guard.name} BEFORE {guard.operation} ON {guard.table} FOR EACH ROW "
            f"WHEN {condition} BEGIN SELECT RAISE(ABORT, '{_quoted(guard.sentence)}'); END"
        ),
    ]


def _postgresql(guard: Guard) -> list[str]:
    row = "OLD" if guard.operation == "DELETE" else "NEW"
    function = (
        f"CREATE OR REPLACE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $guard$ BEGIN "
        f"IF {guard.condition} THEN RAISE EXCEPTION '{_quoted(guard.sentence)}' "
        f"USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN {row}; END $guard$"
    )
    trigger = (
        f"CREATE OR REPLACE TRIGGER {guard.name} BEFORE {guard.operation} ON {guard.table} "
        f"FOR EACH ROW EXECUTE FUNCTION {guard.name}()"
    )
    return [function, trigger]


def _quoted(sentence: str) -> str:
    return sentence.replace("'", "''")


def install_guards(connection: BaseDatabaseWrapper) -> None:
    """Make every guard stand on `connection`, whatever stood before; tables not made yet are left out."""
    statements = {"sqlite": _sqlite, "postgresql": _postgresql}.get(connection.vendor)
    if statements is None:
        raise NotImplementedError(
            f"evalsite keeps its promises by triggers on SQLite and PostgreSQL, not on {connection.vendor}"
        )
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for guard in GUARDS:
            if guard.table in existing:
                for statement in statements(guard):
                    cursor.execute(statement)
