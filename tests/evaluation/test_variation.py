"""A VARIED case explained: distinct replies, what flipped, where two attempts part, and the source."""

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    AttemptMark,
    AttemptResult,
    Cause,
    Citation,
    CriterionStatus,
    EvaluationResult,
    Evidence,
    Failure,
    JudgeUse,
    Passage,
    SettledBy,
    SettleMode,
    Source,
    Stage,
    ToolCall,
    Turn,
    Variation,
    Verdict,
    combine_both,
    settle_criteria,
    variation_of,
)
from experiments.evaluation.criteria import builtin_registry
from experiments.evaluation.parting import split_of
from tests.evaluation.builders import ScriptedCriteria, ScriptedJudge, case, rubric, ruler, said, settle
from tests.evaluation.strategies import EVIDENCE, HOSTILE

JUDGE, NODE = SettledBy.judge, SettledBy.spec_node
PASS, FAIL, ERROR, NA = (
    CriterionStatus.PASS,
    CriterionStatus.FAIL,
    CriterionStatus.ERROR,
    CriterionStatus.NOT_APPLICABLE,
)


def called(passed: bool, by: SettledBy = JUDGE, **fields: Any) -> EvaluationResult:
    """A verdict of the case's expectation."""
    build = EvaluationResult.passed if passed else EvaluationResult.failed
    return build("", evaluator="case-judge" if by is JUDGE else by.value, settled_by=by, **fields)


def cited(*ids: str) -> tuple[Citation, ...]:
    """Citations of these ids."""
    return tuple(Citation(id=one) for one in ids)


def attempt(
    number: int, passed: bool | EvaluationResult, evidence: Evidence | str | None, by: SettledBy = NODE
) -> AttemptResult:
    """A settled attempt, by default one that no judge graded."""
    shown = said(evidence) if isinstance(evidence, str) else evidence
    return AttemptResult(
        number, shown, passed if isinstance(passed, EvaluationResult) else called(passed, by)
    )


def by_criteria(
    number: int, reply: str, *verdicts: tuple[str, CriterionStatus], **weights: float
) -> AttemptResult:
    """An attempt settled by criteria; `weights` by kind with dots as underscores."""
    found = [
        Verdict(status=status, kind=kind, weight=weights.get(kind.replace(".", "_"), 1.0))
        for kind, status in verdicts
    ]
    return AttemptResult(number, said(reply), settle_criteria(found))


def vary(*attempts: AttemptResult, **more: Any) -> Variation:
    """The variation of these attempts; the scripted kind "asks" asks a judge."""
    return variation_of(attempts, ScriptedCriteria(), **more)


def source(*attempts: AttemptResult, **more: Any) -> Source:
    """Where the difference comes from."""
    diagnosis = vary(*attempts, **more).diagnosis
    assert diagnosis is not None
    return diagnosis.source


def sentence(*attempts: AttemptResult, **more: Any) -> str:
    """The evidence for the source."""
    diagnosis = vary(*attempts, **more).diagnosis
    assert diagnosis is not None
    return diagnosis.sentence


def stage(a: Evidence, b: Evidence) -> tuple[int, Stage, str]:
    """Where a passing attempt 1 and a failing attempt 2 part."""
    split = vary(attempt(1, True, a), attempt(2, False, b)).split
    assert split is not None
    return split.turn, split.stage, split.sentence


# -- distinct replies ---------------------------------------------------------------------------------------


def test_replies_are_the_same_whitespace_aside_and_name_their_attempts() -> None:
    found = vary(
        attempt(4, False, "No."),
        attempt(1, True, "Yes,  you\ncan. "),
        attempt(3, True, "Yes, you can."),
        attempt(2, False, "no."),
        AttemptResult(5, None, None, Failure(cause=Cause.NO_REPLY)),
    )
    assert [(group.attempts, group.passed, group.failed) for group in found.replies] == [
        ((1, 3), (1, 3), ()),
        ((2,), (), (2,)),
        ((4,), (), (4,)),
    ]
    assert found.reply_counts == "3 distinct replies: ×2, ×1, ×1"
    assert found.replies[0].preview == "Yes, you can."
    assert found.attempts == (1, 2, 3, 4, 5)


