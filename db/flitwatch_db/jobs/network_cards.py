"""Counters of a job's network cards, by window and by NIC, and over single intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from flitwatch_db.jobs.parts import STEPS, rows_within
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.fabric import Technology
from flitwatch_domain.network_noise.observations import SEVERAL_GROUPS, NicObservation
from flitwatch_domain.network_noise.of_job import COLUMNS, LEAST_COUNTED, NicCounts

Conn = psycopg.Connection[Any]

#: Maximum numbers of windows per job, and of the rows of one table that are summed for it.
MOST_WINDOWS, MOST_ROWS = 180, 1_000_000


@dataclass(frozen=True)
class JobEndpoints:
    """A job's network cards on the fabric with most of them; `nodes`: all of the job's, in order."""

    fabric_id: int
    technology: Technology
    endpoints: list[int]
    nodes: tuple[str, ...]


def cards_of(conn: Conn, job_pk: int) -> JobEndpoints | None:
    """Return a job's network cards; None if no fabric has a NIC of its nodes."""
    row = conn.execute(
        """
        SELECT n.fabric_id, f.technology, array_agg(DISTINCT n.endpoint ORDER BY n.endpoint),
               (SELECT array_agg(DISTINCT node ORDER BY node) FROM job_node WHERE job_pk = %(job)s)
        FROM job_node n JOIN fabric f USING (fabric_id) WHERE n.job_pk = %(job)s AND n.endpoint IS NOT NULL
        GROUP BY 1, 2 ORDER BY count(DISTINCT n.endpoint) DESC, n.fabric_id LIMIT 1
        """,
        {"job": job_pk},
    ).fetchone()
    return None if row is None else JobEndpoints(row[0], Technology(row[1]), row[2], tuple(row[3]))


def groups_of(conn: Conn, nodes: Sequence[str], fabric_id: int | None = None) -> int | None:
    """Count the groups of these nodes, by default on the fabric with most of them; None if unknown nodes might be in other groups."""
    row = conn.execute(
        """
        SELECT count(DISTINCT e.node), count(DISTINCT q.group_id) FROM endpoint e JOIN router q USING (fabric_id, router)
        WHERE e.node = ANY(%(nodes)s) AND q.group_id IS NOT NULL AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s)
        GROUP BY fabric_id ORDER BY 1 DESC, fabric_id DESC LIMIT 1
        """,
        {"nodes": [*nodes], "fabric": fabric_id},
    ).fetchone()
    known_nodes, groups = (0, 0) if row is None else row
    return groups if groups >= SEVERAL_GROUPS or 0 < known_nodes == len(set(nodes)) else None


def load_counts(conn: Conn, cards: JobEndpoints, from_s: float, to_s: float) -> NicCounts:
    """Load counters in whole windows within [from_s, to_s), from the finest table with most of them.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader` or `writer`.
    """
    best, best_seen = NicCounts(1, {name: np.full((0, len(cards.endpoints)), np.nan) for name in COLUMNS}), 0.0
    for width in (1, 60, 3600):
        if width < 3600 and (to_s - from_s) / width * len(cards.endpoints) > MOST_ROWS:
            continue
        step = next(
            (seconds for seconds in STEPS if seconds % width == 0 and (to_s - from_s) / seconds <= MOST_WINDOWS),
            STEPS[-1],
        )
        first, last = math.ceil(from_s / step) * step, math.floor(to_s / step) * step
        if last <= first:
            continue
        sums = _sum_windows(conn, cards, first, last, step, width)
        coverage = float(np.isfinite(list(sums.counts.values())).any(0).mean())
        if coverage > best_seen:
            best, best_seen = sums, coverage
        if coverage >= LEAST_COUNTED:
            break
    return best


def load_observations(
    conn: Conn, job_pk: int, start_s: float, end_s: float, intervals: Sequence[tuple[float, float]]
) -> list[NicObservation]:
    """Return one observation per interval: the mean over the job's counted NICs.

    Parameters
    ----------
    start_s, end_s : float
        Start and end of the job, in epoch seconds; intervals are within them.

    Raises
    ------
    BadRequest
        An interval is outside the job, or NICs of this technology do not count latency and stalls.
    NotEnoughData
        Nothing was counted in an interval.
    """
    cards = cards_of(conn, job_pk)
    if cards is None or cards.technology is not Technology.CRAY_XC:
        raise BadRequest(
            "the counters of its network cards cannot replace observations: "
            + ("no fabric knows its nodes" if cards is None else f"{cards.technology} counts no latency of requests"),
            advice="Give the observations themselves.",
        )
    averages = []
    for begin, end in intervals:
        if not start_s <= begin < end <= end_s:
            raise BadRequest(
                f"the interval from {begin:.0f} to {end:.0f} is not within the job, from {start_s:.0f} to {end_s:.0f}"
            )
        averages.append(_observe_interval(conn, cards, begin, end))
    return averages


def _observe_interval(conn: Conn, cards: JobEndpoints, begin: float, end: float) -> NicObservation:
    for width in (1, 60):
        first, last = math.ceil(begin / width) * width, math.floor(end / width) * width
        if last <= first:
            continue
        # As one window: sums by network card.
        sums = _sum_windows(conn, cards, first, last, last - first, width).counts
        flits, stalls, packets, latency = (
            sums[name][0] for name in ("rq_flits", "rq_stall_cycles", "rq_packets", "latency_us_sum")
        )
        counted = np.isfinite([flits, stalls, packets, latency]).all(0)
        if counted.any():
            mean = [float(column[counted].mean()) for column in (flits, packets, stalls, latency)]
            return NicObservation(
                cards.nodes, float(last - first), round(mean[0]), round(mean[1]), round(mean[2]), mean[3]
            )
    raise NotEnoughData(
        f"no flits, stalls and latencies of its network cards were counted from {begin:.0f} to {end:.0f}"
        " (seconds are kept for two days, then whole minutes)"
    )


def _sum_windows(conn: Conn, cards: JobEndpoints, first: int, last: int, step: int, width: int) -> NicCounts:
    # A row per second may extend before the span, to the previous sample.
    whole = " AND ts - make_interval(secs => greatest(seconds - 1, 0)) >= to_timestamp(%(from)s)" if width == 1 else ""
    query = SQL(
        "SELECT endpoint, ((extract(epoch FROM ts)::bigint - %(from)s) / %(step)s)::int AS at, {} FROM {}"
        " WHERE fabric_id = %(fabric)s AND endpoint = ANY(%(endpoints)s) AND {} GROUP BY 1, 2"
    ).format(
        SQL(", ").join(SQL("sum({0})::float8 AS {0}").format(Identifier(name)) for name in COLUMNS),
        Identifier({1: "endpoint_1s", 60: "endpoint_1m", 3600: "endpoint_1h"}[width]),
        rows_within(width) + SQL(whole),
    )
    place = {endpoint: at for at, endpoint in enumerate(cards.endpoints)}
    sums = {name: np.full(((last - first) // step, len(place)), np.nan) for name in COLUMNS}
    with conn.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(
            query,
            {"from": first, "to": last, "step": step, "fabric": cards.fabric_id, "endpoints": cards.endpoints},
        ):
            for name, array in sums.items():
                if row[name] is not None:
                    array[row["at"], place[row["endpoint"]]] = row[name]
    return NicCounts(step, sums)
