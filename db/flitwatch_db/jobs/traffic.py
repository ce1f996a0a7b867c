"""Traffic of jobs' network cards in a window: bytes sent and received by the jobs that ran in it, by endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Composed

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.jobs.as_of import end_or
from flitwatch_domain.link_shares import JobTraffic

Row = dict[str, Any]

#: Longer windows are read from minutes, and the longest from hours.
LONGEST_BY_SECOND_S, LONGEST_BY_MINUTE_S = 900, 86_400
#: Seconds by which a network card's row can be later than the counted events: its time is that of the sample that ends the interval.
LATE_S = 10


async def of_window(conn: Connection, fabric_id: int, from_s: float, to_s: float, most: int) -> list[Row]:
    """Return jobs with endpoints on a fabric in [from, to), largest first.

    Returns
    -------
    list of dict
        job_pk, job_id, user, name, nodes, simulated, total (number of such jobs), and by endpoint, in the same order: endpoint, router, sent and received
        (bytes while the job ran in the window, from the mean rate of the counted time; None: not counted).
    """
    query, parameters = _build_query(fabric_id, from_s, to_s, most)
    return await query_rows(conn, query, parameters)


def in_window(conn: psycopg.Connection[Any], fabric_id: int, from_s: float, to_s: float, most: int) -> list[Row]:
    """Return the same with a blocking connection."""
    query, parameters = _build_query(fabric_id, from_s, to_s, most)
    return fetch_rows(conn, query, parameters)


def of_jobs(rows: list[Row]) -> list[JobTraffic]:
    """Return the traffic of the jobs in rows of `of_window` or `in_window`."""
    traffic = []
    for row in rows:
        sent_bytes, received = (np.array(row[key], np.float64) for key in ("sent", "received"))
        endpoint = None if None in row["endpoint"] else np.array(row["endpoint"], np.int64)
        traffic.append(JobTraffic(np.array(row["router"], np.int64), sent_bytes, received, endpoint))
    return traffic


def _build_query(fabric_id: int, from_s: float, to_s: float, most: int) -> tuple[Composed, Row]:
    length = to_s - from_s
    table, width = (
        (SQL("endpoint_1s"), 1)
        if length <= LONGEST_BY_SECOND_S
        else (SQL("endpoint_1m"), 60)
        if length <= LONGEST_BY_MINUTE_S
        else (SQL("endpoint_1h"), 3600)
    )
    late = LATE_S if width == 1 else 0
    query = SQL("""
        WITH present AS (
            SELECT job_pk, job_id, user_name, name, nodes, simulated, count(*) OVER () AS total,
                   greatest(start_ts, to_timestamp(%(from)s)) AS low, least(coalesce(end_ts, 'infinity'), to_timestamp(%(to)s)) AS high
            FROM job j WHERE start_ts < to_timestamp(%(to)s) AND (end_ts > to_timestamp(%(from)s) OR end_ts IS NULL AND state = 'RUNNING')
              AND EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND n.fabric_id = %(fabric)s AND n.router IS NOT NULL)
            ORDER BY nodes DESC NULLS LAST, job_pk LIMIT %(most)s
        ), held AS (
            SELECT DISTINCT p.job_pk, n.endpoint, n.router, p.low, p.high FROM present p JOIN job_node n USING (job_pk)
            WHERE n.fabric_id = %(fabric)s AND n.router IS NOT NULL
        ), counted AS (
            SELECT endpoint, ts, seconds, tx_bytes, rx_bytes FROM {}
            WHERE fabric_id = %(fabric)s AND ts >= to_timestamp(%(from)s - %(before)s) AND ts < to_timestamp(%(to)s + %(late)s)
              AND tx_bytes IS NOT NULL AND rx_bytes IS NOT NULL
        ), each AS (
            SELECT h.job_pk, h.endpoint, h.router, sum(c.tx_bytes) / nullif(sum(c.seconds), 0) * extract(epoch FROM h.high - h.low)::float8 AS sent,
                   sum(c.rx_bytes) / nullif(sum(c.seconds), 0) * extract(epoch FROM h.high - h.low)::float8 AS received
            FROM held h LEFT JOIN counted c ON c.endpoint = h.endpoint
                 AND c.ts >= h.low + make_interval(secs => %(late)s - %(before)s) AND c.ts < h.high + make_interval(secs => %(late)s)
            GROUP BY h.job_pk, h.endpoint, h.router, h.low, h.high
        )
        SELECT p.job_pk, p.job_id, p.user_name AS "user", p.name, p.nodes, p.simulated, p.total,
               array_agg(e.endpoint ORDER BY e.endpoint) AS endpoint, array_agg(e.router ORDER BY e.endpoint) AS router, array_agg(e.sent ORDER BY
               e.endpoint) AS sent,
               array_agg(e.received ORDER BY e.endpoint) AS received
        FROM present p JOIN each e USING (job_pk)
        GROUP BY p.job_pk, p.job_id, p.user_name, p.name, p.nodes, p.simulated, p.total ORDER BY p.nodes DESC NULLS LAST, p.job_pk
    """).format(table)
    parameters = {
        "fabric": fabric_id,
        "from": from_s,
        "to": to_s,
        "late": late,
        "before": width - 1,
        "most": most,
    }
    return query, parameters


@dataclass(frozen=True)
class HeldEndpoints:
    """A job and its endpoints, in the order of its nodes' numbers."""

    job_pk: int
    job_id: str
    endpoints: NDArray[np.int64]


def held_endpoints(conn: psycopg.Connection[Any], fabric_id: int, at_s: float) -> list[HeldEndpoints]:
    """Return jobs with endpoints on a fabric at a moment, by number."""
    rows = conn.execute(
        f"""
        SELECT j.job_pk, j.job_id, array_agg(DISTINCT n.endpoint ORDER BY n.endpoint)
        FROM job j JOIN job_node n USING (job_pk)
        WHERE n.fabric_id = %(fabric)s AND n.endpoint IS NOT NULL AND j.start_ts <= to_timestamp(%(at)s)
          AND {end_or("'infinity'::timestamptz", "j.")} > to_timestamp(%(at)s)
        GROUP BY j.job_pk ORDER BY j.job_pk
        """,  # noqa: S608 - a text of ours
        {"fabric": fabric_id, "at": at_s},
    ).fetchall()
    return [HeldEndpoints(job_pk, job_id, np.array(endpoints, np.int64)) for job_pk, job_id, endpoints in rows]


def injected_flits_per_s(
    conn: psycopg.Connection[Any], fabric_id: int, routers: int, from_s: float, to_s: float
) -> NDArray[np.float64]:
    """Return flits per second from each router's nodes to its processor tiles in [from, to), from seconds or minutes; NaN: not counted."""
    flits_per_s = np.full(routers, np.nan)
    for table, step_s in (("router_1s", 1.0), ("router_1m", 60.0)):
        rows = conn.execute(
            f"""
            SELECT router, sum(pt_flits), count(*) FROM {table}
            WHERE fabric_id = %(fabric)s AND ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s) AND pt_flits IS NOT NULL GROUP BY router
            """,  # noqa: S608 - one of the two names above
            {"fabric": fabric_id, "from": from_s, "to": to_s},
        ).fetchall()
        for router, flits, buckets in rows:
            if 0 <= router < routers:
                flits_per_s[router] = flits / (buckets * step_s)
        if rows:
            break
    return flits_per_s
