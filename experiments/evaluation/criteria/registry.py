"""The registry of criterion kinds: names, parameters checked before any attempt, and safe evaluation."""

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import cache

from pydantic import ValidationError

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase
from experiments.evaluation.criteria import (
    behaviour,
    citations,
    compare,
    grounding,
    judged,
    language,
    privacy,
    reply,
    usage,
)
from experiments.evaluation.criteria.base import CriterionKind, error
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict
from experiments.evaluation.ports import CriterionContext
from experiments.evaluation.text import to_json

_DETAIL_LIMIT = 1_000

Problem = tuple[tuple[str | int, ...], str]
"""Where inside a criterion's entry (``("min",)``), and what is wrong there."""


class CriterionParamsError(ValueError):
    """A criterion that cannot be used as written; ``problems`` holds all of them, each with its path."""

    def __init__(self, kind: str, problems: Iterable[Problem]) -> None:
        self.kind = kind
        self.problems = tuple(problems)
        said = "; ".join(
            f"{'.'.join(str(part) for part in path)}: {message}" if path else message
            for path, message in self.problems
        )
        super().__init__(f"{kind}: {said}")


class UnknownCriterionError(CriterionParamsError):
    """No kind of this name is registered; the message suggests close ones."""


class CriterionRegistry:
    """Criterion kinds by name. A name is unique: registering it twice is refused."""

    def __init__(self, kinds: Iterable[CriterionKind] = ()) -> None:
        self._kinds: dict[str, CriterionKind] = {}
        for kind in kinds:
            self.register(kind)

    def register(self, kind: CriterionKind) -> None:
        """Add a kind; ValueError when its name is taken, TypeError when it is no kind."""
        if not isinstance(kind, CriterionKind) or not isinstance(kind.name, str) or not kind.name:
            raise TypeError(f"{kind!r} is no criterion kind: it needs name, params_model and evaluate")
        if kind.name in self._kinds:
            raise ValueError(f"the criterion kind {kind.name!r} is registered already")
        self._kinds[kind.name] = kind

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._kinds))

    def __len__(self) -> int:
        return len(self._kinds)

    def get(self, name: str) -> CriterionKind:
        """The kind; UnknownCriterionError, naming close matches, when there is none."""
        kind = self._kinds.get(name)
        if kind is None:
            raise UnknownCriterionError(name, [(("kind",), self._unknown(name))])
        return kind

    def _unknown(self, name: str) -> str:
        close = get_close_matches(name, self._kinds, n=2, cutoff=0.6)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(self)}"
        return f"no criterion kind {name!r} is registered{hint}"

    def validate(self, spec: CriterionSpec) -> FrozenModel:
        """The spec's parameters as the kind's model; CriterionParamsError with every problem otherwise."""
        kind = self.get(spec.kind)
        try:
            return kind.params_model.model_validate(spec.params)
        except ValidationError as refused:
            raise CriterionParamsError(
                spec.kind, [(tuple(p["loc"]), _message(p["type"], p["msg"])) for p in refused.errors()]
            ) from refused

    def weight(self, spec: CriterionSpec) -> float:
        """The spec's weight, or its kind's default when it names none (1.0 for an unregistered kind)."""
        if spec.weight is not None:
            return spec.weight
        return float(getattr(self._kinds.get(spec.kind), "default_weight", 1.0))

    def needs(self, name: str) -> frozenset[str]:
        """Services the kind cannot do without: judge, detector, corpus, refusal_detector."""
        return frozenset(getattr(self.get(name), "needs", ()))

    def reads_sources(self, name: str) -> bool:
        """Whether a decision on a source's role can change verdicts of this kind."""
        kind = self.get(name)
        if name in _builtin_names():
            return name in _READS_SOURCES
        declared: bool | None = getattr(kind, "reads_sources", None)
        return "judge" not in self.needs(name) if declared is None else declared

    async def evaluate(
        self, spec: CriterionSpec, case: EvalCase, evidence: Evidence, ctx: CriterionContext
    ) -> Verdict:
        """The verdict of one criterion, with its kind, weight and gate.

        Never raises but for cancellation: whatever a kind raises becomes status ``error``, so one broken
        criterion never stops its siblings.
        """
        try:
            verdict = await self.get(spec.kind).evaluate(case, evidence, params=spec.params, ctx=ctx)
            if not isinstance(verdict, Verdict):
                raise TypeError(f"the kind returned {type(verdict).__name__}, not a Verdict")
            to_json(verdict.data)
        except UnknownCriterionError as unknown:
            verdict = error(unknown.problems[0][1])
        except ValidationError as refused:
            verdict = error(f"{spec.kind}: parameters or values refused ({_summary(refused)})")
        except Exception as broken:
            verdict = error(f"{type(broken).__name__}: {broken}")
        return verdict.model_copy(
            update={
                "kind": spec.kind,
                "weight": self.weight(spec),
                "gate": spec.gate,
                "detail": verdict.detail[:_DETAIL_LIMIT],
            }
        )


def _message(type_: str, message: str) -> str:
    if type_ == "extra_forbidden":
        return "unknown parameter"
    if type_ == "missing":
        return "is required"
    return message.removeprefix("Value error, ")


def _summary(refused: ValidationError) -> str:
    problems = refused.errors(include_input=False, include_url=False)
    return "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in problems[:5])


_BUILTIN: tuple[Callable[[], Iterable[CriterionKind]], ...] = (
    reply.kinds,
    language.kinds,
    privacy.kinds,
    behaviour.kinds,
    citations.kinds,
    grounding.kinds,
    judged.kinds,
    compare.kinds,
    usage.kinds,
)


_READS_SOURCES = frozenset({"citations.required", "citations.forbidden", "citations.unseen"})


@cache
def _builtin_names() -> frozenset[str]:
    return frozenset(kind.name for family in _BUILTIN for kind in family())


def builtin_registry() -> CriterionRegistry:
    """A new registry with the built-in kinds; adding to it changes no other."""
    return CriterionRegistry(kind for family in _BUILTIN for kind in family())
