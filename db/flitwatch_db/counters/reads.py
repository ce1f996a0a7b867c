"""Read counters: rows of routers and ports as columns, at the caller's bucket width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from psycopg import sql
from psycopg.sql import SQL

from flitwatch_db.core import packing
from flitwatch_db.core.columns import Columns, Connection, fetch_columns, packed_arrays, unpack_array, unpack_arrays
from flitwatch_db.counters import rollups
from flitwatch_domain.counters import ROUTER_COLUMNS

#: Table by bucket width in seconds.
TABLES = {1: SQL("router_1s"), 60: SQL("router_1m"), 3600: SQL("router_1h")}
#: Widths of buckets that are stored as one row for the whole fabric.
FABRIC_WIDTHS = tuple(rollups.TABLES)
PORT_BUCKET_S = 10

#: Readable columns; other names are never used in a statement.
READABLE = frozenset((*ROUTER_COLUMNS, "tile_seconds"))


def _to_identifiers(names: Sequence[str]) -> list[sql.Identifier]:
    unknown = [name for name in names if name not in READABLE]
    if unknown:
        raise KeyError(unknown[0])
    return [sql.Identifier(name) for name in names]


async def router_rows(
    conn: Connection, fabric_id: int, names: Sequence[str], from_s: int, to_s: int, width_s: int
) -> Columns:
    """Return rows of all routers in [from, to), in buckets of `width_s`.

    Parameters
    ----------
    names : sequence of str
        Value columns, or `tile_seconds`.
    width_s : int
        1, 60, 3600, or another integer: then rows are summed, for `FABRIC_WIDTHS` from minutes or hours, for other widths from seconds.

    Returns
    -------
    dict
        router int32[n], ts int64[n] (epoch seconds of the bucket), and float64[n] per name.
    """
    values = _to_identifiers(names)
    # Fifty thousand to two hundred thousand rows: starting parallel workers costs more than it saves while a writer is active.
    if width_s in TABLES:
        source = SQL(
            "SELECT router, extract(epoch FROM ts)::bigint AS ts, {} FROM {}"
            " WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts < to_timestamp(%s)"
        ).format(SQL(", ").join(values), TABLES[width_s])
        parameters: list[int] = [fabric_id, from_s, to_s]
    else:
        sums = SQL(", ").join(SQL("sum({0}) AS {0}").format(value) for value in values)
        source = SQL(
            "SELECT router, extract(epoch FROM date_bin(make_interval(secs => %s), ts, 'epoch'::timestamptz))::bigint AS ts, {}"
            " FROM {} WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts < to_timestamp(%s) GROUP BY 1, 2"
        ).format(sums, SQL(rollups.TABLES[width_s][1]) if width_s in rollups.TABLES else TABLES[1])
        parameters = [width_s, fabric_id, from_s, to_s]
    return await fetch_columns(conn, source, parameters, {"router": "i4", "ts": "i8", **dict.fromkeys(names, "f8")})


@dataclass(frozen=True)
class FabricRows:
    """Buckets of a whole fabric.

    Attributes
    ----------
    values : dict of int to dict
        By start in epoch seconds, float64[n] per name, by router; None if not counted, and shorter than the fabric if routers were added later.
    due_s : list of int
        Sorted starts of the buckets that have to be summed from the rows of routers.
    """

    values: dict[int, dict[str, NDArray[np.float64] | None]]
    due_s: list[int]


async def fabric_rows(
    conn: Connection, fabric_id: int, names: Sequence[str], from_s: int, to_s: int, width_s: int
) -> FabricRows:
    """Return buckets of `FABRIC_WIDTHS` that begin in [from, to), which are multiples of the width: the rolled-up ones, and which are due."""
    arrays = [SQL("array_send(array_replace({}, NULL, 'NaN'))").format(name) for name in _to_identifiers(names)]
    # One statement, so that a bucket that is rolled up concurrently is either due or present.
    query = SQL(
        "SELECT extract(epoch FROM ts)::bigint, NULL, {} FROM {} f WHERE fabric_id = %(fabric)s AND ts >= to_timestamp(%(from)s)"
        " AND ts < to_timestamp(%(to)s) AND NOT EXISTS (SELECT FROM rollup_due d WHERE d.fabric_id = f.fabric_id"
        " AND d.hour > f.ts - interval '3600 s' AND d.hour < f.ts + make_interval(secs => %(width)s))"
        " UNION ALL SELECT NULL, hour_s, {} FROM (SELECT DISTINCT extract(epoch FROM hour)::bigint AS hour_s FROM rollup_due"
        " WHERE fabric_id = %(fabric)s AND hour > to_timestamp(%(from)s) - interval '3600 s' AND hour < to_timestamp(%(to)s)) due"
    ).format(SQL(", ").join(arrays), SQL(rollups.TABLES[width_s][0]), SQL(", ").join([SQL("NULL::bytea")] * len(names)))
    values: dict[int, dict[str, NDArray[np.float64] | None]] = {}
    due: set[int] = set()
    async with conn.cursor(binary=True) as cursor:
        await cursor.execute(query, {"fabric": fabric_id, "from": from_s, "to": to_s, "width": width_s})
        async for ts, hour_s, *raw_values in cursor:
            if hour_s is None:
                values[ts] = {
                    n: None if raw is None else unpack_array(raw) for n, raw in zip(names, raw_values, strict=True)
                }
            else:
                due |= set(range(hour_s // width_s * width_s, hour_s + rollups.HOUR_S, width_s))
    return FabricRows(values, sorted(ts for ts in due if from_s <= ts < to_s))


async def some_router_rows(
    conn: Connection, fabric_id: int, routers: Sequence[int], names: Sequence[str], from_s: int, to_s: int, width_s: int
) -> Columns:
    """Return the same for a few routers: seconds are read by their known keys, minutes and hours from the index by router."""
    values = SQL(", ").join(_to_identifiers(names))
    if width_s == 1:
        where = SQL("ts = ANY(ARRAY(SELECT generate_series(to_timestamp(%s), to_timestamp(%s), interval '1 s')))")
        to_s -= 1
    else:
        where = SQL("ts >= to_timestamp(%s) AND ts < to_timestamp(%s)")
    source = SQL(
        "SELECT router, extract(epoch FROM ts)::bigint AS ts, {} FROM {} WHERE fabric_id = %s AND {} AND router = ANY(%s)"
    ).format(values, TABLES[width_s], where)
    parameters = [fabric_id, from_s, to_s, list(routers)]
    return await fetch_columns(conn, source, parameters, {"router": "i4", "ts": "i8", **dict.fromkeys(names, "f8")})


async def port_rows(
    conn: Connection,
    fabric_id: int,
    from_s: int,
    to_s: int,
    first_port: int = 0,
    end_port: int | None = None,
    routers: Sequence[int] | None = None,
    buckets: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return port counters in [from, to): router int32[n], ts int64[n], flits and stall cycles float64[n, p] of ports [first, end).

    A port without counts is NaN; p is the longest row's length in that range. `buckets` selects the starts to read, if not all.
    """
    low, high = first_port + 1, 100_000 if end_port is None else end_port
    slices = [SQL("{}[%(low)s:%(high)s]").format(sql.Identifier(name)) for name in ("flits", "stall_cycles")]
    where: sql.SQL | sql.Composed
    if buckets is not None:
        where = SQL(
            "ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)"
            " AND ts = ANY(ARRAY(SELECT to_timestamp(unnest(%(buckets)s::bigint[])))){}"
        ).format(SQL("") if routers is None else SQL(" AND router = ANY(%(routers)s)"))
    elif routers is None:
        where = SQL("ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)")
    else:
        where = SQL(
            "ts = ANY(ARRAY(SELECT generate_series(to_timestamp(%(from)s), to_timestamp(%(to)s - 1), interval '10 s')))"
            " AND router = ANY(%(routers)s)"
        )
    query = SQL(
        "SELECT array_send(array_agg(router)), array_send(array_agg(extract(epoch FROM ts)::bigint)), {}, {}"
        " FROM port_10s WHERE fabric_id = %(fabric)s AND {}"
    ).format(*(packed_arrays(part) for part in slices), where)
    async with conn.cursor(binary=True) as cursor:
        await cursor.execute(
            query,
            {
                "fabric": fabric_id,
                "from": from_s,
                "to": to_s,
                "low": low,
                "high": high,
                "routers": None if routers is None else list(routers),
                "buckets": None if buckets is None else buckets.tolist(),
            },
        )
        row = await cursor.fetchone()
    assert row is not None
    flits, stalls = unpack_arrays(row[2], row[3]), unpack_arrays(row[4], row[5])
    width = max(flits.shape[1], stalls.shape[1])
    return (
        np.asarray(packing.unpack_numbers(row[0], ">i4"), np.int32),
        np.asarray(packing.unpack_numbers(row[1], ">i8"), np.int64),
        _widen_values(flits, width),
        _widen_values(stalls, width),
    )


def _widen_values(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    if values.shape[1] == width:
        return values
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=np.nan)


async def port_totals(conn: Connection, fabric_id: int) -> Columns:
    """Return the one sample of a snapshot: router and port int32[n], flits and stall_cycles float64[n]."""
    return await fetch_columns(
        conn,
        SQL("SELECT router, port, flits, stall_cycles FROM port_total WHERE fabric_id = %s"),
        [fabric_id],
        {"router": "i4", "port": "i4", "flits": "f8", "stall_cycles": "f8"},
    )
