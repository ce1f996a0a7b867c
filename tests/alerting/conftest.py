"""A receiver for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from alerting.receivers import Hook, receiving


@pytest.fixture
def hook() -> Iterator[Hook]:
    with receiving() as one:
        yield one