def test_a_long_reply_is_previewed_and_counted_whole() -> None:
    (group,) = vary(attempt(1, True, "word " * 1_000)).replies
    assert (len(group.preview), group.length) == (300, 4_999)
    assert vary(attempt(1, True, "x"), attempt(2, True, "x")).reply_counts == "1 distinct reply: ×2"
    assert vary(AttemptResult(1, None, None, Failure(cause=Cause.NO_REPLY))).reply_counts == "no replies"


def test_many_distinct_replies_are_counted_and_the_first_shown() -> None:
    counts = vary(*[attempt(n, True, f"reply {n}") for n in range(1, 13)]).reply_counts
    assert counts == "12 distinct replies: ×1, ×1, ×1, ×1, ×1, ×1, ×1, ×1 and 4 more"


# -- what flipped -------------------------------------------------------------------------------------------


def test_the_grid_puts_the_flipping_criterion_on_top() -> None:
    found = vary(
        by_criteria(1, "a", ("reply.language", PASS), ("info", FAIL), ("citations.required", PASS), info=0),
        by_criteria(2, "b", ("reply.language", PASS), ("info", PASS), ("citations.required", FAIL), info=0),
        AttemptResult(3, None, None, Failure(cause=Cause.SETUP_FAILED)),
    )
    assert [(row.kind, row.position, row.flips, row.statuses) for row in found.grid] == [
        ("citations.required", 2, True, (PASS, FAIL, None)),
        ("info", 1, True, (FAIL, PASS, None)),
        ("reply.language", 0, False, (PASS, PASS, None)),
    ]
    assert [(flip.name, flip.is_criterion, flip.passed, flip.failed) for flip in found.flips] == [
        ("citations.required", True, (1,), (2,)),
        ("info", True, (2,), (1,)),
    ]


def test_two_criteria_of_one_kind_keep_their_own_rows() -> None:
    found = vary(
        by_criteria(1, "a", ("reply.contains", PASS), ("reply.contains", PASS)),
        by_criteria(2, "b", ("reply.contains", PASS), ("reply.contains", FAIL)),
    )
    assert [(row.position, row.flips) for row in found.grid] == [(1, True), (0, False)]


def test_where_no_criterion_gave_both_results_the_one_that_failed_sometimes_is_named() -> None:
    found = vary(by_criteria(1, "a", ("x", NA), ("y", PASS)), by_criteria(2, "b", ("x", FAIL), ("y", PASS)))
    assert [(flip.name, flip.passed, flip.failed) for flip in found.flips] == [("x", (), (2,))]
    assert not any(row.flips for row in found.grid)


def test_the_evaluator_of_the_expectation_flips_by_name() -> None:
    found = vary(attempt(1, True, "a", JUDGE), attempt(2, False, "b", JUDGE), attempt(3, True, "a", JUDGE))
    assert [(flip.name, flip.is_criterion, flip.passed, flip.failed) for flip in found.flips] == [
        ("case-judge", False, (1, 3), (2,))
    ]
    assert found.grid == ()


def test_under_both_it_is_told_which_part_flipped() -> None:
    def both(number: int, expectation: bool, criterion: CriterionStatus) -> AttemptResult:
        criteria = settle_criteria([Verdict(status=criterion, kind="k")])
        return attempt(number, combine_both(called(expectation), criteria), f"reply {number}")

    assert [flip.name for flip in vary(both(1, True, PASS), both(2, True, FAIL)).flips] == ["k"]
    assert [flip.name for flip in vary(both(1, True, PASS), both(2, False, PASS)).flips] == ["case-judge"]
    found = vary(both(1, True, PASS), both(2, False, FAIL))
    assert [flip.name for flip in found.flips] == ["case-judge", "k"]


# -- where two attempts part --------------------------------------------------------------------------------


def test_the_pair_to_show_has_the_nearest_replies() -> None:
    found = vary(
        attempt(1, True, "entirely different words here"),
        attempt(2, True, "you can return it within 30 days of delivery"),
        attempt(3, False, "you can return it within the usual period"),
        attempt(4, False, "I do not know"),
    )
    assert found.pair == (2, 3)
    assert found.split is not None
    assert (found.split.passing, found.split.failing) == (2, 3)
    assert found.split.sentence == (
        "The replies differ from word 6: “30 days of delivery” in attempt 2, “the usual period” in attempt 3."
    )


