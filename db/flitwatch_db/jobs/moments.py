"""Past moment for its replay in a simulation: the endpoints of each job, and the traffic of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.jobs.ends import end_or


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
