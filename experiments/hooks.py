"""A team's own kinds, metrics and services, from the module that the setting EVALSITE_HOOKS names.

The module may hold ``CRITERIA`` (a list of criterion kinds) and ``METRICS`` (a list of metrics). Both are
added to the built-in ones; a name that is taken is refused. It may also hold ``LANGUAGE_DETECTOR`` (instead
of lingua), ``CORPUS`` (for experiments that name no corpus) and ``REFUSAL_DETECTOR``: each an object with the
methods of its port in ``experiments.evaluation.ports``, or a function or class that makes one when it is
first needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from experiments.detect.languages import LinguaDetector
from experiments.evaluation.criteria import CriterionRegistry, builtin_registry
from experiments.evaluation.metrics import MetricRegistry, builtin_metrics
from experiments.evaluation.ports import Corpus, CriterionContext, LanguageDetector, RefusalDetector


class HooksError(Exception):
    """The hooks module cannot be used; the message names the module and what is wrong with it."""


_SERVICES = {
    "LANGUAGE_DETECTOR": ("detect",),
    "CORPUS": ("unit", "units", "__contains__"),
    "REFUSAL_DETECTOR": ("detect",),
}


@dataclass(frozen=True)
class Hooks:
    """The registries and services of one process: built-in and the team's own.

    `given` holds the team's services by the name of their hook, as the module holds them. A service is made
    once, when it is first asked for; HooksError when it cannot be made or lacks a method.
    """

    criteria: CriterionRegistry
    metrics: MetricRegistry
    given: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def detector(self) -> LanguageDetector:
        """The language detector: the team's, else lingua, which loads nothing before its first sentence."""
        made: LanguageDetector = self._made("LANGUAGE_DETECTOR", LinguaDetector)
        return made

    @cached_property
    def corpus(self) -> Corpus | None:
        """The corpus of experiments that name none."""
        made: Corpus | None = self._made("CORPUS")
        return made

    @cached_property
    def refusal_detector(self) -> RefusalDetector | None:
        """What tells a refusal whose code the target does not report."""
        made: RefusalDetector | None = self._made("REFUSAL_DETECTOR")
        return made

    @property
    def services(self) -> CriterionContext:
        """All of them as criteria get them, without a judge."""
        return CriterionContext(
            detector=self.detector, corpus=self.corpus, refusal_detector=self.refusal_detector
        )

    def _made(self, name: str, default: Callable[[], Any] | None = None) -> Any:
        thing = self.given.get(name)
        if thing is None:
            return default() if default else None
        if callable(thing) and (isinstance(thing, type) or _lacking(thing, name)):
            try:
                thing = thing()
            except Exception as broken:
                raise HooksError(f"{name}: cannot be made ({type(broken).__name__}: {broken})") from broken
        return _checked(thing, name, name)


def _lacking(thing: Any, name: str) -> list[str]:
    return [method for method in _SERVICES[name] if not callable(getattr(thing, method, None))]


def _checked(thing: Any, name: str, where: str) -> Any:
    """The service itself; HooksError when it lacks a method of its port."""
    lacking = _lacking(thing, name)
    if lacking:
        raise HooksError(f"{where}: {type(thing).__name__} has no {lacking[0]}")
    return thing


def read_hooks(module_name: str) -> Hooks:
    """Registries with the module's own additions; with an empty name the built-in ones alone.

    Raises HooksError when the module cannot be imported, or holds something that is no list of kinds.
    """
    criteria, metrics = builtin_registry(), builtin_metrics()
    given: dict[str, Any] = {}
    if module_name:
        module = _imported(module_name)
        for name, registry in (("CRITERIA", criteria), ("METRICS", metrics)):
            for thing in _listed(module, name):
                _add(registry, thing, f"{module_name}.{name}")
        for name in _SERVICES:
            thing = getattr(module, name, None)
            # What can be called may be what makes the service; it is looked at when it has made one.
            given[name] = (
                thing if thing is None or callable(thing) else _checked(thing, name, f"{module_name}.{name}")
            )
    return Hooks(criteria=criteria, metrics=metrics, given=given)


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
