"""What a lane group needs to know before its first attempt, read once in its database thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.evaluation import CriterionContext, EvalCase, Judge, JudgeError, Ruler
from experiments.evaluation.ports import GradeRequest, JudgeReply, JudgeRequest, JudgeResult
from experiments.execution.recording import Place
from experiments.hooks import load_hooks
from experiments.judge.opening import open_judge
from experiments.mapping import case_of, corpus_of, ruler_of
from experiments.models import CaseVersion, CorpusVersion, Grading, Run
from experiments.targets.base import Target
from experiments.targets.opening import open_target
from experiments.wire.judge import JudgeConfig, judge_config
from experiments.wire.target import target_config

if TYPE_CHECKING:
    # The SDK takes a second to import, and a worker that never judges never needs it.
    from experiments.judge.client import AnthropicJudge

CASES_KEPT = 4096


@dataclass(frozen=True)
class Setting:
    """A run as its lane groups need it. `services` holds no judge: a judge belongs to one event loop."""

    place: Place
    token: str
    ruler: Ruler
    services: CriterionContext
    open_target: Callable[[], Target]
    judge: JudgeConfig | None


def read_setting(run_id: int) -> Setting:
    """The run with its current grading. Raises what makes it impossible to run (ValueError, HooksError)."""
    run = Run.objects.get(pk=run_id)
    grading = Grading.objects.select_related("suite_version", "rubric_version__rubric", "corpus_version").get(
        run=run, is_current=True
    )
    config = target_config(run.target_config)
    return Setting(
        place=Place(run.pk, grading.pk, run.attempt_seconds),
        token=run.token.hex,
        ruler=ruler_of(grading),
        services=services_for(grading.corpus_version),
        open_target=lambda: open_target(config),
        judge=judge_config(grading.judge_config) if grading.judge_config else None,
    )


def services_for(version: CorpusVersion | None) -> CriterionContext:
    """What criteria get beside a judge: this process's services, and the corpus version where one is
    named."""
    services, corpus = load_hooks().services, corpus_of(version)
    return services if corpus is None else replace(services, corpus=corpus)


class UnavailableJudge:
    """Stands in for a judge that cannot be opened (its key is missing): every question is a `JudgeError`."""

    def __init__(self, config: JudgeConfig, error: JudgeError) -> None:
        self.model = config.model
        self._error = error

    async def grade(self, request: GradeRequest) -> JudgeReply:  # noqa: ARG002 - the protocol's
        raise JudgeError(self._error.detail, permanent=True)

    async def label(self, request: JudgeRequest) -> JudgeResult:  # noqa: ARG002 - the protocol's
        raise JudgeError(self._error.detail, permanent=True)

    async def aclose(self) -> None:
        """Nothing was opened."""


def open_group_judge(config: JudgeConfig | None) -> AnthropicJudge | UnavailableJudge | None:
    """The group's judge, to be used and closed in its loop; None when the run has none."""
    if config is None:
        return None
    try:
        return open_judge(config)
    except JudgeError as error:
        return UnavailableJudge(config, error)


def as_port(judge: AnthropicJudge | UnavailableJudge | None) -> Judge | None:
    """The judge as evaluators see it."""
    return judge


class Cases:
    """The cases of case versions, read when first asked for; at most `CASES_KEPT` are kept, so that memory
    does not grow with the run. For one database thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, EvalCase] = OrderedDict()

    def load(self, version_ids: Iterable[int]) -> None:
        """Read those that are not kept yet in one query."""
        missing = {version_id for version_id in version_ids if version_id not in self._kept}
        if missing:
            for version in CaseVersion.objects.only("content").filter(pk__in=missing):
                self._kept[version.pk] = case_of(version)
            while len(self._kept) > max(CASES_KEPT, len(missing)):
                self._kept.popitem(last=False)

    def __call__(self, version_id: int) -> EvalCase:
        """The case of a version."""
        if version_id not in self._kept:
            self.load([version_id])
        self._kept.move_to_end(version_id)
        return self._kept[version_id]
