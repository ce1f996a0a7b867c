"""A schema registry that answers without an end."""

from __future__ import annotations

import pytest
from support.endless_answer import SOCKETS_BYTES, serving_endlessly

from flitwatch_domain.errors import Unavailable
from flitwatch_ingest.registry import HttpRegistry


def test_an_endless_schema_is_refused() -> None:
    with serving_endlessly() as server, pytest.raises(Unavailable, match="more than 8 MiB"):
        HttpRegistry(server.url).text(1)
    assert server.sent_bytes <= 2 * SOCKETS_BYTES
