"""Citations against the sources of a case and the corpus."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation.criteria.matching import Match, matches
from experiments.evaluation.outcome import CriterionStatus
from experiments.evaluation.ports import CriterionContext
from tests.evaluation.criteria.helpers import FakeCorpus, case, replied, verdict

GOLDEN: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "citations.json").read_text(encoding="utf-8")
)
PASS, FAIL = CriterionStatus.PASS, CriterionStatus.FAIL
SEGMENT = st.sampled_from(["art:1", "art:17", "par:1", "par:10", "gdpr", "", "6:1", "6:162"])
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(("source", "cited", "expected"), GOLDEN["hierarchical"])
def test_a_citation_at_or_below_a_source_matches_it_segment_by_segment(
    source: str, cited: str, expected: bool
) -> None:
    assert matches(source, cited, "hierarchical") is expected


@pytest.mark.parametrize(("source", "cited", "expected"), GOLDEN["exact"])
def test_an_exact_match_wants_the_same_id(source: str, cited: str, expected: bool) -> None:
    assert matches(source, cited, "exact") is expected


@given(PATH, PATH)
def test_two_ids_match_both_ways_only_when_they_are_the_same(one: str, other: str) -> None:
    both = matches(one, other, "hierarchical") and matches(other, one, "hierarchical")
    assert both is (one == other)


@given(PATH, PATH)
def test_whatever_is_put_below_a_source_matches_it(source: str, below: str) -> None:
    assert matches(source, f"{source}/{below}", "hierarchical")
    assert not matches(f"{source}/{below}", source, "hierarchical")


@pytest.mark.parametrize("row", GOLDEN["required"])
def test_required_gives_the_share_of_groups_covered(row: dict[str, Any]) -> None:
    found = verdict(
        "citations.required",
        replied("r", row["cited"]),
        {"match": row["match"]},
        on=case(required=row["groups"]),
    )
    assert found.data["share"] == row["share"]
    assert found.status is (PASS if row["share"] == 1.0 else FAIL)
    assert len(found.data["uncovered"]) == round((1 - row["share"]) * len(row["groups"]))


@pytest.mark.parametrize(("least", "status"), [(0.5, PASS), (0.51, FAIL), (0.0, PASS)])
def test_required_passes_at_its_least_share_inclusive(least: float, status: CriterionStatus) -> None:
    found = verdict(
        "citations.required", replied("r", ["a"]), {"min": least}, on=case(required=[["a"], ["b", "c"]])
    )
    assert found.status is status
    assert found.data == {"share": 0.5, "uncovered": [["b", "c"]]}
    assert "b or c" in found.detail


def test_a_third_of_the_groups_reaches_a_third_despite_rounding() -> None:
    groups = [["a"], ["b"], ["c"]]
    found = verdict("citations.required", replied("r", ["a"]), {"min": 1 / 3}, on=case(required=groups))
    assert found.status is PASS


@pytest.mark.parametrize(
    ("cited", "match", "status"),
    [
        ("gdpr/art:99", "hierarchical", FAIL),
        ("gdpr/art:99/par:1", "hierarchical", FAIL),
        ("gdpr/art:99/par:1", "exact", PASS),
        ("gdpr", "hierarchical", PASS),
        ("gdpr/art:9", "hierarchical", PASS),
    ],
)
def test_forbidden_fails_at_or_below_the_source_and_never_at_its_parent(
    cited: str, match: Match, status: CriterionStatus
) -> None:
    found = verdict(
        "citations.forbidden",
        replied("r", [cited]),
        {"match": match},
        on=case(forbidden=["gdpr/art:99"]),
    )
    assert found.status is status
    assert found.data == {"forbidden": [cited] if status is FAIL else []}


@pytest.mark.parametrize("kind", ["citations.required", "citations.forbidden"])
def test_a_case_without_such_sources_is_not_applicable(kind: str) -> None:
    assert verdict(kind, replied("r", ["a"])).status is CriterionStatus.NOT_APPLICABLE


@pytest.mark.parametrize("row", GOLDEN["unseen"])
def test_unseen_lists_what_has_no_role_in_the_order_first_cited(row: dict[str, Any]) -> None:
    roles = {role: row[role] for role in ("required", "acceptable", "forbidden")}
    found = verdict("citations.unseen", replied("r", row["cited"]), {"match": row["match"]}, on=case(**roles))
    assert found.status is PASS
    assert found.data == {"unseen": row["unseen"]}


def test_unseen_weighs_nothing_unless_the_suite_says_so() -> None:
    found = verdict("citations.unseen", replied("r", ["z", "a", "z"]))
    assert found.weight == 0.0
    assert found.data == {"unseen": ["z", "a"]}


@pytest.mark.parametrize(
    ("cited", "known", "status"),
    [
        (["a", "b"], ["a", "b"], PASS),
        (["a", "z"], ["a"], FAIL),
        (["a/par:9"], ["a"], FAIL),
        ([], ["a"], CriterionStatus.NOT_APPLICABLE),
    ],
)
def test_in_corpus_wants_every_cited_id_to_be_a_unit(
    cited: list[str], known: list[str], status: CriterionStatus
) -> None:
    ctx = CriterionContext(corpus=FakeCorpus(*known))
    found = verdict("citations.in_corpus", replied("r", cited), ctx=ctx)
    assert found.status is status
    if status is FAIL:
        assert found.data == {"unknown": [one for one in cited if one not in known]}


def test_without_a_corpus_in_corpus_is_an_error_only_where_something_is_cited() -> None:
    assert verdict("citations.in_corpus", replied("r", ["a"])).status is CriterionStatus.ERROR
    assert verdict("citations.in_corpus", replied("r")).status is CriterionStatus.NOT_APPLICABLE


def test_an_empty_corpus_is_a_corpus() -> None:
    ctx = CriterionContext(corpus=FakeCorpus())
    assert verdict("citations.in_corpus", replied("r", ["a"]), ctx=ctx).status is FAIL
