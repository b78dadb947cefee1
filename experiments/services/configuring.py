"""Saving what experiments are made of: targets, judge models, experiments. Each verb is atomic and logged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import transaction

from experiments.models import Experiment, JudgeModel, Permission, Target, User, record_activity
from experiments.services.edits import (
    EXPERIMENT_FIELDS,
    changes,
    experiment_facts,
    require,
    require_free_name,
    require_storable,
    unchanged_since,
)
from experiments.wire.judge import judge_config
from experiments.wire.target import target_config

System = TypeVar("System", Target, JudgeModel)


# -- systems ------------------------------------------------------------------------------------------------


def save_target(
    user: User | None, *, target: Target | None, name: str, config: Mapping[str, Any], edition: str
) -> Target:
    """The target with this configuration; past runs keep the copy they pinned. ValueError when it is none."""
    checked = target_config(dict(config)).model_dump(mode="json")
    return _save_system(user, Target, target, name, checked, edition)


def save_judge(
    user: User | None, *, judge: JudgeModel | None, name: str, config: Mapping[str, Any], edition: str
) -> JudgeModel:
    """The judge model with this configuration; past gradings keep the copy they pinned."""
    checked = judge_config(dict(config)).model_dump(mode="json")
    return _save_system(user, JudgeModel, judge, name, checked, edition)


@transaction.atomic
def _save_system(
    user: User | None,
    model: type[System],
    system: System | None,
    name: str,
    config: dict[str, Any],
    edition: str,
) -> System:
    require(user, Permission.ADMINISTER)
    require_storable(name=name)
    kind = "target" if model is Target else "judge model"
    require_free_name(model, name, system, kind)
    if system is None:
        made = model.objects.create(name=name, config=config)
        record_activity(user, "created", made, after={"name": name, "config": config})
        return made
    system = model.objects.select_for_update().get(pk=system.pk)
    unchanged_since(system, edition)
    old, new = changes({"name": system.name, **system.config}, {"name": name, **config})
    if new:
        system.name, system.config = name, config
        system.save()
        record_activity(user, "edited", system, before=old, after=new)
    return system


# -- experiments --------------------------------------------------------------------------------------------


@transaction.atomic
def save_experiment(
    user: User | None, *, experiment: Experiment | None, fields: Mapping[str, Any], edition: str
) -> Experiment:
    """The experiment with these `EXPERIMENT_FIELDS`; a run that was started keeps what it pinned."""
    require(user, Permission.AUTHOR)
    unknown = set(fields) - set(EXPERIMENT_FIELDS)
    if unknown:
        raise TypeError(f"not fields of an experiment: {', '.join(sorted(unknown))}")
    require_storable(name=str(fields.get("name", "")))
    made = experiment is None
    if experiment is None:
        experiment, before = Experiment(), {}
    else:
        experiment = Experiment.objects.select_for_update().get(pk=experiment.pk)
        unchanged_since(experiment, edition)
        before = experiment_facts(experiment)
    for name, value in fields.items():
        setattr(experiment, name, value)
    require_free_name(Experiment, experiment.name, None if made else experiment, "experiment")
    old, new = changes(before, experiment_facts(experiment))
    if new:
        experiment.save()
        record_activity(
            user, "created" if made else "edited", experiment, before=None if made else old, after=new
        )
    return experiment
