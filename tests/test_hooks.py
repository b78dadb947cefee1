"""A team's hooks module."""

import sys
from types import ModuleType
from typing import Any

import pytest

from experiments.detect.languages import LinguaDetector
from experiments.evaluation.criteria import Builtin, NoParams, outcome
from experiments.evaluation.metrics import Metric, Score
from experiments.evaluation.ports import CorpusUnit
from experiments.hooks import HooksError, read_hooks
from experiments.wire.corpus import MemoryCorpus


async def fine(*_args: Any, **_named: Any) -> Any:
    return outcome(passed=True)


async def half(*_args: Any, **_named: Any) -> Score:
    return Score(0.5, "half")


KIND = Builtin("custom.fine", NoParams, fine)
METRIC = Metric(id="half", version=1, threshold=0.5, measure=half)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("team_hooks")
    monkeypatch.setitem(sys.modules, "team_hooks", made)
    return made


def test_without_a_module_there_are_the_built_in_kinds_alone() -> None:
    hooks = read_hooks("")
    assert "reply.contains" in hooks.criteria
    assert "custom.fine" not in hooks.criteria


def test_a_module_adds_its_kinds_and_metrics(module: Any) -> None:
    module.CRITERIA, module.METRICS = [KIND], [METRIC]
    hooks = read_hooks("team_hooks")
    assert "custom.fine" in hooks.criteria
    assert METRIC in list(hooks.metrics)
    assert "reply.contains" in hooks.criteria


def test_a_module_may_hold_neither_list(module: Any) -> None:
    assert len(read_hooks("team_hooks").criteria) == len(read_hooks("").criteria)


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ({"CRITERIA": [KIND, KIND]}, r"team_hooks\.CRITERIA: .*custom\.fine"),
        ({"CRITERIA": [Builtin("reply.contains", NoParams, fine)]}, r"reply\.contains"),
        ({"CRITERIA": [len]}, r"team_hooks\.CRITERIA: .*no criterion kind"),
        ({"CRITERIA": KIND}, "must be a list"),
        ({"METRICS": [METRIC, METRIC]}, r"team_hooks\.METRICS: .*half"),
    ],
)
def test_what_cannot_be_added_is_refused_by_name(module: Any, lists: dict[str, Any], reason: str) -> None:
    vars(module).update(lists)
    with pytest.raises(HooksError, match=reason):
        read_hooks("team_hooks")


def test_a_module_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(HooksError, match="EVALSITE_HOOKS=no_such_module"):
        read_hooks("no_such_module")


class Detector:
    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    def detect(self, text: str) -> str | None:
        return "nl"


def test_lingua_is_the_language_detector_unless_the_module_names_another(module: Any) -> None:
    assert isinstance(read_hooks("").detector, LinguaDetector)
    module.LANGUAGE_DETECTOR = mine = Detector()
    assert read_hooks("team_hooks").services.detector is mine


def test_a_service_is_made_once_and_only_when_it_is_needed(module: Any) -> None:
    Detector.made = 0
    module.REFUSAL_DETECTOR, module.LANGUAGE_DETECTOR = Detector, lambda: Detector()
    hooks = read_hooks("team_hooks")
    assert Detector.made == 0
    assert hooks.refusal_detector is hooks.services.refusal_detector
    assert hooks.detector is not None
    assert Detector.made == 2


def test_a_corpus_of_the_module_is_that_of_experiments_that_name_none(module: Any) -> None:
    assert read_hooks("").services.corpus is None
    module.CORPUS = MemoryCorpus([CorpusUnit(id="a")])
    corpus = read_hooks("team_hooks").corpus
    assert corpus is not None
    assert "a" in corpus


@pytest.mark.parametrize(
    ("name", "thing", "reason"),
    [
        ("LANGUAGE_DETECTOR", "lingua", r"team_hooks\.LANGUAGE_DETECTOR: str has no detect"),
        ("CORPUS", {"a": "text"}, r"team_hooks\.CORPUS: dict has no unit"),
        ("REFUSAL_DETECTOR", lambda: None, "REFUSAL_DETECTOR: NoneType has no detect"),
        ("CORPUS", lambda: 1 / 0, "CORPUS: cannot be made .ZeroDivisionError"),
    ],
)
def test_a_service_without_the_methods_of_its_port_is_refused_by_name(
    module: Any, name: str, thing: Any, reason: str
) -> None:
    setattr(module, name, thing)
    with pytest.raises(HooksError, match=reason):
        _ = read_hooks("team_hooks").services
