"""A team's own kinds and metrics, loaded by name from the module that the setting EVALSITE_HOOKS names.

The module may hold ``CRITERIA`` (a list of criterion kinds) and ``METRICS`` (a list of metrics). Both are
added to the built-in ones; a name that is taken is refused.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from experiments.evaluation.criteria import CriterionRegistry, builtin_registry
from experiments.evaluation.metrics import MetricRegistry, builtin_metrics


class HooksError(Exception):
    """The hooks module cannot be used; the message names the module and what is wrong with it."""


@dataclass(frozen=True)
class Hooks:
    """The registries of one process: built-in and the team's own."""

    criteria: CriterionRegistry
    metrics: MetricRegistry


def read_hooks(module_name: str) -> Hooks:
    """Registries with the module's own additions; with an empty name the built-in ones alone.

    Raises HooksError when the module cannot be imported, or holds something that is no list of kinds.
    """
    criteria, metrics = builtin_registry(), builtin_metrics()
    if module_name:
        module = _imported(module_name)
        for name, registry in (("CRITERIA", criteria), ("METRICS", metrics)):
            for thing in _listed(module, name):
                _add(registry, thing, f"{module_name}.{name}")
    return Hooks(criteria=criteria, metrics=metrics)


@cache
def load_hooks() -> Hooks:
    """The hooks of this process, by the Django setting EVALSITE_HOOKS; read once."""
    from django.conf import settings

    return read_hooks(getattr(settings, "EVALSITE_HOOKS", ""))


def _imported(module_name: str) -> ModuleType:
    try:
        return import_module(module_name)
    except Exception as broken:
        raise HooksError(
            f"EVALSITE_HOOKS={module_name}: cannot be imported ({type(broken).__name__}: {broken})"
        ) from broken


def _listed(module: ModuleType, name: str) -> list[Any]:
    things = getattr(module, name, ())
    if not isinstance(things, list | tuple):
        raise HooksError(f"{module.__name__}.{name} must be a list, not {type(things).__name__}")
    return list(things)


def _add(registry: CriterionRegistry | MetricRegistry, thing: Any, where: str) -> None:
    try:
        registry.register(thing)
    except (TypeError, ValueError) as refused:
        raise HooksError(f"{where}: {refused}") from refused
