"""Running demo servers for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.demo.servers import DemoServices, start_demo_services


@pytest.fixture
def demo() -> Iterator[DemoServices]:
    """Both servers on free ports, answering at once."""
    with start_demo_services(pace=0) as services:
        yield services
