"""What every editing verb shares: who may, what the editor read, what changed, and how a refusal is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import models

from experiments.evaluation.text import is_storable, printable, sha256_of
from experiments.models import (
    Case,
    Corpus,
    Experiment,
    JudgeModel,
    Permission,
    Policy,
    Rubric,
    Suite,
    Target,
    User,
)

Named = TypeVar("Named", Suite, Rubric, Policy, Target, JudgeModel, Experiment)

NEW = ""
"""The edition of a thing that does not exist yet."""

_SHOWN = 500
"""Characters of one field that an activity line keeps; the versions hold the whole text."""

EXPERIMENT_FIELDS = (
    "name",
    "suite",
    "tags",
    "target",
    "policy",
    "rubric",
    "judge",
    "corpus",
    "settle_mode",
    "lanes",
    "repeats",
    "attempt_seconds",
    "accept_errors",
)


class EditRefusedError(ValueError):
    """What was to be saved cannot stand; `problems` holds every (field, sentence)."""

    def __init__(self, problems: Iterable[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(sentence for _, sentence in self.problems))


class EditConflictError(Exception):
    """A colleague saved first. `current` is the thing as it is now, `edition` what it is known by now."""

    def __init__(self, current: models.Model, edition: str) -> None:
        super().__init__(f"{current} was saved by somebody else meanwhile")
        self.current = current
        self.edition = edition


def require(user: User | None, permission: Permission) -> None:
    """PermissionDenied unless the user may; None is the product itself."""
    if user is not None and not user.may(permission):
        raise PermissionDenied(f"{user.get_username()} may not {permission.value}")


def edition_of(thing: models.Model | None) -> str:
    """What an editor read: a version number where there are versions, else a hash of what can be edited."""
    if thing is None:
        return NEW
    if isinstance(thing, Suite):
        number = thing.current.number if thing.current else 0
        return f"{number}.{sha256_of(thing.description)[:12]}"
    if isinstance(thing, Case | Rubric | Policy | Corpus):
        return str(thing.current.number if thing.current else 0)
    if isinstance(thing, Target | JudgeModel):
        return sha256_of({"name": thing.name, "config": thing.config})[:16]
    if isinstance(thing, Experiment):
        return sha256_of(experiment_facts(thing))[:16]
    if isinstance(thing, User):
        return sha256_of([thing.username, thing.email, thing.role, thing.is_active])[:16]
    raise TypeError(f"{type(thing).__name__} is not edited here")


def unchanged_since(thing: models.Model, edition: str) -> None:
    now = edition_of(thing)
    if edition != now:
        raise EditConflictError(thing, now)


def require_storable(**texts: str) -> None:
    """A text column of PostgreSQL holds no NUL and no lone surrogate."""
    problems = [
        (name, "must not hold NUL or broken characters")
        for name, text in texts.items()
        if not is_storable(text)
    ]
    if problems:
        raise EditRefusedError(problems)


def experiment_facts(experiment: Experiment) -> dict[str, Any]:
    """What can be edited of an experiment, as the activity log keeps it."""
    facts: dict[str, Any] = {}
    for name in EXPERIMENT_FIELDS:
        value = None if name == "suite" and not experiment.suite_id else getattr(experiment, name)
        facts[name] = {"id": value.pk, "name": str(value)} if isinstance(value, models.Model) else value
    return facts


def require_free_name(model: type[Named], name: str, but: Named | None, kind: str) -> None:
    """EditRefusedError when another thing of this kind has the name."""
    taken = model.objects.filter(name=name)
    if but is not None:
        taken = taken.exclude(pk=but.pk)
    if taken.exists():
        raise EditRefusedError([("name", f"there is a {kind} {printable(name, 100)} already")])


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that differ, as they were and as they are, long texts cut."""
    differ = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return (
        {name: _short(before[name]) for name in differ if name in before},
        {name: _short(after[name]) for name in differ if name in after},
    )


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value, _SHOWN)
    if isinstance(value, Mapping):
        return {str(key): _short(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_short(inner) for inner in value]
    return value
