"""What a whole run found: denominators, coverage, trust and flags."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.evaluation import (
    AttemptCounts,
    AttemptMark,
    Cause,
    EvalCase,
    EvaluationResult,
    Evidence,
    ExperimentReport,
    FailingTool,
    Failure,
    Fixture,
    JudgeUse,
    Replay,
    SettledBy,
    Turn,
    count_attempt,
    latency_bucket,
)
from tests.evaluation.builders import case, golden, said


def counts(row: dict[str, int]) -> AttemptCounts:
    fields = dict(row)
    return AttemptCounts(no_reply=fields.pop("not_reached", 0), **fields)


def flag_names(report: ExperimentReport) -> set[str]:
    return {flag.name for flag in report.flags}


def build(settled_by: SettledBy, mark: AttemptMark, **fields: Any) -> EvaluationResult:
    builders = {
        AttemptMark.passed: EvaluationResult.passed,
        AttemptMark.failed: EvaluationResult.failed,
        AttemptMark.undecided: EvaluationResult.undecided,
        AttemptMark.inconclusive: EvaluationResult.inconclusive,
        AttemptMark.evaluator_failed: EvaluationResult.broke,
    }
    return builders[mark]("r", evaluator="e", settled_by=settled_by, **fields)


@pytest.mark.parametrize("row", golden("reports"), ids=lambda row: str(row["counts"]))
def test_the_golden_reports(row: dict[str, Any]) -> None:
    report = ExperimentReport.build(counts(row["counts"]))
    found = {name: getattr(report, name) for name in row if name not in ("counts", "pass_rate")}
    assert found == {name: value for name, value in row.items() if name not in ("counts", "pass_rate")}
    assert report.pass_rate == (None if row["pass_rate"] is None else pytest.approx(row["pass_rate"]))


TRUST = {"no attempts", "nothing judged", "without evidence", "undecided"}


@given(st.fixed_dictionaries({mark.value: st.integers(0, 30) for mark in AttemptMark}))
def test_trust_is_lost_exactly_with_one_of_its_flags(row: dict[str, int]) -> None:
    report = ExperimentReport.build(counts(row))
    assert report.is_trustworthy == (not flag_names(report) & TRUST)
    assert report.total == report.judged + report.without_evidence == sum(row.values())
    assert report.pass_rate is None or 0 <= report.pass_rate <= 1
    assert (report.pass_rate is None) == (report.judged == 0)


def test_a_failing_clause_is_named_with_its_figure() -> None:
    report = ExperimentReport.build(AttemptCounts(passed=5, undecided=5, inconclusive=10))
    figures = {flag.name: flag.figure for flag in report.flags}
    assert (figures["without evidence"], figures["undecided"]) == (0.5, 0.5)


def test_a_percentage_comes_with_its_coverage() -> None:
    report = ExperimentReport.build(AttemptCounts(passed=41, failed=16, evaluator_failed=2, no_reply=1))
    assert report.coverage == "41 of 57 passed; 57 of 60 counted; 2 evaluator failures, 1 not reached"
    assert report.rate_text == "71.9%"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (AttemptCounts(passed=3), "3 of 3 passed; 3 of 3 counted"),
        (
            AttemptCounts(
                passed=1, undecided=1, inconclusive=2, evaluator_failed=1, setup_failed=1, no_reply=1
            ),
            "1 of 2 passed; 2 of 7 counted; 2 inconclusive, 1 evaluator failure, 2 not reached",
        ),
        (AttemptCounts(inconclusive=5), "no rate; 0 of 5 counted; 5 inconclusive"),
        (AttemptCounts(), "no rate; 0 of 0 counted"),
    ],
)
def test_coverage_names_everything_left_out(found: AttemptCounts, sentence: str) -> None:
    assert ExperimentReport.build(found).coverage == sentence


def test_nothing_judged_is_no_rate_and_never_zero_percent() -> None:
    assert ExperimentReport.build(AttemptCounts(inconclusive=5)).rate_text == "no rate"
    assert ExperimentReport.build(AttemptCounts(failed=5)).rate_text == "0%"


@pytest.mark.parametrize(
    ("by", "family"),
    [
        (SettledBy.spec_node, "asserted"),
        (SettledBy.contains_all, "asserted"),
        (SettledBy.end_state, "asserted"),
        (SettledBy.metric, "measured"),
        (SettledBy.judge, "scored"),
        (SettledBy.criteria, "by_criteria"),
    ],
)
def test_a_judged_attempt_is_counted_by_what_settled_it(by: SettledBy, family: str) -> None:
    passed = count_attempt(case(), said(), build(by, AttemptMark.passed), None)
    failed = count_attempt(case(), said(), build(by, AttemptMark.failed), None)
    both = passed + failed
    assert (getattr(both, family), getattr(both, f"{family}_passed")) == (2, 1)
    assert both.asserted + both.measured + both.scored + both.by_criteria == both.judged == 2


def test_an_attempt_that_was_not_judged_is_in_no_family() -> None:
    for mark in (AttemptMark.inconclusive, AttemptMark.evaluator_failed):
        found = count_attempt(
            case(setup=Replay(user_turns=("a",))), said(), build(SettledBy.judge, mark), None
        )
        assert (found.judged, found.scored, found.walked, found.total) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("cause", "setup_failed", "no_reply", "unknown"),
    [(Cause.SETUP_FAILED, 1, 0, 0), (Cause.NO_REPLY, 0, 1, 1)],
)
def test_an_attempt_without_a_result_is_not_reached_by_its_cause(
    cause: Cause, setup_failed: int, no_reply: int, unknown: int
) -> None:
    found = count_attempt(case(), None, None, Failure(cause=cause))
    assert (found.setup_failed, found.no_reply, found.not_reached, found.total) == (
        setup_failed,
        no_reply,
        1,
        1,
    )
    assert found.unknown_usage == unknown


def test_tokens_grades_and_judge_use_are_counted() -> None:
    use = JudgeUse(calls=2, prompt_tokens=50, completion_tokens=4, unknown_calls=1)
    result = build(SettledBy.judge, AttemptMark.passed, grade=9, judge_use=use)
    turns = (Turn(prompt="a", reply="b", prompt_tokens=10, completion_tokens=2), Turn(prompt="c", reply="d"))
    found = count_attempt(case(), Evidence(turns=turns, cached=True), result, None, seconds=1.25, deadline=9)
    assert (found.prompt_tokens, found.completion_tokens, found.unknown_usage) == (10, 2, 1)
    assert (found.judge_calls, found.judge_prompt_tokens, found.judge_completion_tokens) == (2, 50, 4)
    assert (found.judge_unknown_calls, found.cached, found.busy_ms) == (1, 1, 1250)
    assert found.grades == (0, 0, 0, 0, 0, 0, 0, 0, 1, 0)
    assert found.latency == (0, 1, 0, 0, 0)


def test_a_judge_that_declined_is_counted_apart_from_other_inconclusive_attempts() -> None:
    by_judge = count_attempt(case(), said(), build(SettledBy.judge, AttemptMark.inconclusive), None)
    by_node = count_attempt(case(), said(), build(SettledBy.spec_node, AttemptMark.inconclusive), None)
    assert (by_judge.judge_silent, by_node.judge_silent) == (1, 0)


@pytest.mark.parametrize(("seconds", "bucket"), [(0, 0), (1, 0), (1.1, 1), (3, 1), (6, 2), (9, 3), (9.1, 4)])
def test_latency_falls_into_ninths_and_thirds_of_the_deadline(seconds: float, bucket: int) -> None:
    assert latency_bucket(seconds, 9) == bucket


SINGLES = [
    count_attempt(case(), said(prompt_tokens=3), build(by, mark), None, seconds=0.1, deadline=1)
    for by, mark in [
        (SettledBy.judge, AttemptMark.passed),
        (SettledBy.metric, AttemptMark.failed),
        (SettledBy.criteria, AttemptMark.inconclusive),
        (SettledBy.judge, AttemptMark.undecided),
    ]
]


@given(st.lists(st.sampled_from(SINGLES), max_size=12), st.integers(0, 12))
def test_counts_add_up_in_any_split_and_can_be_taken_off_again(parts: list[AttemptCounts], cut: int) -> None:
    left, right = AttemptCounts.sum(parts[:cut]), AttemptCounts.sum(reversed(parts[cut:]))
    assert left + right == AttemptCounts.sum(parts)
    assert left + right - right == left
    assert AttemptCounts.model_validate_json(left.model_dump_json()) == left


WALK, SEED = Replay(user_turns=("a",)), Fixture(name="f")


@pytest.mark.parametrize(
    ("cases", "flags"),
    [
        ([case(setup=SEED), case(setup=FailingTool(tool="t", message="m", then=SEED))], {"entirely seeded"}),
        ([case(setup=SEED), case()], {"no path walked"}),
        ([case()], {"no path walked"}),
        ([case(setup=SEED), case(setup=FailingTool(tool="t", message="m", then=WALK))], set()),
    ],
)
def test_only_a_replay_proves_a_path(cases: list[EvalCase], flags: set[str]) -> None:
    passed = build(SettledBy.spec_node, AttemptMark.passed)
    report = ExperimentReport.build(
        AttemptCounts.sum(count_attempt(each, said(), passed, None) for each in cases)
    )
    assert flag_names(report) & {"entirely seeded", "no path walked"} == flags


def test_without_a_judged_attempt_there_is_nothing_to_say_about_paths() -> None:
    assert not flag_names(ExperimentReport.build(AttemptCounts(no_reply=3))) & {
        "entirely seeded",
        "no path walked",
    }


@pytest.mark.parametrize(
    ("busy_ms", "flag"),
    [(85_000, "lanes saturated"), (84_900, "lanes not saturated"), (0, "lanes not saturated")],
)
def test_lanes_are_saturated_from_85_percent(busy_ms: int, flag: str) -> None:
    found = AttemptCounts(passed=1, busy_ms=busy_ms)
    report = ExperimentReport.build(found, lanes=10, wall_seconds=10)
    assert flag_names(report) & {"lanes saturated", "lanes not saturated"} == {flag}
    assert not any("lanes" in name for name in flag_names(ExperimentReport.build(found)))


@pytest.mark.parametrize(
    ("repeats", "floor", "chance"), [(5, "55%", "33%"), (10, "74%", "11%"), (20, "86%", "1%")]
)
def test_a_clean_sweep_says_what_it_cannot_rule_out(repeats: int, floor: str, chance: str) -> None:
    report = ExperimentReport.build(AttemptCounts(passed=60), repeats=repeats, clean_sweeps=3)
    sentences = {flag.name: flag.sentence for flag in report.flags}
    assert f"{repeats} of {repeats} passed can still mean a true rate of {floor}" in sentences["clean sweep"]
    assert f"in {chance} of runs" in sentences["sweep by chance"]


def test_a_sweep_by_chance_under_one_percent_is_not_printed_nor_is_a_sweep_that_did_not_happen() -> None:
    assert "sweep by chance" not in flag_names(ExperimentReport.build(AttemptCounts(passed=60), repeats=21))
    none_swept = ExperimentReport.build(AttemptCounts(passed=60), repeats=5, clean_sweeps=0)
    assert not flag_names(none_swept) & {"clean sweep", "sweep by chance"}


def test_unknown_usage_cached_replies_and_an_unreviewed_judge_are_said() -> None:
    found = AttemptCounts(passed=3, scored=3, unknown_usage=2, judge_unknown_calls=1, cached=1)
    names = flag_names(ExperimentReport.build(found))
    assert {"token floor", "judge token floor", "cached replies", "judge agreement unmeasured"} <= names
    reviewed = ExperimentReport.build(found, human_reviews=12)
    assert "judge agreement unmeasured" not in flag_names(reviewed)


RECORD_FIELDS = {
    *("passed", "failed", "undecided", "inconclusive", "evaluator_failed", "not_reached", "setup_failed"),
    *("no_reply", "judged", "total", "without_evidence", "asserted", "measured", "scored", "by_criteria"),
    *("walked", "seeded", "pass_rate", "is_trustworthy", "flags"),
}


def test_a_report_dumps_the_report_object_of_a_record() -> None:
    dumped = ExperimentReport.build(AttemptCounts(passed=1, undecided=1)).model_dump(mode="json")
    assert set(dumped) == RECORD_FIELDS
    assert all(set(flag) == {"name", "figure", "sentence"} for flag in dumped["flags"])