def test_among_equal_replies_the_pair_most_alike_is_shown() -> None:
    found = vary(
        attempt(1, True, said("a", citations=cited("x"))),
        attempt(2, False, said("a", citations=cited("y"))),
        attempt(3, True, said("a", citations=cited("y"))),
    )
    assert found.pair == (3, 2)


def test_without_a_pass_and_a_fail_there_is_nothing_to_part() -> None:
    for same in (True, False):
        found = vary(attempt(1, same, "a"), attempt(2, same, "b"))
        assert (found.pair, found.split, found.diagnosis) == (None, None, None)
    assert vary().attempts == ()


def test_tool_calls_come_before_context_and_context_before_the_reply() -> None:
    calls = [ToolCall(name="search", arguments={"q": "refund"}, result=[1])]
    a = said("yes", tools_called=calls, context=[Passage(id="p1")])
    assert stage(a, said("no", tools_called=[], context=[]))[:2] == (1, Stage.tool_call)
    assert stage(a, said("no", tools_called=calls, context=[]))[:2] == (1, Stage.retrieved_context)
    assert stage(a, said("no", tools_called=calls, context=[Passage(id="p1")]))[:2] == (1, Stage.reply_text)
    assert stage(a, a) == (1, Stage.verdict, "Everything recorded is the same up to the verdict.")


@pytest.mark.parametrize(
    ("here", "there", "says"),
    [
        ([], [ToolCall(name="x")], "attempt 2 calls x, attempt 1 makes no such call."),
        ([ToolCall(name="x")], [], "attempt 1 calls x, attempt 2 makes no such call."),
        ([ToolCall(name="x")], [ToolCall(name="y")], "attempt 1 calls x, attempt 2 calls y."),
        (
            [ToolCall(name="x", arguments={"n": 1})],
            [ToolCall(name="x", arguments={"n": True})],
            "x is called with other arguments.",
        ),
        ([ToolCall(name="x", failed=True)], [ToolCall(name="x")], "x failed in attempt 1 only."),
        ([ToolCall(name="x", result=1)], [ToolCall(name="x", result=2)], "x gave another result."),
    ],
)
def test_the_first_tool_call_that_differs_is_said(
    here: list[ToolCall], there: list[ToolCall], says: str
) -> None:
    same = [ToolCall(name="first")]
    found = stage(said(tools_called=same + here), said(tools_called=same + there))
    assert found == (1, Stage.tool_call, f"Tool call 2: {says}")


@pytest.mark.parametrize(
    ("here", "there", "says"),
    [
        (["a", "b"], ["a"], "Attempt 1 retrieved b, attempt 2 did not."),
        (["a"], ["c", "a"], "Attempt 2 retrieved c, attempt 1 did not."),
        (["a", "b"], ["a", "c"], "Attempt 1 retrieved b, attempt 2 retrieved c instead."),
        (["a", "b"], ["b", "a"], "The same passages in another order."),
    ],
)
def test_what_was_retrieved_on_one_side_only_is_named(here: list[str], there: list[str], says: str) -> None:
    a, b = (said(context=[Passage(id=one) for one in side]) for side in (here, there))
    assert stage(a, b) == (1, Stage.retrieved_context, says)


def test_passages_with_another_text_are_another_context() -> None:
    a, b = (said(context=[Passage(id="a", text=text)]) for text in "xy")
    assert stage(a, b)[2] == "The same passages with other text."


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (said("x y"), said("x"), "The replies differ from word 2: “y” in attempt 1, the end in attempt 2."),
        (
            said("x [1]", citations=cited("p")),
            said("x"),
            (
                "The replies differ from word 2: “[1]” in attempt 1, the end in attempt 2; attempt 1 "
                "cites p, attempt 2 does not."
            ),
        ),
        (
            said("x", citations=cited("p", "q", "r", "s", "t")),
            said("x", citations=cited("t", "t")),
            "The same text, other citations: attempt 1 cites p, q, r and 1 more, attempt 2 does not.",
        ),
        (
            said("x", citations=[Citation(id="p", quote="a")]),
            said("x", citations=[Citation(id="p", quote="b")]),
            "The same text and sources, other quotes.",
        ),
        (
            said("x"),
            said("x", node="B"),
            "The same text, another spec node: none in attempt 1, “B” in attempt 2.",
        ),
        (
            said("x", refusal_code="no_advice"),
            said("x"),
            "The same text, another refusal code: “no_advice” in attempt 1, none in attempt 2.",
        ),
        (said("x", end_state={"n": 1}), said("x"), "The same text, another end state."),
        (
            said("x"),
            said("x", failure="slow"),
            "The same text, another recorded failure: none in attempt 1, “slow” in attempt 2.",
        ),
    ],
)
def test_a_reply_differs_by_words_citations_or_what_is_reported_beside_it(
    a: Evidence, b: Evidence, says: str
) -> None:
    assert stage(a, b) == (1, Stage.reply_text, says)


