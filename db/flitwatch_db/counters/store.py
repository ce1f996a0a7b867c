"""Store counters: additive rows of a batch, with their rollups in the same transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from flitwatch_db.core import additive, packing
from flitwatch_db.core.additive import LANE_ARRAYS, ensure_chunks
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import rollups
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LANES, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput


class Observation(NamedTuple):
    """One sample of a schema; the schema's columns define the array of each entry."""

    schema_id: int
    component_id: int | None
    instance: str | None
    ts_s: float
    u64: Sequence[int | None] | None = None
    f64: Sequence[float | None] | None = None
    text: Sequence[str | None] | None = None


def write_observations(conn: psycopg.Connection[Any], rows: Sequence[Observation]) -> None:
    """Store samples within the caller's transaction.

    `u64` accepts every integer from 0 to 2^64 - 1; texts must not contain NUL.
    """
    if not rows:
        return
    ensure_chunks(conn, "observation", np.array([int(row.ts_s) for row in rows], dtype=np.int64))
    with (
        conn.cursor() as cursor,
        cursor.copy("COPY observation (schema_id, component_id, instance, ts, u64, f64, text) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(
                (
                    row.schema_id,
                    row.component_id,
                    row.instance,
                    datetime.fromtimestamp(row.ts_s, UTC),
                    None if row.u64 is None else list(row.u64),
                    None if row.f64 is None else list(row.f64),
                    None if row.text is None else list(row.text),
                )
            )


Device = Literal["router", "endpoint"]
#: Longer windows are read from the hourly table.
HOURS_FROM_S, HOUR_S = 6 * 3600, 3600


def whole_window(from_s: int, to_s: int) -> tuple[int, int]:
    """Return the window to read for a requested one: whole hours if it is long."""
    if to_s - from_s <= HOURS_FROM_S:
        return from_s, to_s
    return from_s // HOUR_S * HOUR_S, -(-to_s // HOUR_S) * HOUR_S


async def lane_sums(
    conn: Connection, fabric_id: int, device: Device, number: int, port: int, from_s: int, to_s: int
) -> dict[str, NDArray[np.float64]]:
    """Sum by lane over [from, to) for a router's port or an endpoint (port 0): float64[LANES] per array of `LANE_ARRAYS`, NaN if not counted."""
    width = "1h" if to_s - from_s > HOURS_FROM_S else "10s"
    slices = SQL(", ").join(SQL("{}[%(low)s:%(high)s]").format(Identifier(name)) for name in LANE_ARRAYS)
    sums = SQL(", ").join(SQL("sum({})").format(Identifier(f"lane_{name}")) for name in LANE_ARRAYS)
    query = SQL(
        "SELECT place, {sums} FROM {table}, unnest({slices}) WITH ORDINALITY AS lane ({names}, place)"
        " WHERE fabric_id = %(fabric)s AND {device} = %(number)s AND ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s) GROUP BY place"
    ).format(
        sums=sums,
        table=Identifier(f"{device}_lane_{width}"),
        slices=slices,
        names=SQL(", ").join(Identifier(f"lane_{name}") for name in LANE_ARRAYS),
        device=Identifier(device),
    )
    lane_values = {name: np.full(LANES, np.nan) for name in LANE_ARRAYS}
    parameters = {"fabric": fabric_id, "number": number, "from": from_s, "to": to_s}
    rows = await conn.execute(query, {**parameters, "low": port * LANES + 1, "high": (port + 1) * LANES})
    async for place, *values in rows:
        for name, value in zip(LANE_ARRAYS, values, strict=True):
            lane_values[name][place - 1] = np.nan if value is None else value
    return lane_values


#: Bucket times must be in [1970, 2106): outside, a clock is wrong, and every such day would create its own partitions.
LATEST_TS_S = 1 << 32

#: Suffix and width of the tables for each row.
WIDTHS_S = {"1s": 1, "1m": 60, "1h": 3600}
PORT_BUCKET_S = 10
#: Suffix and width of the tables of lanes.
LANE_WIDTHS_S = {"10s": PORT_BUCKET_S, "1h": 3600}


@dataclass(frozen=True)
class Rows:
    """Counts of routers or endpoints per second.

    Attributes
    ----------
    fabric_id, device : int32[n]
        The fabric, and the router or endpoint within it.
    ts_s : int64[n]
        Start of the second, in seconds since 1970 UTC.
    samples : int32[n]
        Number of samples that ended in the bucket.
    seconds : float64[n]
        Counted time: tile-seconds of a router, seconds of an endpoint.
    values : float64[n, c]
        Counts in the order of `ROUTER_COLUMNS` or `ENDPOINT_COLUMNS`; NaN if unknown; negative if a late sample subtracts.
    """

    fabric_id: NDArray[np.int32]
    device: NDArray[np.int32]
    ts_s: NDArray[np.int64]
    samples: NDArray[np.int32]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class PortRows:
    """Counts of ports per ten seconds.

    Attributes
    ----------
    fabric_id, router : int32[n]
    ts_s : int64[n]
        Start of the bucket, a multiple of ten.
    seconds : float64[n]
        Counted port-seconds.
    flits, stall_cycles : float64[n, p]
        By port; NaN if not counted.
    packets : float64[n, p], optional
    """

    fabric_id: NDArray[np.int32]
    router: NDArray[np.int32]
    ts_s: NDArray[np.int64]
    seconds: NDArray[np.float64]
    flits: NDArray[np.float64]
    stall_cycles: NDArray[np.float64]
    packets: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class LaneRows:
    """Counts of lanes per ten seconds, of routers' ports or of endpoints.

    Attributes
    ----------
    fabric_id, device : int32[n]
        The fabric, and the router or endpoint within it.
    ts_s : int64[n]
        Start of the bucket, a multiple of ten.
    seconds : float64[n]
        Counted seconds, summed over ports.
    values : float64[n, 3, p, LANES]
        `LANE_ARRAYS` by port and lane (one port for an endpoint); NaN if a lane is not counted.
    """

    fabric_id: NDArray[np.int32]
    device: NDArray[np.int32]
    ts_s: NDArray[np.int64]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


AnyRows = TypeVar("AnyRows", Rows, PortRows)


@dataclass(frozen=True)
class Batch:
    """Rows of one writer transaction; lanes are grouped by fabric, because fabrics differ in the number of ports."""

    routers: Rows | None = None
    ports: PortRows | None = None
    endpoints: Rows | None = None
    router_lanes: Sequence[LaneRows] = ()
    endpoint_lanes: Sequence[LaneRows] = ()


def fabrics_of(batch: Batch) -> set[int]:
    parts = [batch.routers, batch.ports, batch.endpoints, *batch.router_lanes, *batch.endpoint_lanes]
    return {int(fabric_id) for part in parts if part is not None for fabric_id in np.unique(part.fabric_id)}


def drop_fabrics(batch: Batch, gone: Collection[int]) -> Batch:
    """Return a batch without the counts of some fabrics."""

    def left(rows: AnyRows) -> AnyRows:
        keep = ~np.isin(rows.fabric_id, list(gone))
        columns: dict[str, Any] = {attribute.name: getattr(rows, attribute.name) for attribute in fields(rows)}
        kept_columns: dict[str, Any] = {
            name: None if column is None else column[keep] for name, column in columns.items()
        }
        return replace(rows, **kept_columns)

    return Batch(
        None if batch.routers is None else left(batch.routers),
        None if batch.ports is None else left(batch.ports),
        None if batch.endpoints is None else left(batch.endpoints),
        # Each part contains only one fabric.
        [part for part in batch.router_lanes if int(part.fabric_id[0]) not in gone],
        [part for part in batch.endpoint_lanes if int(part.fabric_id[0]) not in gone],
    )


def write_batch(
    conn: psycopg.Connection[Any], batch: Batch, widths_s: Mapping[str, int] = MappingProxyType(WIDTHS_S)
) -> None:
    """Add a batch to the counter tables and to its minutes and hours, within the caller's transaction, and mark its hours for maintenance.

    Keys may repeat within a batch and may exist in the tables: counts are added, and unknown plus known is known. `widths_s` omits tables with a
    finer width than the rows of routers and endpoints: a minute's sums are not stored in tables of seconds. Raise BadInput if arrays differ in
    length, or a time is outside [1970, 2106).
    """
    if batch.routers is not None and len(batch.routers.ts_s):
        _write_rows(conn, "router", "tile_seconds", ROUTER_COLUMNS, batch.routers, widths_s)
    if batch.endpoints is not None and len(batch.endpoints.ts_s):
        _write_rows(conn, "endpoint", "seconds", ENDPOINT_COLUMNS, batch.endpoints, widths_s)
    if batch.ports is not None and len(batch.ports.ts_s):
        _write_ports(conn, batch.ports)
    for device, parts in (("router", batch.router_lanes), ("endpoint", batch.endpoint_lanes)):
        for part in parts:
            _write_lanes(conn, device, part)
    if batch.routers is not None and len(batch.routers.ts_s):
        rollups.mark_hours(conn, batch.routers.fabric_id, batch.routers.ts_s)


def _check_rows(n: int, ts_s: NDArray[np.int64], *arrays: NDArray[Any] | None) -> None:
    if any(a is not None and len(a) != n for a in arrays):
        raise BadInput("the arrays of a batch differ in length")
    if int(ts_s.min()) < 0 or int(ts_s.max()) >= LATEST_TS_S:
        raise BadInput(f"bucket times {int(ts_s.min())} to {int(ts_s.max())} s are outside 1970 to 2106")


def _write_rows(
    conn: psycopg.Connection[Any],
    device: str,
    seconds: str,
    columns: tuple[str, ...],
    rows: Rows,
    widths_s: Mapping[str, int],
) -> None:
    n = len(rows.ts_s)
    _check_rows(n, rows.ts_s, rows.fabric_id, rows.device, rows.samples, rows.seconds, rows.values)
    if rows.values.shape != (n, len(columns)):
        raise BadInput(f"values of shape {rows.values.shape} do not fit {n} rows of {len(columns)} {device} columns")
    table = additive.rows_table(device, seconds, columns)
    sums = additive.Sums(rows.fabric_id, rows.ts_s, rows.device, rows.samples, rows.seconds, rows.values)
    additive.merge_sums(conn, table, device, sums, widths_s)


def _write_ports(conn: psycopg.Connection[Any], rows: PortRows) -> None:
    n = len(rows.ts_s)
    _check_rows(n, rows.ts_s, rows.fabric_id, rows.router, rows.seconds, rows.flits, rows.stall_cycles, rows.packets)
    if (rows.ts_s % PORT_BUCKET_S).any():
        raise BadInput("bucket times of ports are not multiples of 10 s")
    packets = np.full(rows.flits.shape, np.nan) if rows.packets is None else rows.packets
    parts = [rows.flits, rows.stall_cycles, packets]
    if any(part.shape != rows.flits.shape for part in parts):
        raise BadInput("flits, stall_cycles and packets differ in their number of ports")
    sums = additive.add_up(
        additive.Sums(rows.fabric_id, rows.ts_s, rows.router, None, rows.seconds, np.concatenate(parts, axis=1))
    )
    additive.merge_arrays(conn, additive.arrays_table("router", additive.PORT_ARRAYS), "port_10s", sums, whole=2)


def _write_lanes(conn: psycopg.Connection[Any], device: str, rows: LaneRows) -> None:
    n = len(rows.ts_s)
    _check_rows(n, rows.ts_s, rows.fabric_id, rows.device, rows.seconds, rows.values)
    if rows.values.shape[1] != len(additive.LANE_ARRAYS) or rows.values.shape[3] != LANES:
        raise BadInput(f"counts of lanes of shape {rows.values.shape} are not by array, port and {LANES} lanes")
    if (rows.ts_s % PORT_BUCKET_S).any():
        raise BadInput("bucket times of lanes are not multiples of 10 s")
    sums = additive.Sums(rows.fabric_id, rows.ts_s, rows.device, None, rows.seconds, rows.values.reshape(n, -1))
    table = additive.arrays_table(device, additive.LANE_ARRAYS)
    for suffix, width_s in LANE_WIDTHS_S.items():
        sums = additive.add_up(sums.floored(width_s))
        additive.merge_arrays(conn, table, f"{device}_lane_{suffix}", sums)


def write_port_totals(
    conn: psycopg.Connection[Any],
    fabric_id: int,
    router: NDArray[np.int32],
    port: NDArray[np.int32],
    flits: NDArray[np.float64],
    stall_cycles: NDArray[np.float64],
    source: str,
    vc_flits: NDArray[np.float64] | None = None,
    vc_stall_cycles: NDArray[np.float64] | None = None,
) -> None:
    """Store counts without a time, one row per port; existing counts of the same port are replaced.

    Parameters
    ----------
    router, port : int32[n]
        Unique pairs.
    flits, stall_cycles : float64[n]
        NaN if unknown.
    source : str
        The source file.
    vc_flits, vc_stall_cycles : float64[n, v], optional
        By virtual channel.
    """
    n = len(router)
    names = "fabric_id, router, port, flits, stall_cycles, vc_flits, vc_stall_cycles, source"
    stream = packing.pack_rows(
        packing.pack_int4(np.full(n, fabric_id)),
        packing.pack_int4(router),
        packing.pack_int4(port),
        packing.pack_float8(flits),
        packing.pack_float8(stall_cycles),
        packing.float8_array(vc_flits, n),
        packing.float8_array(vc_stall_cycles, n),
        packing.pack_text([source] * n),
        columns=8,
    )
    with conn.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE IF NOT EXISTS staging_total ON COMMIT DELETE ROWS"  # noqa: S608
            f" AS SELECT {names} FROM port_total WITH NO DATA"
        )
        cursor.execute("TRUNCATE pg_temp.staging_total")
        with cursor.copy(f"COPY pg_temp.staging_total ({names}) FROM STDIN (FORMAT binary)") as copy:
            copy.write(stream)
        cursor.execute(
            f"INSERT INTO port_total ({names}) SELECT {names} FROM pg_temp.staging_total ON CONFLICT (fabric_id, router, port)"  # noqa: S608
            " DO UPDATE SET flits = excluded.flits, stall_cycles = excluded.stall_cycles, vc_flits = excluded.vc_flits,"
            " vc_stall_cycles = excluded.vc_stall_cycles, source = excluded.source"
        )
