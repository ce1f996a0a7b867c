"""Route changes of a fabric: load times, and the number of entries that differ from the previous tables."""

from __future__ import annotations

import gzip
from datetime import datetime
from typing import Any, LiteralString, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.core import events
from flitwatch_domain.errors import Conflict
from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.kept import Kept
from flitwatch_domain.link_shares import Routes
from flitwatch_domain.routes import routes_of

_MOST_MADE = 4
_made = Kept[Routes](_MOST_MADE)


def routes_at(conn: psycopg.Connection[Any], fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> Routes:
    """Return the routes in [from, to), epoch seconds, cached by the fabric's version and tables. Tables that changed in between are not used."""
    tables = (
        None if fabric.kind is FabricKind.DRAGONFLY else find_tables_key(conn, fabric_id, float(from_s), float(to_s))
    )
    made = _made.find((id(fabric), tables), fabric)
    if made is not None:
        return made
    routes = routes_of(fabric, None if tables is None else ports_of(conn, fabric_id, tables))
    return _made.keep((id(fabric), tables), routes, fabric)


class RouteChange(NamedTuple):
    """A stored change: entries of its tables, and the number that differ from the previous tables (None: nothing to compare)."""

    ts: datetime
    entries: int | None
    changed: int | None
    #: False if these tables were already loaded, so that nothing was stored.
    new: bool


def record_change(
    conn: psycopg.Connection[Any],
    fabric_id: int,
    ts: datetime,
    ports: NDArray[np.int64] | None,
    note: str | None = None,
    source: str | None = None,
) -> RouteChange:
    """Store a change within the caller's transaction, replacing one of the same fabric and time.

    Parameters
    ----------
    ts : datetime
        Time at which the routes were loaded.
    ports : int[routers, endpoints] or None
        Output ports, -1 if there is no entry; None: the tables are unknown, and `note` describes the change.
    note : str or None
        The user's description of the change.

    Without a note, tables equal to those loaded at `ts` are not stored: a dump that is read every hour creates a mark only if routes change.
    """
    # One importer at a time: the compared tables must not change before the new ones are stored.
    conn.execute("SELECT FROM fabric WHERE fabric_id = %s FOR NO KEY UPDATE", [fabric_id])
    if ports is not None and note is None:
        force = _load_tables(conn, "ts <= %s ORDER BY ts DESC", fabric_id, ts)
        if force is not None and _count_changes(force.ports, ports) == 0:
            return RouteChange(force.ts, int((ports >= 0).sum()), 0, new=False)
    before = None if ports is None else _load_tables(conn, "ts < %s ORDER BY ts DESC", fabric_id, ts)
    entries = None if ports is None else int((ports >= 0).sum())
    changed = None if ports is None or before is None else _count_changes(before.ports, ports)
    packed = None if ports is None else _pack_ports(ports)
    conn.execute(
        "INSERT INTO route_change (fabric_id, ts, note, entries, changed, source, tables) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (fabric_id, ts) DO UPDATE SET note = excluded.note, entries = excluded.entries, changed = excluded.changed,"
        " source = excluded.source, tables = excluded.tables",
        [fabric_id, ts, note, entries, changed, source, packed],
    )
    after = None if ports is None else _load_tables(conn, "ts > %s ORDER BY ts", fabric_id, ts)
    if ports is not None and after is not None:
        conn.execute(
            "UPDATE route_change SET changed = %s WHERE fabric_id = %s AND ts = %s",
            [_count_changes(ports, after.ports), fabric_id, after.ts],
        )
    events.emit_event(conn, "routes", {"fabric_id": fabric_id, "ts": ts.isoformat()})
    return RouteChange(ts, entries, changed, new=True)


def in_force(conn: psycopg.Connection[Any], fabric_id: int, from_: datetime, to: datetime) -> NDArray[np.int64] | None:
    """Return the tables (routers, endpoints) that were loaded for all of [from, to); None if they are unknown. Raise Conflict if routes changed in
    between."""
    changed = conn.execute(
        "SELECT ts FROM route_change WHERE fabric_id = %s AND ts > %s AND ts < %s ORDER BY ts DESC LIMIT 1",
        [fabric_id, from_, to],
    ).fetchone()
    if changed is not None:
        raise Conflict(
            f"routes changed at {changed[0].isoformat()}, within the window",
            advice="Choose a window in which the same tables were loaded.",
        )
    newest = conn.execute(
        "SELECT tables FROM route_change WHERE fabric_id = %s AND ts <= %s ORDER BY ts DESC LIMIT 1", [fabric_id, from_]
    ).fetchone()
    return None if newest is None or newest[0] is None else _unpack_ports(newest[0])


def find_tables_key(
    conn: psycopg.Connection[Any], fabric_id: int, from_s: float, to_s: float
) -> tuple[int, str] | None:
    """Return a key for `ports_of` of the tables loaded for all of [from, to), epoch seconds; None if they are unknown or changed."""
    row = conn.execute(
        "SELECT extract(epoch FROM ts) <= %s, tables IS NOT NULL, (extract(epoch FROM ts) * 1e6)::bigint, xmin::text || ctid::text FROM route_change"
        " WHERE fabric_id = %s AND ts < to_timestamp(%s) ORDER BY ts DESC LIMIT 1",
        [from_s, fabric_id, to_s],
    ).fetchone()
    return (row[2], row[3]) if row is not None and row[0] and row[1] else None


def ports_of(conn: psycopg.Connection[Any], fabric_id: int, key: tuple[int, str]) -> NDArray[np.int64] | None:
    """Return the tables (routers, endpoints) for a key from `find_tables_key`; None if they have been deleted since."""
    row = conn.execute(
        "SELECT tables FROM route_change WHERE fabric_id = %s AND ts = to_timestamp(0) + %s * interval '1 microsecond'",
        [fabric_id, key[0]],
    ).fetchone()
    return None if row is None or row[0] is None else _unpack_ports(row[0])


def forget_tables(conn: psycopg.Connection[Any], fabric_id: int) -> None:
    """Delete a fabric's tables, which are no longer comparable after routers and endpoints were renumbered; the changes are kept."""
    conn.execute("UPDATE route_change SET tables = NULL WHERE fabric_id = %s", [fabric_id])


class _Tables(NamedTuple):
    ts: datetime
    ports: NDArray[np.int64]


def _load_tables(conn: psycopg.Connection[Any], which: LiteralString, fabric_id: int, ts: datetime) -> _Tables | None:
    query: LiteralString = "SELECT ts, tables FROM route_change WHERE fabric_id = %s AND tables IS NOT NULL AND "
    row = conn.execute(query + which + " LIMIT 1", [fabric_id, ts]).fetchone()
    return None if row is None else _Tables(row[0], _unpack_ports(row[1]))


def _pack_ports(ports: NDArray[np.int64]) -> bytes:
    return gzip.compress(np.array(ports.shape, "<i4").tobytes() + ports.astype("<i2").tobytes(), 6, mtime=0)


def _unpack_ports(packed: bytes) -> NDArray[np.int64]:
    raw = gzip.decompress(packed)
    return np.frombuffer(raw[8:], "<i2").reshape(np.frombuffer(raw[:8], "<i4")).astype(np.int64)


def _count_changes(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """Count the entries that were added, removed, or use another port."""
    return int((before != after).sum())
