"""A small machine with continuous counters: one row per router and second, in the writer's form, until it is stopped."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import numpy as np
import psycopg

from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.generators import build_dragonfly

#: How far back the counters begin.
PAST_S = 300


class Beat(threading.Thread):
    """Writes on while the database is there, and again once it is back: what came between is lost here, as it is not in a real log."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._ended = threading.Event()
        self._rng = np.random.default_rng(3)
        fabric = build_dragonfly(
            4, 2, 4, endpoints_per_router=2, blue_routers=2, blue_cables=1, black_cables=1, name="beat"
        )
        self._size = len(fabric.routers)
        with connect(url, role="writer") as conn:
            self._fabric = fabrics.save_fabric(conn, fabric)
            now = int(time.time())
            self._write(conn, np.arange(now - PAST_S, now))

    def run(self) -> None:
        """Write each second."""
        written = int(time.time())
        while not self._ended.wait(0.5):
            now = int(time.time())
            if now <= written:
                continue
            try:
                with connect(self._url, role="writer") as conn:
                    self._write(conn, np.arange(written, now))
                written = now
            except (psycopg.Error, FlitwatchError):
                continue

    def end(self) -> None:
        """Stop writing."""
        self._ended.set()
        self.join(10)

    def _write(self, conn: psycopg.Connection, seconds: np.ndarray) -> None:
        second, router = (axis.ravel() for axis in np.meshgrid(seconds, np.arange(self._size), indexing="ij"))
        n = len(second)
        values = self._rng.integers(1, 10**9, size=(n, len(ROUTER_COLUMNS))).astype(np.float64)
        rows = counters.Rows(
            np.full(n, self._fabric, np.int32),
            router.astype(np.int32),
            second,
            np.ones(n, np.int32),
            np.full(n, 48.0),
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=rows))
        through = datetime.fromtimestamp(int(seconds[-1]) + 1, UTC).isoformat()
        events.emit_event(conn, "counters", {"fabric_id": self._fabric, "through": through, "routers": self._size})
