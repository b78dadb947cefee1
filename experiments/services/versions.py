"""The one place that adds a version to a thing, for import, admin and decisions alike.

Each function is called inside the transaction of the verb that changes something: it takes the thing's row
lock, adds a version only when the content differs from the current one, and makes it current. The verb
writes the activity line. A number is taken once: a constraint refuses a second version with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from django.utils import timezone

from experiments.evaluation import CriterionSpec, EvalCase, Rubric
from experiments.evaluation.text import sha256_of, to_json
from experiments.mapping import case_version_row
from experiments.models import (
    Case,
    CaseVersion,
    Policy,
    PolicyVersion,
    RubricVersion,
    Suite,
    SuiteVersion,
    User,
)
from experiments.models import Rubric as RubricRow

Thing = TypeVar("Thing", Suite, Case, RubricRow, Policy)


def locked(thing: Thing) -> Thing:
    """The row as it is now, held until the transaction ends, with its current version at hand."""
    model = type(thing)
    # The lock alone first: PostgreSQL refuses FOR UPDATE on the outer side of a join.
    model.objects.select_for_update().get(pk=thing.pk)
    return model.objects.select_related("current").get(pk=thing.pk)


def next_case_version(user: User | None, case: Case, value: EvalCase) -> CaseVersion | None:
    """The version that would hold `value`, not saved yet; None when the current one holds it already.

    For who saves many at once and holds the lock. Raises ValueError when `value` is another case, since the
    key of a case never changes.
    """
    if value.id != case.key:
        raise ValueError(f"the case {case.key} cannot hold the content of {value.id}")
    if case.current and to_json(case.current.content) == to_json(value.model_dump()):
        return None
    return case_version_row(case, (case.current.number if case.current else 0) + 1, value, user)


def add_case_version(user: User | None, case: Case, value: EvalCase) -> CaseVersion | None:
    """A new current version of `case` that holds `value`; None when the current one holds it already."""
    version = next_case_version(user, locked(case), value)
    if version is None:
        return None
    version.save()
    Case.objects.filter(pk=case.pk).update(current=version)
    return version


def add_suite_version(
    user: User | None,
    suite: Suite,
    *,
    criteria: Iterable[CriterionSpec],
    pass_score: float,
    messages: Mapping[str, str],
) -> SuiteVersion | None:
    """A new current version of the rules the suite's cases share; None when they stand like that already."""
    suite = locked(suite)
    rules = {
        "criteria": [spec.model_dump() for spec in criteria],
        "pass_score": float(pass_score),
        "messages": dict(messages),
    }
    fingerprint = sha256_of(rules)
    if suite.current and fingerprint == rules_fingerprint(suite.current):
        return None
    number = (suite.current.number if suite.current else 0) + 1
    version = SuiteVersion.objects.create(
        suite=suite, number=number, fingerprint=fingerprint, created_by=user, **rules
    )
    Suite.objects.filter(pk=suite.pk).update(current=version)
    return version


def rules_fingerprint(version: SuiteVersion) -> str:
    """sha256 of the rules a suite version holds."""
    return sha256_of(
        {
            "criteria": version.criteria,
            "pass_score": float(version.pass_score),
            "messages": version.messages,
        }
    )


def add_rubric_version(user: User | None, rubric: RubricRow, value: Rubric) -> RubricVersion | None:
    """A new current wording of the rubric; None when it reads like that already."""
    rubric = locked(rubric)
    wording = {
        "kind": value.kind.value,
        "template": value.template,
        "labels": list(value.labels),
        "pass_labels": list(value.pass_labels),
    }
    current = rubric.current
    if current and all(getattr(current, name) == said for name, said in wording.items()):
        return None
    version = RubricVersion.objects.create(
        rubric=rubric,
        number=(current.number if current else 0) + 1,
        fingerprint=sha256_of(wording),
        created_by=user,
        **wording,
    )
    RubricRow.objects.filter(pk=rubric.pk).update(current=version)
    return version


def add_policy_version(user: User | None, policy: Policy, text: str) -> PolicyVersion | None:
    """A new current text of the policy; None when it reads like that already."""
    policy = locked(policy)
    if policy.current and policy.current.text == text:
        return None
    version = PolicyVersion.objects.create(
        policy=policy,
        number=(policy.current.number if policy.current else 0) + 1,
        fingerprint=sha256_of(text),
        text=text,
        created_by=user,
    )
    Policy.objects.filter(pk=policy.pk).update(current=version)
    return version


def archive(case: Case, *, archived: bool) -> bool:
    """Take the case out of new runs, or back into them; False when it stands like that already."""
    at = timezone.now() if archived else None
    rows = Case.objects.filter(pk=case.pk, archived_at__isnull=archived)
    return rows.update(archived_at=at) == 1
