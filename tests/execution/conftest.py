"""What the engine's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.execution import lanes
from tests.execution.world import Desk, open_desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A system under test that answers at once."""
    with open_desk() as desk:
        yield desk


@pytest.fixture(autouse=True)
def no_shutdown() -> Iterator[None]:
    """A worker that a test ended must not make the next test's groups leave."""
    lanes.shutting_down.clear()
    yield
    lanes.shutting_down.clear()
