"""Counters of a job's own parts while it ran: its network cards, and the links counted at its routers, by class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.counters import CATALOGUE

Conn = psycopg.Connection[Any]
Floats = NDArray[np.float64]

#: Maximum number of rows read from one table; above it a coarser table is used.
MOST_ROWS = 400_000
STEPS = (10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400)
#: Curves from columns of router_1s (minutes, hours) and endpoint_1s: key, label, numerator, denominator.
_LINKS = (
    ("blue", "Blue links", "blue_stall_cycles", "blue_flits"),
    ("black", "Black links", "black_stall_cycles", "black_flits"),
    ("green", "Green links", "green_stall_cycles", "green_flits"),
    ("links", "All links", "rt_stall_cycles", "rt_flits"),
)
_NICS = (
    ("nic_latency", "NIC latency", "latency_us_sum", "rq_packets"),
    ("nic_stalls", "NIC stalls", "rq_stall_cycles", "rq_flits"),
    ("nic_waits", "NIC waits", "tx_wait_cycles", "tx_flits"),
)
_WORDS = {"us": "µs", "cycles": "cycles", "flits": "flit", "packets": "request"}


@dataclass(frozen=True)
class Part:
    """A value over time; NaN is unknown."""

    key: str
    label: str
    unit: str
    values: Floats


@dataclass(frozen=True)
class Parts:
    """Starts of the steps in epoch seconds int64 (T,), their length in seconds, and the counted values."""

    ts: NDArray[np.int64]
    step_s: int
    parts: list[Part]


def unit_of(numerator: str, denominator: str) -> str:
    """Return the unit of a quotient of two columns, from the catalogue of counters: µs / request, cycles / flit."""
    return f"{_WORDS[_find_unit(numerator)]} / {_WORDS[_find_unit(denominator)]}"


def _find_unit(column: str) -> str:
    named = column.removeprefix("blue_").removeprefix("black_").removeprefix("green_")
    for kind in CATALOGUE:
        if column in (kind.endpoint_column, kind.router_column) or f"rt_{named}" == kind.router_column:
            return kind.unit
    raise KeyError(column)


def load_parts(conn: Conn, job_pk: int, from_s: float, to_s: float, points: int = 180) -> Parts:
    """Load counters of a job's network cards and of its routers' links in [from, to), in at most about `points` steps.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    """
    place = conn.execute(
        "SELECT fabric_id, array_agg(DISTINCT router), array_agg(DISTINCT endpoint) FILTER (WHERE endpoint IS NOT NULL) FROM job_node"
        " WHERE job_pk = %s AND router IS NOT NULL GROUP BY fabric_id ORDER BY count(*) DESC, fabric_id LIMIT 1",
        [job_pk],
    ).fetchone()
    step = next((item for item in STEPS if (to_s - from_s) / item <= points), STEPS[-1])
    first = math.floor(from_s / step) * step
    ts = np.arange(first, max(math.ceil(to_s / step) * step, first + step), step, dtype=np.int64)
    if place is None:
        return Parts(ts, step, [])
    fabric, routers, endpoints = place
    link_sums = _sum_counters(conn, "router", fabric, routers, ts, step, _LINKS)
    nics = _sum_counters(conn, "endpoint", fabric, endpoints or [], ts, step, _NICS)
    all_parts = [*_compute_quotients(nics, _NICS), *_compute_quotients(link_sums, _LINKS)]
    keys = {item.key for item in all_parts}
    # Waits replace stalls if a technology does not count stalled requests, and all links are shown if there are no classes.
    hidden = ({"nic_waits"} if "nic_stalls" in keys else set()) | (
        {"links"} if keys & {"blue", "black", "green"} else set()
    )
    return Parts(ts, step, [item for item in all_parts if item.key not in hidden])


def rows_within(width: int) -> SQL:
    """Return the condition for rows of %(from)s to %(to)s, in epoch seconds, of a table with one row per `width` seconds."""
    # Rows per second are read by their known keys, as in all other reads.
    return (
        SQL("ts = ANY(ARRAY(SELECT generate_series(to_timestamp(%(from)s), to_timestamp(%(to)s - 1), interval '1 s')))")
        if width == 1
        else SQL("ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)")
    )


def _sum_counters(
    conn: Conn,
    what: str,
    fabric: int,
    numbers: list[int],
    ts: NDArray[np.int64],
    step: int,
    measures: tuple[tuple[str, ...], ...],
) -> dict[str, Floats]:
    columns = sorted({name for measure in measures for name in measure[2:]})
    begin, end = int(ts[0]), int(ts[-1]) + step
    for width, suffix in ((1, "1s"), (60, "1m"), (3600, "1h")):
        if step % width or (width < 3600 and (end - begin) / width * len(numbers) > MOST_ROWS):
            continue
        query = SQL(
            "SELECT ((extract(epoch FROM ts)::bigint - %(from)s) / %(step)s)::int AS at, {} FROM {}"
            " WHERE fabric_id = %(fabric)s AND {} = ANY(%(numbers)s) AND {} GROUP BY 1"
        ).format(
            SQL(", ").join(SQL("sum({0})::float8 AS {0}").format(Identifier(name)) for name in columns),
            Identifier(f"{what}_{suffix}"),
            Identifier(what),
            rows_within(width),
        )
        rows = fetch_rows(conn, query, {"from": begin, "to": end, "step": step, "fabric": fabric, "numbers": numbers})
        if rows:
            sums = {name: np.full(len(ts), np.nan) for name in columns}
            for row in rows:
                for name, array in sums.items():
                    array[row["at"]] = np.nan if row[name] is None else row[name]
            return sums
    return {}


def _compute_quotients(sums: dict[str, Floats], measures: tuple[tuple[str, ...], ...]) -> list[Part]:
    quotients = []
    for key, label, above, below in measures:
        if not sums:
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(sums[below] > 0, sums[above] / sums[below], np.nan)
        if np.isfinite(values).any():
            quotients.append(Part(key, label, unit_of(above, below), values))
    return quotients