def test_citations_in_another_order_are_the_same() -> None:
    a, b = said("x", citations=cited("p", "q")), said("x", citations=cited("q", "p", "q"))
    assert stage(a, b)[1] is Stage.verdict


def test_an_earlier_turn_parts_first() -> None:
    def walked(*replies: str) -> Evidence:
        return Evidence(turns=tuple(Turn(prompt="?", reply=reply) for reply in replies))

    assert stage(walked("hello", "which one?", "done"), walked("hello", "whose one?", "failed")) == (
        2,
        Stage.reply_text,
        "Turn 2 of 3: the replies differ from word 1: “which one?” in attempt 1, “whose one?” in attempt 2.",
    )
    assert stage(walked("hello", "done"), walked("hello", "failed"))[2].startswith("Turn 2 of 2: the replies")
    assert stage(walked("hello", "done"), walked("done"))[:2] == (1, Stage.reply_text)
    assert "attempt 1 has 2 turns, attempt 2 has 1." in stage(walked("a", "done"), walked("done"))[2]
    assert stage(walked("a", "b"), walked("a", "b")) == (
        2,
        Stage.verdict,
        "Everything recorded is the same up to the verdict.",
    )


def test_what_was_not_recorded_on_a_side_is_no_difference() -> None:
    assert stage(said(tools_called=[ToolCall(name="x")], context=[]), said())[1] is Stage.verdict


def test_attempts_whose_evidence_is_gone_are_not_set_side_by_side() -> None:
    found = vary(attempt(1, True, None), attempt(2, False, "x"))
    assert (found.pair, found.split) == (None, None)
    assert found.diagnosis is not None
    assert found.diagnosis.source is Source.not_diagnosed
    assert "no evidence of attempt 1 any more" in found.diagnosis.sentence
    with pytest.raises(ValueError, match="without evidence"):
        split_of(attempt(1, True, None), attempt(2, False, "x"))


# -- the source ---------------------------------------------------------------------------------------------


def test_a_judge_that_gives_one_reply_both_results_is_the_source() -> None:
    attempts = (
        attempt(1, True, "x  y", JUDGE),
        attempt(2, False, "x y", JUDGE),
        attempt(3, True, "x y", JUDGE),
    )
    assert source(*attempts) is Source.judge
    assert sentence(*attempts) == (
        "case-judge gave the same reply both results: passed in attempts 1 and 3, failed in attempt 2."
    )


def test_an_evaluator_that_asks_no_judge_is_never_the_judge() -> None:
    assert source(attempt(1, True, "x"), attempt(2, False, "x")) is Source.not_diagnosed


def test_the_judge_goes_before_infrastructure_and_infrastructure_before_the_system() -> None:
    broken = said("x", failure="HTTP 503", citations=cited("p"))
    assert source(attempt(1, True, "x", JUDGE), attempt(2, False, broken, JUDGE)) is Source.judge
    other = said("y", failure="HTTP 503")
    assert source(attempt(1, True, "x", JUDGE), attempt(2, False, other, JUDGE)) is Source.infrastructure
    assert source(attempt(1, True, "x", JUDGE), attempt(2, False, "y", JUDGE)) is Source.system


def test_a_criterion_that_asks_a_judge_counts_and_one_that_does_not_does_not() -> None:
    def graded(kind: str, **weights: float) -> Source:
        return source(
            by_criteria(1, "x", (kind, PASS), ("plain", PASS), **weights),
            by_criteria(2, "x", (kind, FAIL), ("plain", FAIL), **weights),
        )

    assert graded("asks") is Source.judge
    assert graded("reply.language") is Source.not_diagnosed
    assert graded("asks", asks=0) is Source.not_diagnosed


