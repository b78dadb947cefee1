"""A case against its variants."""

from collections.abc import Mapping

import pytest

from experiments.evaluation.case import EvalCase
from experiments.evaluation.criteria.corpora import article_of
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import CriterionStatus, Verdict
from experiments.evaluation.ports import CriterionContext
from tests.evaluation.criteria.helpers import LabellingJudge, replied, verdict

PASS, FAIL, ERROR = CriterionStatus.PASS, CriterionStatus.FAIL, CriterionStatus.ERROR
NOT_APPLICABLE = CriterionStatus.NOT_APPLICABLE
KINDS = ["compare.equivalent", "compare.same_citations"]


def compared(
    kind: str,
    variants: Mapping[str, Evidence | None],
    *,
    base: Evidence | None = None,
    on: EvalCase | None = None,
    judge: LabellingJudge | None = None,
) -> Verdict:
    ctx = CriterionContext(judge=judge, variants=variants)
    return verdict(kind, base or replied("base", ["gdpr/art:17/par:1"]), on=on, ctx=ctx)


@pytest.mark.parametrize(
    ("labels", "status"),
    [
        (("equivalent", "equivalent"), PASS),
        (("equivalent", "different"), FAIL),
        (("equivalent", "odd"), ERROR),
    ],
)
def test_every_variant_must_be_equivalent(labels: tuple[str, ...], status: CriterionStatus) -> None:
    judge = LabellingJudge(*labels)
    found = compared("compare.equivalent", {"v1": replied("one"), "v2": replied("two")}, judge=judge)
    assert found.status is status
    assert ["base" in request.transcript for request in judge.asked] == [True, True]
    assert ["one", "two"][1] in judge.asked[1].transcript
    if status is FAIL:
        assert found.data == {"labels": {"v1": "equivalent", "v2": "different"}}
        assert found.detail == "1 of 2 variants answered equivalently; differently: v2"


@pytest.mark.parametrize(
    ("cited", "status"),
    [
        (["gdpr/art:17"], PASS),
        (["gdpr/art:17/par:3/pt:a", "gdpr/art:17/par:1"], PASS),
        ([], FAIL),
        (["gdpr/art:1"], FAIL),
        (["gdpr/art:17", "gdpr/art:6"], FAIL),
    ],
)
def test_variants_must_cite_the_same_articles(cited: list[str], status: CriterionStatus) -> None:
    found = compared("compare.same_citations", {"v": replied("r", cited)})
    assert found.status is status


def test_what_only_one_side_cites_is_named() -> None:
    found = compared("compare.same_citations", {"v": replied("r", ["gdpr/art:6", "gdpr/art:5"])})
    assert found.data == {
        "differing": {"v": {"only_base": ["gdpr/art:17"], "only_variant": ["gdpr/art:5", "gdpr/art:6"]}}
    }


@pytest.mark.parametrize(
    ("source", "article"),
    [
        ("gdpr/art:17/par:1/pt:a", "gdpr/art:17"),
        ("bw/boek:6/artikel:162/lid:2", "bw/boek:6/artikel:162"),
        ("handbook/sec:3/item:2", "handbook/sec:3"),
        ("gdpr", "gdpr"),
        ("", ""),
    ],
)
def test_an_id_is_cut_at_its_article(source: str, article: str) -> None:
    assert article_of(source) == article


@pytest.mark.parametrize("kind", KINDS)
def test_a_variant_and_a_case_without_variants_are_not_compared(kind: str) -> None:
    variant = EvalCase(id="v", turn="?", variant_of="c")
    assert compared(kind, {"c": replied("r")}, on=variant).status is NOT_APPLICABLE
    assert compared(kind, {}).status is NOT_APPLICABLE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lacking", [None, replied(None), Evidence()])
def test_a_side_without_a_reply_is_an_error_and_no_judge_is_asked(
    kind: str, lacking: Evidence | None
) -> None:
    judge = LabellingJudge("different")
    found = compared(kind, {"v1": replied("r"), "v2": lacking}, judge=judge)
    assert (found.status, judge.asked) == (ERROR, [])
    assert "v2" in found.detail
    assert compared(kind, {"v1": replied("r")}, base=replied(None)).detail == "missing final reply"


def test_without_a_judge_equivalence_is_an_error() -> None:
    assert compared("compare.equivalent", {"v": replied("r")}).detail == "no judge configured"
