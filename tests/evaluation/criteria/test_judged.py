"""Nuggets and labels."""

from typing import Any

import pytest

from experiments.evaluation.case import EvalCase, Nugget
from experiments.evaluation.evidence import Evidence, Turn
from experiments.evaluation.outcome import CriterionStatus
from experiments.evaluation.ports import CriterionContext
from tests.evaluation.criteria.helpers import LabellingJudge, replied, verdict

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR
NOT_APPLICABLE = CriterionStatus.NOT_APPLICABLE


def with_nuggets(*texts: str, okay: tuple[str, ...] = ()) -> EvalCase:
    nuggets = [Nugget(text=text) for text in texts] + [Nugget(text=text, vital=False) for text in okay]
    return EvalCase(id="c", turn="?", nuggets=tuple(nuggets))


@pytest.mark.parametrize(
    ("labels", "least", "share", "status"),
    [
        (("found", "found"), 1.0, 1.0, PASS),
        (("found", "partial"), 1.0, 0.75, FAIL),
        (("found", "partial"), 0.75, 0.75, PASS),
        (("partial", "partial"), 0.5, 0.5, PASS),
        (("found", "missing"), 0.51, 0.5, FAIL),
        (("missing", "missing"), 0.0, 0.0, PASS),
    ],
)
def test_coverage_counts_a_partial_nugget_for_half(
    labels: tuple[str, ...], least: float, share: float, status: CriterionStatus
) -> None:
    judge = LabellingJudge(*labels)
    found = verdict(
        "nuggets.coverage",
        replied("r"),
        {"min": least},
        on=with_nuggets("one", "two", okay=("three",)),
        ctx=CriterionContext(judge=judge),
    )
    assert (found.status, found.data["coverage"]) == (status, share)
    assert [nugget["label"] for nugget in found.data["nuggets"]] == list(labels)
    assert len(judge.asked) == 2
    assert "one" in judge.asked[0].transcript


def test_coverage_names_the_first_nugget_that_is_not_all_there() -> None:
    ctx = CriterionContext(judge=LabellingJudge("found", "missing"))
    found = verdict("nuggets.coverage", replied("r"), on=with_nuggets("one", "two"), ctx=ctx)
    assert found.detail == "1 of 2 vital nuggets found, 0 partly; not all of “two”"


def test_without_vital_nuggets_nothing_is_asked_and_one_failed_call_is_an_error() -> None:
    assert verdict("nuggets.coverage", replied(None)).status is NOT_APPLICABLE
    assert verdict("nuggets.coverage", replied("r"), on=with_nuggets(okay=("x",))).status is NOT_APPLICABLE
    assert verdict("nuggets.coverage", replied("r"), on=with_nuggets("x")).detail == "no judge configured"
    assert verdict("nuggets.coverage", replied(None), on=with_nuggets("x")).detail == "missing final reply"
    ctx = CriterionContext(judge=LabellingJudge("found", "perhaps"))
    assert verdict("nuggets.coverage", replied("r"), on=with_nuggets("x", "y"), ctx=ctx).status is ERROR


TONE = {
    "rubric": "Is it polite?",
    "labels": ["polite", "neutral", "rude"],
    "pass_labels": ["polite", "neutral"],
}


@pytest.mark.parametrize(
    ("label", "status"), [("polite", PASS), ("neutral", PASS), ("rude", FAIL), ("POLITE", ERROR), ("", ERROR)]
)
def test_a_rubric_passes_on_its_pass_labels(label: str, status: CriterionStatus) -> None:
    judge = LabellingJudge(label, reason="why not")
    evidence = Evidence(turns=(Turn(prompt="first", reply=None), Turn(prompt="second", reply="r")))
    found = verdict("rubric.judge", evidence, TONE, ctx=CriterionContext(judge=judge))
    assert found.status is status
    (request,) = judge.asked
    assert request.instruction == "Is it polite?"
    assert request.allowed_labels == ("polite", "neutral", "rude")
    assert "first" in request.transcript
    assert "(no reply)" in request.transcript


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": []},
        {"pass_labels": []},
        {"pass_labels": ["friendly"]},
        {"pass_labels": ["polite", "friendly"]},
        {"labels": ["polite", "polite"], "pass_labels": ["polite"]},
        {"rubric": " "},
        {"labels": ["polite", ""], "pass_labels": ["polite"]},
        {"label": "x"},
    ],
)
def test_labels_that_cannot_be_used_are_refused(changed: dict[str, Any]) -> None:
    found = verdict("rubric.judge", replied("r"), {**TONE, **changed})
    assert found.status is ERROR
    assert "refused" in found.detail


def test_a_rubric_needs_a_reply_and_a_judge() -> None:
    assert verdict("rubric.judge", replied(None), TONE).detail == "missing final reply"
    assert verdict("rubric.judge", replied("r"), TONE).detail == "no judge configured"
