"""Counters that arrive while the API serves."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import psycopg

from api.world import T0
from flitwatch_db.core import events
from flitwatch_db.counters import store as counters
from flitwatch_domain.counters import ROUTER_COLUMNS

START = T0 // 60 * 60


def count(conn: psycopg.Connection, fabric_id: int, second: int, flits: float) -> None:
    """Counters of router 1 in one second."""
    values = np.full((1, len(ROUTER_COLUMNS)), np.nan)
    values[0, 0] = flits
    one = (np.array([fabric_id], np.int32), np.array([1], np.int32), np.array([START + second]))
    counters.write_batch(
        conn, counters.Batch(routers=counters.Rows(*one, np.ones(1, np.int32), np.array([48.0]), values))
    )


def tell(conn: psycopg.Connection, fabric_id: int, **more: str) -> int:
    """The event that follows a batch."""
    through = datetime.fromtimestamp(START + 60, UTC).isoformat()
    return events.emit_event(conn, "counters", {"fabric_id": fabric_id, "through": through, "routers": 1, **more})
