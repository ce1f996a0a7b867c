"""Jobs on a fabric, with the places of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row

from flitwatch_db.core import packing

Row = dict[str, Any]


def list_placed_jobs(
    conn: psycopg.Connection[Any],
    fabric_id: int,
    simulated: bool,
    spans: Sequence[tuple[float, float]],
    first: int,
    most: int,
    without: Sequence[int] = (),
) -> list[Row]:
    """Return jobs that ran in some of the spans (epoch seconds), except those `without`: the job `first`, then by size.

    Returns
    -------
    list of dict
        job_pk, job_id, user, name, nodes, simulated, start_s, end_s, and by endpoint, in the same order, endpoint (-1: unknown) and router, int64 arrays.
    """
    lows, highs = zip(*spans, strict=True)
    with conn.cursor(binary=True, row_factory=dict_row) as cursor:
        jobs = cursor.execute(
            """
            SELECT j.job_pk, j.job_id, j.user_name AS "user", j.name, j.nodes, j.simulated, extract(epoch FROM j.start_ts)::float8 AS start_s,
                   extract(epoch FROM j.end_ts)::float8 AS end_s, array_send(array_agg(coalesce(n.endpoint, -1))) AS endpoint,
                   array_send(array_agg(n.router)) AS router
            FROM job j JOIN job_node n USING (job_pk)
            WHERE n.fabric_id = %(fabric)s AND n.router IS NOT NULL AND j.simulated = %(simulated)s AND j.job_pk <> ALL(%(without)s::bigint[]) AND EXISTS (
                SELECT FROM unnest(%(lows)s::float8[], %(highs)s::float8[]) AS span (low, high)
                WHERE j.start_ts < to_timestamp(high) AND (j.end_ts > to_timestamp(low) OR j.end_ts IS NULL AND j.state = 'RUNNING')
            )
            GROUP BY j.job_pk ORDER BY j.job_pk = %(first)s DESC, count(*) DESC, j.job_pk LIMIT %(most)s
            """,
            {"fabric": fabric_id, "simulated": simulated, "without": list(without), "lows": list(lows), "highs": list(highs), "first": first, "most": most},
        ).fetchall()  # fmt: skip
    for job in jobs:
        for name in ("endpoint", "router"):
            job[name] = packing.unpack_numbers(job[name], ">i4").astype(np.int64)
    return jobs
