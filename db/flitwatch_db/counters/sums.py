"""Sums of all stored counters by router, which the ingest benchmark compares with the sent values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

Table = Literal["router_1s", "router_1m", "router_1h"]


def by_router(conn: psycopg.Connection[Any], table: Table) -> NDArray[np.float64]:
    """Return router, samples, rows, flits and stall cycles, one row per router: (n, 5)."""
    grouped = sql.SQL(
        "SELECT router, sum(samples), count(*), sum(rt_flits), sum(rt_stall_cycles) FROM {} GROUP BY router ORDER BY router"
    ).format(sql.Identifier(table))
    return np.array(conn.execute(grouped).fetchall(), float).reshape(-1, 5)


def port_flits(conn: psycopg.Connection[Any]) -> dict[int, float]:
    """Return flits of all ports, by router."""
    return dict(conn.execute("SELECT router, sum(f) FROM port_10s, unnest(flits) AS f GROUP BY router").fetchall())


def rows_gaps_and_letters(conn: psycopg.Connection[Any], until_s: float) -> tuple[int, int, int]:
    """Count the rows of ports, the gaps that begin before `until_s` (seconds since 1970), and the dead letters."""
    count = (
        "SELECT (SELECT count(*) FROM port_10s), (SELECT count(*) FROM gap WHERE from_ts < to_timestamp(%s)),"
        " (SELECT count(*) FROM dead_letter)"
    )
    return conn.execute(count, [until_s]).fetchone() or (0, 0, 0)
