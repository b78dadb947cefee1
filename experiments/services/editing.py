"""Saving one case, suite, rubric or policy: each function is one verb, atomic, with its activity line.

Every verb takes the `edition` its caller read. A colleague's newer save raises EditConflictError instead of
being overwritten; nothing is deleted, a finished run is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models, transaction
from django.db.models import Max

from experiments.evaluation import CriterionSpec, EvalCase, Rubric
from experiments.evaluation.text import printable
from experiments.mapping import case_of
from experiments.models import (
    Case,
    Permission,
    Policy,
    Suite,
    SuiteVersion,
    User,
    record_activity,
)
from experiments.models import Rubric as RubricRow
from experiments.services import versions
from experiments.services.edits import (
    EditRefusedError,
    changes,
    require,
    require_free_name,
    require_storable,
    unchanged_since,
)

# -- cases and suites ---------------------------------------------------------------------------------------


@transaction.atomic
def save_case(user: User | None, value: EvalCase, *, suite: Suite, case: Case | None, edition: str) -> Case:
    """The case with `value` as its content: a new version when that differs from what it holds.

    The text of its message is the suite's. Raises EditRefusedError for a key that is taken or a message the
    suite does not have.
    """
    require(user, Permission.AUTHOR)
    suite = versions.locked(suite)
    value = _with_message(value, _messages(suite))
    made = case is None
    if case is None:
        require_storable(key=value.id)
        if Case.objects.filter(suite=suite, key=value.id).exists():
            raise EditRefusedError([("key", f"{suite} has a case {printable(value.id, 200)} already")])
        last = Case.objects.filter(suite=suite).aggregate(last=Max("position"))["last"]
        position = 0 if last is None else last + 1
        case = Case.objects.create(suite=suite, key=value.id, position=position)
    else:
        case = versions.locked(case)
        unchanged_since(case, edition)
    before = case_of(case.current) if case.current else None
    version = versions.add_case_version(user, case, value)
    if version is not None:
        case.current = version
        old, new = changes(before.model_dump() if before else {}, value.model_dump())
        record_activity(
            user,
            "created" if made else "edited",
            case,
            before={"version": version.number - 1, **old} if before else None,
            after={"version": version.number, **new},
        )
    return case


@transaction.atomic
def archive_case(user: User | None, case: Case, *, archived: bool) -> bool:
    """Leave the case out of new runs, or take it back in; False when nothing changed."""
    require(user, Permission.AUTHOR)
    if not versions.archive(case, archived=archived):
        return False
    record_activity(user, "archived" if archived else "restored", case)
    return True


@transaction.atomic
def save_suite(
    user: User | None,
    *,
    suite: Suite | None,
    name: str,
    description: str,
    criteria: Iterable[CriterionSpec],
    pass_score: float,
    messages: Mapping[str, str],
    edition: str,
) -> Suite:
    """The suite with these rules. A message that changed gives every case that uses it a new version.

    Raises EditRefusedError for a name that is taken or a message that is removed while cases use it.
    """
    require(user, Permission.AUTHOR)
    require_storable(name=name, description=description)
    made = suite is None
    if suite is None:
        require_free_name(Suite, name, None, "suite")
        suite = Suite.objects.create(name=name, description=description)
    else:
        suite = versions.locked(suite)
        unchanged_since(suite, edition)
    before = {} if made else _suite_facts(suite.description, suite.current)
    version = versions.add_suite_version(
        user, suite, criteria=criteria, pass_score=pass_score, messages=messages
    )
    touched = _refresh_messages(user, suite, messages)
    Suite.objects.filter(pk=suite.pk).update(description=description)
    suite.description, suite.current = description, version or suite.current
    old, new = changes(before, _suite_facts(description, suite.current))
    if touched:
        new["cases with a new version"] = touched
    if made or new:
        record_activity(user, "created" if made else "edited", suite, before=None if made else old, after=new)
    return suite


def _refresh_messages(user: User | None, suite: Suite, messages: Mapping[str, str]) -> list[str]:
    """New versions of the cases whose message reads differently now; their keys."""
    touched, orphans = [], []
    rows = Case.objects.filter(suite=suite, current__isnull=False).select_related("current")
    for case in rows.iterator(chunk_size=500):
        value = case_of(_current(case))
        if value.message is None:
            continue
        if value.message not in messages:
            if case.archived_at is None:
                orphans.append((case.key, value.message))
            continue
        if versions.add_case_version(user, case, _with_message(value, messages)):
            touched.append(case.key)
    if orphans:
        said = ", ".join(f"{code} ({key})" for key, code in orphans[:8])
        raise EditRefusedError([("messages", f"cases still use what is not listed here: {printable(said)}")])
    return touched


def _current(case: Case) -> Any:
    return case.current


def _messages(suite: Suite) -> dict[str, str]:
    return dict(suite.current.messages) if suite.current else {}


def _with_message(value: EvalCase, messages: Mapping[str, str]) -> EvalCase:
    if value.message is None:
        return value.model_copy(update={"message_text": None})
    if value.message not in messages:
        said = f"no message {printable(value.message, 200)} among the suite's messages"
        raise EditRefusedError([("message", said)])
    return value.model_copy(update={"message_text": messages[value.message]})


def _suite_facts(description: str, version: SuiteVersion | None) -> dict[str, Any]:
    if version is None:
        return {"description": description}
    return {
        "description": description,
        "version": version.number,
        "criteria": version.criteria,
        "pass_score": version.pass_score,
        "messages": version.messages,
    }


# -- rubrics and policies -----------------------------------------------------------------------------------


@transaction.atomic
def save_rubric(user: User | None, value: Rubric, *, rubric: RubricRow | None, edition: str) -> RubricRow:
    """The rubric with this wording; its name is `value.name`, its version number is counted here."""
    require(user, Permission.AUTHOR)
    require_storable(name=value.name, template=value.template)
    made = rubric is None
    if rubric is None:
        require_free_name(RubricRow, value.name, None, "rubric")
        rubric = RubricRow.objects.create(name=value.name)
    else:
        rubric = versions.locked(rubric)
        unchanged_since(rubric, edition)
    version = versions.add_rubric_version(user, rubric, value)
    if version is not None:
        rubric.current = version
        _record_version(user, rubric, version.number, made)
    return rubric


@transaction.atomic
def save_policy(user: User | None, text: str, *, policy: Policy | None, name: str, edition: str) -> Policy:
    """The policy with this text."""
    require(user, Permission.AUTHOR)
    require_storable(name=name, text=text)
    made = policy is None
    if policy is None:
        require_free_name(Policy, name, None, "policy")
        policy = Policy.objects.create(name=name)
    else:
        policy = versions.locked(policy)
        unchanged_since(policy, edition)
    version = versions.add_policy_version(user, policy, text)
    if version is not None:
        policy.current = version
        _record_version(user, policy, version.number, made)
    return policy


def _record_version(user: User | None, thing: models.Model, number: int, made: bool) -> None:
    record_activity(
        user,
        "created" if made else "edited",
        thing,
        before=None if made else {"version": number - 1},
        after={"version": number},
    )