def test_under_both_the_judges_own_part_is_read() -> None:
    def both(number: int, expectation: bool, criterion: CriterionStatus) -> AttemptResult:
        criteria = settle_criteria([Verdict(status=criterion, kind="plain")])
        return attempt(number, combine_both(called(expectation), criteria), "the same")

    assert source(both(1, True, PASS), both(2, False, PASS)) is Source.judge
    assert source(both(1, True, PASS), both(2, True, FAIL)) is Source.not_diagnosed


def test_a_re_judge_of_one_attempt_shows_a_judge_that_changes_its_mind() -> None:
    attempts = attempt(1, True, "x", JUDGE), attempt(2, False, "y", JUDGE)
    again = [called(True), called(False), called(True), called(True), called(False)]
    assert source(*attempts, rejudged={2: again}) is Source.judge
    assert sentence(*attempts, rejudged={2: again}) == (
        "Judged again by case-judge, the same reply (attempt 2) passed 3 of 6 times."
    )
    steady = sentence(*attempts, rejudged={2: [called(False)] * 5})
    assert steady == (
        "Replies differ: 2 distinct in 2 settled attempts. The judge is steady: asked about a reply again 5 "
        "times, it never changed its result."
    )


def test_a_judge_that_saw_other_citations_is_said_to_have() -> None:
    def shown(number: int, passed: bool, prompt: str) -> AttemptResult:
        use = JudgeUse(calls=1, prompt_hash=prompt)
        return attempt(number, called(passed, judge_use=use), "x")

    assert sentence(shown(1, True, "a"), shown(2, False, "b")).endswith(
        " It was shown other citations or earlier turns with it."
    )
    assert not sentence(shown(1, True, "a"), shown(2, False, "a")).endswith("with it.")


def test_failures_on_one_side_only_are_infrastructure_and_on_both_sides_are_not() -> None:
    slow = said("y", failure="timed out\nafter 30 s")
    attempts = attempt(1, True, "x"), attempt(2, False, slow), attempt(3, False, "z")
    assert source(*attempts) is Source.infrastructure
    assert sentence(*attempts) == (
        "1 of 2 failing attempts recorded a failure or a time-out, no passing one did (attempt 2: “timed out "
        "after 30 s”)."
    )
    assert source(attempt(1, True, slow), attempt(2, False, "x")) is Source.infrastructure
    assert source(attempt(1, True, slow), attempt(2, False, said("x", failure="HTTP 500"))) is Source.system
    blank = said("y", failure="  ")
    assert source(attempt(1, True, "x"), attempt(2, False, blank)) is Source.system


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (said("y"), "Replies differ: 2 distinct in 2 settled attempts."),
        (said("x", citations=cited("p")), "The replies are the same, but their citations differ."),
        (said("x", prompt_tokens=7, completion_tokens=9), "their token usage differs."),
        (said("x", context=[Passage(id="b")]), "their retrieved context differs."),
        (said("x", tools_called=[ToolCall(name="b")]), "their tool calls differ."),
        (said("x", node="B"), "their spec nodes differ."),
        (said("x", refusal_code="b"), "their refusal codes differ."),
        (said("x", end_state={"a": 1}), "their end states differ."),
        (Evidence(turns=(Turn(prompt="?", reply="hi"), *said("x").turns)), "their earlier turns differ."),
    ],
)
def test_anything_the_system_gave_differently_is_the_system(other: Evidence, words: str) -> None:
    plain = said(
        "x",
        prompt_tokens=7,
        completion_tokens=8,
        context=[Passage(id="a")],
        tools_called=[ToolCall(name="a")],
    )
    attempts = attempt(1, True, plain), attempt(2, False, other)
    assert source(*attempts) is Source.system
    assert sentence(*attempts).endswith(words)


def test_durations_alone_and_unrecorded_usage_are_no_diagnosis() -> None:
    attempts = (
        attempt(1, True, said("x", seconds=1.0, prompt_tokens=7, completion_tokens=8)),
        attempt(2, False, said("x", seconds=9.0)),
    )
    assert source(*attempts) is Source.not_diagnosed
    assert sentence(*attempts).startswith("Everything recorded but durations is the same")


