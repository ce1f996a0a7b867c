"""`/fabrics/{id}/lanes`: planted values by lane, null without counters, and one port or endpoint at a time."""

from __future__ import annotations

import numpy as np
import pytest

from api.conftest import Served
from api.database import T0, SampleDatabase
from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_domain.counters import LANES

pytestmark = pytest.mark.integration
START_S = T0 // 10 * 10


@pytest.fixture
def planted(database: SampleDatabase) -> np.ndarray:
    """Counts [bucket][array][port][lane] of router 1 in three buckets; port 0 and the packets are not counted."""
    values = np.random.default_rng(4).integers(0, 10**9, (3, 3, 3, LANES)).astype(float)
    values[:, 2], values[:, :, 0] = np.nan, np.nan
    with connect(database.url) as conn:
        row = conn.execute("SELECT fabric_id FROM fabric WHERE name = 'small'").fetchone()
        assert row is not None
        conn.execute("DELETE FROM router_lane_10s")
        ones = np.full(3, row[0], np.int32), np.ones(3, np.int32)
        part = counters.LaneRows(*ones, START_S + 10 * np.arange(3), np.full(3, 20.0), values)
        counters.write_batch(conn, counters.Batch(router_lanes=[part], endpoint_lanes=[part]))
    return values


def test_sums_by_lane_of_a_port(api: Served, planted: np.ndarray) -> None:
    got = api.get("/fabrics/small/lanes", at=START_S + 20, window="20s", router=1, port=2)
    assert got["sl_flits"] == planted[:2, 0, 2].sum(axis=0).tolist()
    assert got["stall_cycles"] == planted[:2, 1, 2].sum(axis=0).tolist()
    assert got["packets"] == [None] * LANES and got["window_s"] == 20 and got["simulated"] in (True, False)


def test_what_nobody_counted_is_unknown(api: Served, planted: np.ndarray) -> None:
    for who in ({"router": 1, "port": 0}, {"router": 1, "port": 9}, {"router": 0, "port": 2}, {"endpoint": 0}):
        got = api.get("/fabrics/small/lanes", at=START_S + 20, window="20s", **who)
        assert got["sl_flits"] == got["stall_cycles"] == got["packets"] == [None] * LANES


@pytest.mark.parametrize(
    "who", [{}, {"router": 1}, {"port": 1}, {"router": 1, "port": 1, "endpoint": 1}, {"router": 10**6, "port": 1}]
)
def test_one_port_or_endpoint_is_named(api: Served, who: dict[str, int]) -> None:
    assert api.http.get("/api/v1/fabrics/small/lanes", params=who).status_code == 400
