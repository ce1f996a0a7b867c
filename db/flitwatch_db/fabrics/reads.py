"""Fabrics for the API: their properties, the time range of their data, and their counted routers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import class_row, dict_row
from psycopg.sql import SQL, Composed

from flitwatch_db.core.columns import Connection, fetch_columns
from flitwatch_db.counters import rollups
from flitwatch_domain.errors import NotFound

#: The columns of `StoredFabric`.
COLUMNS = SQL(
    "fabric_id, name, kind, technology, simulated, counted_at, timeless AS snapshot, source, attributes, warnings, created_at"
)


@dataclass(frozen=True, slots=True)
class StoredFabric:
    """A fabric's row; `snapshot` is true if its counters are one sample without a time."""

    fabric_id: int
    name: str
    kind: str
    technology: str
    simulated: bool
    counted_at: str
    snapshot: bool
    source: str
    attributes: dict[str, Any]
    warnings: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class FabricHead(StoredFabric):
    """Row of a fabric; `version` changes whenever the row is written."""

    version: str


_HEAD = SQL("SELECT {}, xmin::text AS version FROM fabric").format(COLUMNS)


async def list_heads(conn: Connection) -> list[FabricHead]:
    """Return all fabrics in order of creation."""
    async with conn.cursor(row_factory=class_row(FabricHead)) as cursor:
        await cursor.execute(_HEAD + SQL(" ORDER BY fabric_id"))
        return await cursor.fetchall()


async def find_fabric_head(conn: Connection, name_or_id: str) -> FabricHead:
    """Return a fabric by name or, if there is none, by number. Raise NotFound if the fabric does not exist; the advice lists the existing ones."""
    number = int(name_or_id) if name_or_id.isascii() and name_or_id.isdigit() and len(name_or_id) < 10 else None
    async with conn.cursor(row_factory=class_row(FabricHead)) as cursor:
        await cursor.execute(
            _HEAD + SQL(" WHERE name = %(name)s OR fabric_id = %(number)s ORDER BY name = %(name)s DESC LIMIT 1"),
            {"name": name_or_id, "number": number},
        )
        fabric_head = await cursor.fetchone()
    if fabric_head is None:
        names = [row.name for row in await list_heads(conn)]
        listing = ", ".join(names[:10]) + (" and more" if len(names) > 10 else "")
        raise NotFound(
            f"there is no fabric {name_or_id[:80]!r}",
            advice=f"Known fabrics: {listing}." if names else "Import one with `flitwatch import fabric`.",
        )
    return fabric_head


@dataclass(frozen=True, slots=True)
class Reach:
    """Time range of a fabric's counters, in epoch seconds; None without counters.

    Attributes
    ----------
    first_s, last_s : int or None
        Start of the first bucket, end of the newest.
    oldest_s : dict
        By bucket width in seconds: start of the oldest stored bucket of routers; a width without rows is omitted.
    oldest_of_fabric_s : dict
        The same for buckets of the whole fabric, rolled up or due.
    due_s : tuple of int
        Sorted hours whose buckets of the whole fabric have not been rolled up yet.
    cards_last_s : int or None
        End of the newest bucket of network cards, if no router has counters.
    """

    first_s: int | None
    last_s: int | None
    oldest_s: dict[int, int]
    oldest_of_fabric_s: dict[int, int] = field(default_factory=dict)
    oldest_of_ports_s: int | None = None
    due_s: tuple[int, ...] = ()
    cards_last_s: int | None = None

    def kept(self, width_s: int, from_s: float) -> bool:
        """Return whether rows of that width begin at or before a time, or are as old as any rows."""
        of_fabric = width_s in rollups.TABLES
        oldest = (self.oldest_of_fabric_s if of_fabric else self.oldest_s).get(width_s)
        if oldest is None:
            return not self.oldest_s
        # If a table of routers begins in an earlier bucket and is not finer, this table has dropped data.
        dropped = any(start + width <= oldest for width, start in self.oldest_s.items() if of_fabric or width > width_s)
        return from_s >= oldest or not dropped


_CARDS_EDGE = {
    width: SQL("SELECT extract(epoch FROM ts)::bigint FROM {} WHERE fabric_id = %s ORDER BY ts DESC LIMIT 1").format(
        SQL(table)
    )
    for width, table in ((1, "endpoint_1s"), (60, "endpoint_1m"), (3600, "endpoint_1h"))
}
_EDGE = {
    width: (
        SQL("SELECT extract(epoch FROM ts)::bigint FROM {} WHERE fabric_id = %s ORDER BY ts LIMIT 1").format(
            SQL(table)
        ),
        SQL("SELECT extract(epoch FROM ts)::bigint FROM {} WHERE fabric_id = %s ORDER BY ts DESC LIMIT 1").format(
            SQL(table)
        ),
    )
    for width, table in ((1, "router_1s"), (60, "router_1m"), (3600, "router_1h"))
}


_FABRIC_EDGE = {
    width: SQL("SELECT extract(epoch FROM ts)::bigint FROM {} WHERE fabric_id = %s ORDER BY ts LIMIT 1").format(
        SQL(table)
    )
    for width, (table, _) in rollups.TABLES.items()
}
_PORTS_EDGE = SQL("SELECT extract(epoch FROM ts)::bigint FROM port_10s WHERE fabric_id = %s ORDER BY ts LIMIT 1")
_DUE = SQL("SELECT DISTINCT extract(epoch FROM hour)::bigint AS hour FROM rollup_due WHERE fabric_id = %s ORDER BY 1")


