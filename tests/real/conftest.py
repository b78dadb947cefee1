"""Real data lies beside the repository; without it nothing here can be tried."""

from __future__ import annotations

import pytest

from tests.real.service import GDPR, Library


@pytest.fixture(autouse=True)
def real_data() -> None:
    """Skips what needs the data when it is absent."""
    if not GDPR.exists():
        pytest.skip("the real data is not beside the repository")


@pytest.fixture
def library(real_data: None) -> Library:
    """The retrieval service's own part, answering at once."""
    return Library(pace=0)
