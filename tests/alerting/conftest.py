"""A receiver for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from alerting.receivers import Hook


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()
