"""What a metric is, and the registry an expectation's `MetricRef` is looked up in."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import EvalCase, MetricRef
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import EvaluationResult, SettledBy
from experiments.evaluation.ports import CriterionContext


@dataclass(frozen=True)
class Score:
    """What a metric measured, from 0 to 1, and a sentence that holds the figures it came from."""

    value: float
    reason: str


@dataclass(frozen=True)
class Missing:
    """Why there was nothing to measure: the target or the case does not hold what the metric reads."""

    reason: str


class Measure(Protocol):
    """Measures one attempt. Does no I/O but through `ctx`; `params` is the metric's own validated model."""

    async def __call__(
        self, case: EvalCase, evidence: Evidence, *, params: Any, ctx: CriterionContext
    ) -> Score | Missing | EvaluationResult: ...


class NoMetricParams(FrozenModel):
    """Parameters of a metric that takes none."""


@dataclass(frozen=True)
class Metric:
    """A named, versioned measure. It passes iff its score reaches `threshold`; another threshold is a new
    version.

    `needs` names the `CriterionContext` services it cannot do without; `settles_as` is how its results are
    counted in a report.
    """

    id: str
    version: int
    threshold: float
    measure: Measure
    params_model: type[FrozenModel] = NoMetricParams
    needs: frozenset[str] = frozenset()
    settles_as: SettledBy = SettledBy.metric


class MetricParamsError(ValueError):
    """The metric is not registered or its parameters do not fit; `problems` holds every (path, sentence)."""

    def __init__(self, ref: MetricRef, problems: Iterable[tuple[tuple[str | int, ...], str]]) -> None:
        self.problems = tuple(problems)
        said = "; ".join(
            f"{'.'.join(map(str, path))}: {text}" if path else text for path, text in self.problems
        )
        super().__init__(f"{ref.id} v{ref.version}: {said}")


class MetricRegistry:
    """Metrics by id and version; registering the same pair twice is a `ValueError`."""

    def __init__(self, metrics: Iterable[Metric] = ()) -> None:
        self._metrics: dict[tuple[str, int], Metric] = {}
        for metric in metrics:
            self.register(metric)

    def register(self, metric: Metric) -> None:
        """Add a metric."""
        key = (metric.id, metric.version)
        if key in self._metrics:
            raise ValueError(f"the metric {metric.id} v{metric.version} is registered already")
        self._metrics[key] = metric

    def find(self, ref: MetricRef) -> Metric | None:
        """The metric that `ref` names, or None."""
        return self._metrics.get((ref.id, ref.version))

    def __iter__(self) -> Iterator[Metric]:
        return iter(metric for _, metric in sorted(self._metrics.items()))

    def __len__(self) -> int:
        return len(self._metrics)

    def validate(self, ref: MetricRef) -> FrozenModel:
        """The parameters as the metric's model; `MetricParamsError` with every problem otherwise."""
        metric = self.find(ref)
        if metric is None:
            raise MetricParamsError(ref, [(("id",), f"no metric registered for {ref.id} v{ref.version}")])
        try:
            return metric.params_model.model_validate(ref.params)
        except ValidationError as refused:
            problems = [((("params", *problem["loc"])), problem["msg"]) for problem in refused.errors()]
            raise MetricParamsError(ref, problems) from refused

    async def evaluate(
        self, ref: MetricRef, case: EvalCase, evidence: Evidence, ctx: CriterionContext
    ) -> EvaluationResult:
        """The metric's result; INCONCLUSIVE when it is not registered or what it reads was not recorded.

        Raises `MetricParamsError` for parameters that do not fit, and whatever the metric raises.
        """
        metric = self.find(ref)
        if metric is None:
            return EvaluationResult.inconclusive(
                f"no metric registered for {ref.id} v{ref.version}",
                evaluator=ref.id,
                evaluator_version=str(ref.version),
                settled_by=SettledBy.metric,
            )
        found = await metric.measure(case, evidence, params=self.validate(ref), ctx=ctx)
        if isinstance(found, EvaluationResult):
            return found
        if isinstance(found, Missing):
            return EvaluationResult.inconclusive(
                found.reason,
                evaluator=metric.id,
                evaluator_version=str(metric.version),
                settled_by=metric.settles_as,
            )
        return EvaluationResult.scored(
            found.value,
            metric.threshold,
            found.reason,
            evaluator=metric.id,
            evaluator_version=str(metric.version),
            settled_by=metric.settles_as,
        )
