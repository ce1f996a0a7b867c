"""Sums by key, added to a table in three steps: numpy, binary COPY into a staging table, and one additive upsert."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.core import packing


@dataclass(frozen=True)
class Sums:
    """Rows keyed by (fabric_id, ts_s, device); `samples` is None if the table has none."""

    fabric_id: NDArray[np.int32]
    ts_s: NDArray[np.int64]
    device: NDArray[np.int32]
    samples: NDArray[np.int32] | None
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]

    def floored(self, width_s: int) -> Sums:
        """Return the same rows in buckets of `width_s`; keys may repeat."""
        return replace(self, ts_s=self.ts_s - self.ts_s % width_s)


def add_up(sums: Sums) -> Sums:
    """Return one row per key, in the order of the key; unknown (NaN) plus known is known, unknown plus unknown is unknown."""
    order = np.lexsort((sums.device, sums.ts_s, sums.fabric_id))
    fabric_id, ts_s, device = sums.fabric_id[order], sums.ts_s[order], sums.device[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (fabric_id[1:] != fabric_id[:-1]) | (ts_s[1:] != ts_s[:-1]) | (device[1:] != device[:-1])
    samples = None if sums.samples is None else sums.samples[order]
    seconds, values = sums.seconds[order], sums.values[order]
    if new.all():
        return Sums(fabric_id, ts_s, device, samples, seconds, values)
    starts = np.flatnonzero(new)
    is_known = ~np.isnan(values)
    totals = np.add.reduceat(np.where(is_known, values, 0.0), starts, axis=0)
    totals[~np.logical_or.reduceat(is_known, starts, axis=0)] = np.nan
    return Sums(
        fabric_id[starts],
        ts_s[starts],
        device[starts],
        None if samples is None else np.add.reduceat(samples, starts),
        np.add.reduceat(seconds, starts),
        totals,
    )


@dataclass(frozen=True)
class Table:
    """Columns shared by all widths of one kind of table, and its staging table."""

    staging: str
    ddl: str
    columns: int
    copy: str
    upsert: str


@cache
def rows_table(device: str, seconds: str, values: tuple[str, ...]) -> Table:
    """Return the columns of `<device>_1s`, `_1m` and `_1h`; the names come from this package's own lists, never from data."""
    names = ["fabric_id", "ts", device, "samples", seconds, *values]
    staging = f"staging_{device}"
    floats = ", ".join(f"{name} float8" for name in values)
    adds = [f"{c} = t.{c} + excluded.{c}" for c in ("samples", seconds)]
    adds += [f"{c} = coalesce(t.{c} + excluded.{c}, t.{c}, excluded.{c})" for c in values]
    return Table(
        staging,
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {staging} (fabric_id int, ts timestamptz, {device} int, samples int,"
        f" {seconds} float8, {floats}) ON COMMIT DELETE ROWS",
        len(names),
        f"COPY pg_temp.{staging} ({', '.join(names)}) FROM STDIN (FORMAT binary)",
        f"INSERT INTO {{table}} AS t ({', '.join(names)}) SELECT fabric_id, {{ts}}, {', '.join(names[2:])} FROM pg_temp.{staging}"  # noqa: S608
        f" ON CONFLICT (fabric_id, ts, {device}) DO UPDATE SET {', '.join(adds)}",
    )


#: Arrays of `port_10s`, and of the tables of lanes.
PORT_ARRAYS = ("flits", "stall_cycles", "packets")
LANE_ARRAYS = ("sl_flits", "stall_cycles", "packets")


@cache
def arrays_table(device: str, arrays: tuple[str, ...]) -> Table:
    """Return the columns of a table with array columns; the names come from this package's own lists, never from data."""
    names = ["fabric_id", "ts", device, "port_seconds", *arrays]
    staging = f"staging_{device}_{arrays[0]}"
    adds = ["port_seconds = t.port_seconds + excluded.port_seconds"]
    adds += [f"{c} = array_add(t.{c}, excluded.{c})" for c in arrays]
    return Table(
        staging,
        f"CREATE TEMPORARY TABLE IF NOT EXISTS {staging} (fabric_id int, ts timestamptz, {device} int, port_seconds float8,"
        f" {', '.join(f'{name} float8[]' for name in arrays)}) ON COMMIT DELETE ROWS",
        len(names),
        f"COPY pg_temp.{staging} ({', '.join(names)}) FROM STDIN (FORMAT binary)",
        f"INSERT INTO {{table}} AS t ({', '.join(names)}) SELECT {', '.join(names)} FROM pg_temp.{staging}"  # noqa: S608
        f" ON CONFLICT (fabric_id, ts, {device}) DO UPDATE SET {', '.join(adds)}",
    )


def merge_sums(
    conn: psycopg.Connection[Any], table: Table, device: str, sums: Sums, widths_s: Mapping[str, int]
) -> None:
    """Add sums with unique keys to `<device>_<suffix>` for each suffix and width in seconds, from narrow to wide.

    If a batch of one second has one row per device, its minute and hour have the same rows: they are staged once and added three times.
    """
    assert sums.samples is not None
    staged: Sums | None = None
    for suffix, width_s in widths_s.items():
        sums = add_up(sums.floored(width_s))
        name = f"{device}_{suffix}"
        ensure_chunks(conn, name, sums.ts_s)
        if staged is None or len(staged.ts_s) != len(sums.ts_s):
            _stage_rows(conn, table, _pack_sums(table, sums))
            staged = sums
        ts = "ts" if staged is sums else f"date_bin('{width_s} s', ts, 'epoch')"
        conn.execute(table.upsert.format(table=name, ts=ts))


def _pack_sums(table: Table, sums: Sums) -> bytes:
    assert sums.samples is not None
    return packing.pack_rows(
        packing.pack_int4(sums.fabric_id),
        packing.pack_timestamptz(sums.ts_s),
        packing.pack_int4(sums.device),
        packing.pack_int4(sums.samples),
        packing.pack_float8_columns(np.column_stack((sums.seconds, sums.values))),
        columns=table.columns,
    )


def merge_arrays(conn: psycopg.Connection[Any], table: Table, name: str, sums: Sums, whole: int = 0) -> None:
    """Add sums with unique keys whose values are the table's arrays side by side.

    An array without known values is omitted, except for the first `whole` arrays, because readers use their length.
    """
    n, arrays = len(sums.ts_s), table.columns - 4
    width = sums.values.shape[1] // arrays
    parts = [sums.values[:, k * width : (k + 1) * width] for k in range(arrays)]
    stream = packing.pack_rows(
        packing.pack_int4(sums.fabric_id),
        packing.pack_timestamptz(sums.ts_s),
        packing.pack_int4(sums.device),
        packing.pack_float8(sums.seconds),
        *(
            packing.float8_array(None if k >= whole and np.isnan(part).all() else part, n)
            for k, part in enumerate(parts)
        ),
        columns=table.columns,
    )
    ensure_chunks(conn, name, sums.ts_s)
    _stage_rows(conn, table, stream)
    conn.execute(table.upsert.format(table=name))


def _stage_rows(conn: psycopg.Connection[Any], table: Table, stream: bytes) -> None:
    with conn.cursor() as cursor:
        cursor.execute(table.ddl)
        cursor.execute(f"TRUNCATE pg_temp.{table.staging}")
        with cursor.copy(table.copy) as copy:
            copy.write(stream)


#: (table, hour) that a connection found created and committed, and the time of that check.
_made: WeakKeyDictionary[psycopg.Connection[Any], dict[tuple[str, int], float]] = WeakKeyDictionary()
#: Time after which the check is repeated: retention may have dropped the chunk.
LOOK_AGAIN_S = 60.0


def ensure_chunks(conn: psycopg.Connection[Any], name: str, ts_s: NDArray[np.int64]) -> None:
    """Create the partitions for these times."""
    made_at_s = _made.setdefault(conn, {})
    now = time.monotonic()
    # Chunks are never shorter than an hour, so whole hours identify all of them.
    hours = [
        hour
        for hour in np.unique(ts_s // 3600 * 3600).tolist()
        if now - made_at_s.get((name, hour), -LOOK_AGAIN_S) >= LOOK_AGAIN_S
    ]
    if not hours:
        return
    row = conn.execute(
        "SELECT ensure_chunks(%s, ARRAY(SELECT to_timestamp(unnest(%s::float8[]))))", [name, [float(h) for h in hours]]
    ).fetchone()
    if row is not None and row[0] == 0:
        # Nothing was created now, so the existing chunks are committed, and a rollback cannot remove them.
        if len(made_at_s) > 10_000:
            made_at_s.clear()
        made_at_s.update({(name, hour): now for hour in hours})