async def load_reach(conn: Connection, fabric_id: int) -> Reach:
    """Load the time range of a fabric's router counters."""
    oldest: dict[int, int] = {}
    last: int | None = None
    for width, (first, newest) in _EDGE.items():
        row = await (await conn.execute(first, [fabric_id])).fetchone()
        if row is None:
            continue
        oldest[width] = int(row[0])
        if last is None:
            end = await (await conn.execute(newest, [fabric_id])).fetchone()
            assert end is not None
            last = int(end[0]) + width
    if not oldest:
        newest_cards = [
            start + width for width, edge in _CARDS_EDGE.items() for start in await _fetch_starts(conn, edge, fabric_id)
        ]
        return Reach(None, None, {}, cards_last_s=newest_cards[0] if newest_cards else None)
    # The finest table that begins in the coarsest table's first bucket has the most exact start.
    widest = max(oldest)
    first_s = max(start for start in oldest.values() if start < oldest[widest] + widest)
    due = tuple(int(hour) for (hour,) in await (await conn.execute(_DUE, [fabric_id])).fetchall())
    of_fabric: dict[int, int] = {}
    for width, edge in _FABRIC_EDGE.items():
        starts = await _fetch_starts(conn, edge, fabric_id)
        source = oldest.get(60 if width < 3600 else 3600)
        if due and source is not None:
            # Due buckets are summed from rows of routers, as far as these are kept.
            starts.append(max(due[0], source) // width * width)
        if starts:
            of_fabric[width] = min(starts)
    ports = await _fetch_starts(conn, _PORTS_EDGE, fabric_id)
    return Reach(first_s, last, oldest, of_fabric, ports[0] if ports else None, due)


async def cards_counted(conn: Connection, fabric_id: int, from_s: float, to_s: float) -> bool:
    """Return whether a network card was counted in a minute of [from, to)."""
    query = "SELECT FROM endpoint_1m WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts < to_timestamp(%s) LIMIT 1"
    return await (await conn.execute(query, [fabric_id, from_s, to_s])).fetchone() is not None


async def _fetch_starts(conn: Connection, query: SQL | Composed, fabric_id: int) -> list[int]:
    """Return the first column of a query's result for a fabric."""
    return [int(start) for (start,) in await (await conn.execute(query, [fabric_id])).fetchall()]


async def usual_tile_seconds(
    conn: Connection, fabric_id: int, from_s: int, to_s: int, routers: int
) -> NDArray[np.float64]:
    """Return the most tile-seconds per second that each router counted in a minute of [from, to): float64[routers], NaN if none."""
    rows = await fetch_columns(
        conn,
        SQL(
            "SELECT router, max(tile_seconds) / 60 AS rate FROM router_1m"
            " WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts < to_timestamp(%s) GROUP BY router"
        ),
        [fabric_id, from_s, to_s],
        {"router": "i4", "rate": "f8"},
    )
    rates = np.full(routers, np.nan)
    inside = rows["router"] < routers
    rates[rows["router"][inside]] = rows["rate"][inside]
    return rates


async def counted_routers(conn: Connection, fabric_id: int, snapshot: bool, since_s: int) -> NDArray[np.int32]:
    """Return routers with counters: for a snapshot all with any, otherwise those with rows since a time."""
    if snapshot:
        source, parameters = SQL("SELECT DISTINCT router FROM port_total WHERE fabric_id = %s"), [fabric_id]
    else:
        source = SQL("SELECT DISTINCT router FROM router_1h WHERE fabric_id = %s AND ts >= to_timestamp(%s)")
        parameters = [fabric_id, since_s]
    return (await fetch_columns(conn, source, parameters, {"router": "i4"}))["router"]


async def count_devices(conn: Connection, fabric_id: int) -> tuple[int, int, int, list[int]]:
    """Return the numbers of routers, endpoints and links, and the existing groups."""
    cursor = await conn.execute(
        "SELECT (SELECT count(*) FROM router WHERE fabric_id = %(f)s), (SELECT count(*) FROM endpoint WHERE fabric_id = %(f)s),"
        " (SELECT count(*) FROM link WHERE fabric_id = %(f)s),"
        " (SELECT coalesce(array_agg(DISTINCT group_id ORDER BY group_id), '{}') FROM router WHERE fabric_id = %(f)s AND group_id >= 0)",
        {"f": fabric_id},
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2]), list(row[3])


class RouteChange(TypedDict):
    """Change of routes: when tables were loaded, their note, and their numbers of entries and changed entries; None is unknown."""

    ts: datetime
    note: str | None
    entries: int | None
    changed: int | None


async def route_changes(
    conn: Connection, fabric_id: int, from_: datetime, to: datetime, limit: int
) -> list[RouteChange]:
    """Return the newest route changes of a fabric in [from, to)."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            SQL(
                "SELECT ts, note, entries, changed FROM route_change WHERE fabric_id = %s AND ts >= %s AND ts < %s"
                " ORDER BY ts DESC LIMIT %s"
            ),
            [fabric_id, from_, to, limit],
        )
        return cast(list[RouteChange], await cursor.fetchall())