def test_a_real_judge_of_the_core_that_wavers_is_found_out() -> None:
    by = ruler(SettleMode.expectation, rubric=rubric())
    judge = ScriptedJudge("9", "2", "9")
    attempts = [
        AttemptResult(number, said("Thirty days."), settle(by, case(), said("Thirty days."), judge=judge))
        for number in (1, 2, 3)
    ]
    assert [one.mark for one in attempts] == [AttemptMark.passed, AttemptMark.failed, AttemptMark.passed]
    found = variation_of(attempts, builtin_registry())
    assert found.diagnosis is not None
    assert found.diagnosis.source is Source.judge
    assert found.split is not None
    assert found.split.stage is Stage.verdict
    assert "other citations" not in found.diagnosis.sentence


# -- whatever attempts there are ----------------------------------------------------------------------------

RESULTS = st.one_of(
    st.builds(called, st.booleans(), st.sampled_from([JUDGE, NODE, SettledBy.contains_all])),
    st.lists(
        st.builds(
            Verdict,
            status=st.sampled_from(CriterionStatus),
            kind=st.sampled_from(["asks", "plain", "\x00<script>"]),
            weight=st.sampled_from([0.0, 1.0]),
        ),
        max_size=3,
    ).map(settle_criteria),
    st.just(EvaluationResult.undecided(evaluator="case-judge", settled_by=JUDGE)),
)
ATTEMPTS = st.lists(
    st.tuples(
        st.none() | EVIDENCE | st.sampled_from([said("x"), said(" x"), said("y")]), RESULTS | st.none()
    ),
    max_size=5,
).map(
    lambda drawn: [
        AttemptResult(n, evidence, result, None if result else Failure(cause=Cause.NO_REPLY))
        for n, (evidence, result) in enumerate(drawn, start=1)
    ]
)


@given(ATTEMPTS, st.randoms(use_true_random=False))
def test_whatever_was_recorded_the_variation_holds_together_in_any_order(
    attempts: list[AttemptResult], order: random.Random
) -> None:
    found = vary(*attempts)
    marks = {one.mark for one in attempts}
    assert (found.diagnosis is not None) == ({AttemptMark.passed, AttemptMark.failed} <= marks)
    assert (found.pair is None) == (found.split is None)
    with_reply = [one.number for one in attempts if one.evidence and one.evidence.reply is not None]
    assert sorted(number for group in found.replies for number in group.attempts) == with_reply
    for row in found.grid:
        assert len(row.statuses) == len(attempts)
        assert row.flips == (PASS in row.statuses and FAIL in row.statuses)
    if found.pair:
        assert attempts[found.pair[0] - 1].mark is AttemptMark.passed
        assert attempts[found.pair[1] - 1].mark is AttemptMark.failed
    assert Variation.model_validate_json(found.model_dump_json()) == found
    shuffled = list(attempts)
    order.shuffle(shuffled)
    assert vary(*shuffled) == found


@given(st.text("ab ", max_size=12), st.text("ab ", max_size=12))
def test_the_first_word_that_differs_is_the_one_said(a: str, b: str) -> None:
    split = vary(attempt(1, True, a), attempt(2, False, b)).split
    here, there = a.split(), b.split()
    assert split is not None
    if here == there:
        assert split.stage is Stage.verdict
        return
    at = next((i for i, (x, y) in enumerate(zip(here, there, strict=False)) if x != y), None)
    at = min(len(here), len(there)) if at is None else at
    shown = [f"“{' '.join(words[at : at + 6])}”" if words[at:] else "the end" for words in (here, there)]
    assert split.sentence == (
        f"The replies differ from word {at + 1}: {shown[0]} in attempt 1, {shown[1]} in attempt 2."
    )


@given(HOSTILE, HOSTILE)
def test_hostile_replies_part_where_their_words_do(a: str, b: str) -> None:
    split = vary(attempt(1, True, a), attempt(2, False, b)).split
    assert split is not None
    assert (split.stage is Stage.verdict) == (a.split() == b.split())
    split.model_dump_json()


def test_fifty_attempts_of_a_megabyte_are_explained_within_seconds() -> None:
    start = time.process_time()
    text = "word " * 200_000
    found = vary(*[attempt(n, n % 2 == 0, text + str(n // 10)) for n in range(1, 51)])
    assert time.process_time() - start < 10
    assert len(found.replies) == 6
    assert found.split is not None
    assert found.split.stage is Stage.verdict
