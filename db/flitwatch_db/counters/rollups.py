"""Sums of a whole fabric in long buckets, computed from its routers' rows by maintenance.

Every batch of the writer marks the hours that it changed (`rollup_due`), in its own transaction. Readers ignore a bucket with a marked hour and sum the
rows of its routers instead, so answers are correct even if rollups are pending.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal, LiteralString

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

from flitwatch_db.core.additive import ensure_chunks
from flitwatch_domain.counters import ROUTER_COLUMNS

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


Conn = psycopg.Connection[Any]

#: By width in seconds: the table, and the table of routers whose rows it sums.
TABLES: dict[int, tuple[LiteralString, LiteralString]] = {
    300: ("fabric_5m", "router_1m"),
    7200: ("fabric_2h", "router_1h"),
    86_400: ("fabric_1d", "router_1h"),
}
HOUR_S, DAY_S = 3600, 86_400
#: An hour is rolled up once no batch has changed it for this long.
SETTLED_S = 60.0
#: Time limit of rollups in one maintenance run; a database with years of data takes several runs.
ROUND_S = 300.0

_COLUMNS = ("tile_seconds", *ROUTER_COLUMNS)
_SUMS = ", ".join(f"sum({name}) AS {name}" for name in _COLUMNS)
# A counter that all routers lack is unknown as a whole.
_ARRAYS = ", ".join(
    f"CASE WHEN count(s.{name}) > 0 THEN array_agg(s.{name} ORDER BY r.router) END" for name in _COLUMNS
)
_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in ("counted", *_COLUMNS))
#: Rows of routers are never deleted except by retention. Sums over fewer routers than before are therefore incomplete, and replace nothing.
_ROLL = f"""
    WITH sums AS MATERIALIZED (
        SELECT date_bin(make_interval(secs => %(width)s), ts, 'epoch') AS ts, router, {_SUMS} FROM {{source}}
        WHERE fabric_id = %(fabric)s AND ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s) GROUP BY 1, 2
    )
    INSERT INTO {{table}} AS t (fabric_id, ts, counted, {", ".join(_COLUMNS)})
    SELECT %(fabric)s, b.ts, count(s.router), {_ARRAYS}
    FROM (SELECT DISTINCT ts FROM sums) b CROSS JOIN (SELECT router FROM router WHERE fabric_id = %(fabric)s) r
    LEFT JOIN sums s ON s.ts = b.ts AND s.router = r.router
    GROUP BY b.ts HAVING count(s.router) > 0
    ON CONFLICT (fabric_id, ts) DO UPDATE SET {_REPLACED} WHERE excluded.counted >= t.counted
"""  # noqa: S608


def mark_hours(conn: Conn, fabric_id: NDArray[Any], ts_s: NDArray[np.int64]) -> None:
    """Mark the hours of routers' rows as changed, within the transaction that changes them.

    Parameters
    ----------
    fabric_id : int[n]
    ts_s : int64[n]
        Times of the rows, in seconds since 1970.
    """
    hours = np.unique(np.column_stack((fabric_id, ts_s // HOUR_S)), axis=0)
    conn.execute(
        "INSERT INTO rollup_due (fabric_id, hour) SELECT fabric_id, to_timestamp(hour * 3600.0) FROM unnest(%s::int[], %s::bigint[]) AS new (fabric_id, hour)",
        [hours[:, 0].tolist(), hours[:, 1].tolist()],
    )


def roll_up_hours(
    conn: Conn,
    settled_s: float = SETTLED_S,
    round_s: float = ROUND_S,
    on_day: Callable[[datetime], object] = lambda day: None,
) -> int:
    """Roll up the marked and settled hours, newest day first; return their number.

    Each day is one transaction. A day that another process is rolling up is skipped.

    Parameters
    ----------
    conn : Connection
        In autocommit mode, with role keeper.
    settled_s : float
        Hours that were marked within this many seconds wait for the next round.
    round_s : float
        No further day is started after this time.
    """
    begun = time.monotonic()
    days = conn.execute(
        "SELECT DISTINCT fabric_id, date_bin('1 day', hour, 'epoch') AS day FROM rollup_due ORDER BY day DESC, fabric_id"
    ).fetchall()
    rolled = 0
    for fabric_id, day in days:
        if time.monotonic() - begun > round_s:
            break
        on_day(day)
        try:
            with conn.transaction():
                # Marks and rows are from one snapshot: a concurrent writer adds a mark that is not visible here, and so is not deleted.
                conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                rolled += _roll_day(conn, int(fabric_id), day, settled_s)
        except psycopg.errors.SerializationFailure:
            continue
    return rolled


def _roll_day(conn: Conn, fabric_id: int, day: datetime, settled_s: float) -> int:
    """Roll up the settled hours of one day, in the caller's transaction; return their number."""
    marked = conn.execute(
        "SELECT hour, max(marked_at) < clock_timestamp() - make_interval(secs => %s) FROM rollup_due"
        " WHERE fabric_id = %s AND hour >= %s AND hour < %s GROUP BY hour",
        [settled_s, fabric_id, day, day + timedelta(days=1)],
    ).fetchall()
    start = int(day.timestamp())
    settled = {int(hour.timestamp()) for hour, is_settled in marked if is_settled}
    waiting = {int(hour.timestamp()) for hour, is_settled in marked if not is_settled}
    if not settled:
        return 0
    for width, (table, source) in TABLES.items():
        for at in range(start, start + DAY_S, max(width, HOUR_S)):
            inside = range(at, at + max(width, HOUR_S), HOUR_S)
            if settled.intersection(inside) and not waiting.intersection(inside):
                ensure_chunks(conn, table, np.array([at]))
                conn.execute(
                    _ROLL.format(table=table, source=source),
                    {"fabric": fabric_id, "width": width, "from": at, "to": inside.stop},
                )
    conn.execute(
        "DELETE FROM rollup_due WHERE fabric_id = %s AND hour = ANY(ARRAY(SELECT to_timestamp(unnest(%s::float8[]))))",
        [fabric_id, sorted(map(float, settled))],
    )
    return len(settled)
