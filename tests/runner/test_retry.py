"""The table of when a call is made again."""

import pytest

from experiments.runner.retry import NO_RETRIES, RetryPolicy, pause_before_retry, spread_of

POLICY = RetryPolicy(tries=3, first_pause=1.0, longest_pause=30.0)


@pytest.mark.parametrize(
    ("made", "changed", "pause"),
    [
        (1, {}, 1.0),
        (2, {}, 2.0),
        (3, {}, None),
        (1, {"permanent": True}, None),
        (1, {"timed_out": True}, None),
        (1, {"spread": 0.0}, 0.5),
        (1, {"retry_after": 7.0}, 7.0),
        (1, {"retry_after": 0.1}, 1.0),
        (1, {"retry_after": 7.0, "remaining": 7.0}, None),
        (1, {"remaining": 1.0}, None),
        (1, {"remaining": 1.5}, 1.0),
        (1, {"remaining": -1.0}, None),
    ],
)
def test_the_policy_decides_by_table(made: int, changed: dict[str, float], pause: float | None) -> None:
    facts = {"permanent": False, "timed_out": False, "retry_after": None, "remaining": 100.0, "spread": 1.0}
    assert pause_before_retry(POLICY, made, **{**facts, **changed}) == pause  # type: ignore[arg-type]


def test_the_pause_never_grows_past_its_longest() -> None:
    patient = RetryPolicy(tries=99, first_pause=1.0, longest_pause=30.0)
    facts = {"permanent": False, "timed_out": False, "retry_after": None, "remaining": 1e9, "spread": 1.0}
    assert pause_before_retry(patient, 50, **facts) == 30.0  # type: ignore[arg-type]


def test_one_try_means_no_second_one() -> None:
    facts = {"permanent": False, "timed_out": False, "retry_after": None, "remaining": 1e9, "spread": 1.0}
    assert pause_before_retry(NO_RETRIES, 1, **facts) is None  # type: ignore[arg-type]


def test_the_spread_differs_by_attempt_and_try_and_is_the_same_each_time() -> None:
    drawn = [spread_of(f"run-{attempt}", made) for attempt in range(100) for made in (1, 2)]
    assert len(set(drawn)) == 200
    assert all(0 <= figure < 1 for figure in drawn)
    assert spread_of("run-1\ud800", 1) == spread_of("run-1\ud800", 1)
