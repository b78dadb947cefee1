"""Which services a plan counts on: the language detector always, the others where they are configured."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from experiments.evaluation.ports import CorpusUnit
from experiments.execution.setting import services_for
from experiments.hooks import load_hooks
from experiments.services.plans import plan_run
from experiments.wire.corpus import MemoryCorpus
from tests.factories import make_case, make_experiment, make_suite

pytestmark = pytest.mark.django_db

CRITERIA = [
    {"kind": "reply.language", "params": {"language": "nl"}},
    {"kind": "citations.mentions_in_corpus", "params": {}},
    {"kind": "behaviour.expected", "params": {}},
]


@pytest.fixture
def hooks(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty hooks module that the settings name."""
    module = ModuleType("services_hooks")
    monkeypatch.setitem(sys.modules, "services_hooks", module)
    settings.EVALSITE_HOOKS = "services_hooks"
    load_hooks.cache_clear()
    yield module
    load_hooks.cache_clear()


def missing() -> set[str]:
    experiment = make_experiment(suite=make_suite(criteria=CRITERIA))
    make_case(experiment.suite, "a")
    refusals = plan_run(experiment).refusals
    return {
        refusal.where + " " + refusal.sentence.split()[1]
        for refusal in refusals
        if refusal.code == "missing_service"
    }


def test_the_language_detector_is_always_there(hooks: Any) -> None:
    assert missing() == {"criteria[1] corpus", "criteria[2] judge"}
    assert services_for(None).detector is load_hooks().detector


def test_a_corpus_and_detectors_of_the_hooks_module_count_and_reach_every_run(hooks: Any) -> None:
    hooks.CORPUS = MemoryCorpus([CorpusUnit(id="law")])
    assert missing() == {"criteria[2] judge"}
    assert services_for(None).corpus is hooks.CORPUS
