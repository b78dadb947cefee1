"""Real questions, a real service and real workers, on the database and broker of this test run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from experiments.execution import lanes
from tests.execution.workers import over_redis, worker_in_thread, worker_processes
from tests.real import oracle
from tests.real.service import Library, serve
from tests.real.story import tell

TAG, CASES, REPEATS = "rights", 10, 3


@pytest.fixture
def worker(real_data: None, request: pytest.FixtureRequest) -> Iterator[None]:
    """A worker on both queues, as this test run has them."""
    lanes.shutting_down.clear()
    if over_redis():
        with worker_processes(request.getfixturevalue("child_environment"), "one"):
            yield
    else:
        with worker_in_thread():
            yield
    lanes.shutting_down.clear()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_real_questions_are_run_queued_decided_graded_anew_and_undone(worker: None) -> None:
    library = Library(pace=0.05)
    service = serve(library)
    try:
        figures = tell(service.url, lanes=8, repeats=REPEATS, tags=[TAG])
    finally:
        service.close()
    asked = [oracle.turns()[case] for case in figures.before]
    assert len(asked) == CASES
    assert library.tally == Counter((turn, number) for turn in asked for number in range(1, REPEATS + 1))
    assert set(library.asked.values()) == {1}
    assert {verdict for verdict, _ in figures.before.values()} == {"PASSED", "VARIED", "FAILED"}
    assert len(figures.queue) > 5
    assert (figures.before["told-where-from"], figures.after["told-where-from"]) == (
        ("VARIED", "FPP"),
        ("PASSED", "PPP"),
    )
    assert (figures.before["wrong-address"], figures.after["wrong-address"]) == (
        ("PASSED", "PPP"),
        ("VARIED", "FFP"),
    )
