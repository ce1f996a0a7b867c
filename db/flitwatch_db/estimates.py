"""What estimators read of runs, and what they leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from psycopg.types.json import Jsonb

from flitwatch_domain.counters import TABLE_II

Connection = psycopg.Connection[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """Runs of one application and rank count, in order of start.

    Attributes
    ----------
    run_id, start_s : int64, float64 (runs,)
    step_time_s : float64 (runs, steps), NaN where a step has not come
    simulated : bool     whether any of them is
    """

    run_id: NDArray[np.int64]
    start_s: Floats
    step_time_s: Floats
    simulated: bool


def applications(conn: Connection, least_runs: int = 2) -> list[tuple[str, int, int]]:
    """(exe, ranks, runs) of every application with enough runs that have a start and steps."""
    return conn.execute(
        "SELECT exe, ranks, count(*) FROM run WHERE start_ts IS NOT NULL AND EXISTS (SELECT 1 FROM run_step s WHERE s.run_id = run.run_id)"
        " GROUP BY exe, ranks HAVING count(*) >= %s ORDER BY count(*) DESC, exe, ranks",
        [least_runs],
    ).fetchall()


def runs_of(conn: Connection, exe: str, ranks: int) -> Runs:
    """The runs of an application that have a start and steps."""
    rows = conn.execute(
        "SELECT r.run_id, extract(epoch FROM r.start_ts)::float8, r.simulated, array_agg(s.step ORDER BY s.step), array_agg(s.time_s ORDER BY s.step)"
        " FROM run r JOIN run_step s USING (run_id) WHERE r.exe = %s AND r.ranks = %s AND r.start_ts IS NOT NULL"
        " GROUP BY r.run_id ORDER BY r.start_ts, r.run_id",
        [exe, ranks],
    ).fetchall()
    steps = max((max(row[3]) + 1 for row in rows), default=0)
    times = np.full((len(rows), steps), np.nan)
    for at, row in enumerate(rows):
        times[at, row[3]] = row[4]
    return Runs(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], float),
        times,
        any(row[2] for row in rows),
    )


@dataclass(frozen=True)
class Presence:
    """Who ran beside the runs.

    Attributes
    ----------
    users : list of str, sorted
    overlap : float64 (runs, users)    largest share of the run that a job of the user covered
    exposure : float64 (runs, users)   sum over the user's jobs of overlap share x sum over groups of the job's nodes x the run's share of its nodes there
    own : set of str                   users who submitted one of the runs
    """

    users: list[str]
    overlap: Floats
    exposure: Floats
    own: set[str]


_BESIDE = """
WITH windows AS (
    SELECT r.run_id, r.job_pk, r.start_ts AS begins, r.start_ts + s.time_s * interval '1 second' AS ends
    FROM run r JOIN LATERAL (SELECT sum(time_s) AS time_s FROM run_step t WHERE t.run_id = r.run_id) s ON s.time_s > 0
    WHERE r.run_id = ANY(%(runs)s)
), beside AS (
    SELECT w.run_id, w.job_pk AS own_pk, j.job_pk, j.user_name,
           extract(epoch FROM least(w.ends, coalesce(j.end_ts, w.ends)) - greatest(w.begins, j.start_ts)) / extract(epoch FROM w.ends - w.begins) AS share
    FROM windows w JOIN job j ON j.start_ts < w.ends AND (j.end_ts IS NULL OR j.end_ts > w.begins) AND j.job_pk IS DISTINCT FROM w.job_pk
    WHERE j.user_name IS NOT NULL AND j.nodes >= %(nodes)s
), placed AS (
    SELECT n.job_pk, n.fabric_id, q.group_id, count(*)::float8 AS nodes
    FROM job_node n JOIN router q ON (q.fabric_id, q.router) = (n.fabric_id, n.router)
    WHERE n.job_pk IN (SELECT own_pk FROM beside UNION SELECT job_pk FROM beside) AND q.group_id IS NOT NULL GROUP BY 1, 2, 3
), sizes AS (SELECT job_pk, sum(nodes) AS nodes FROM placed GROUP BY 1)
SELECT b.run_id, b.user_name, max(b.share)::float8, coalesce(sum(b.share * m.shared), 0)::float8
FROM beside b LEFT JOIN LATERAL (
    SELECT sum(o.nodes * p.nodes / s.nodes) AS shared
    FROM placed p JOIN sizes s USING (job_pk) JOIN placed o ON (o.fabric_id, o.group_id) = (p.fabric_id, p.group_id) AND o.job_pk = b.job_pk
    WHERE p.job_pk = b.own_pk
) m ON true
GROUP BY 1, 2
"""


def presence(conn: Connection, run_id: NDArray[np.int64], least_nodes: int) -> Presence:
    """Users with jobs of at least `least_nodes` nodes beside the runs; the runs' own jobs are left out."""
    rows = conn.execute(_BESIDE, {"runs": run_id.tolist(), "nodes": least_nodes}).fetchall()
    users = sorted({row[1] for row in rows})
    column, line = {user: i for i, user in enumerate(users)}, {run: i for i, run in enumerate(run_id.tolist())}
    overlap, exposure = np.zeros((len(run_id), len(users))), np.zeros((len(run_id), len(users)))
    for run, user, share, amount in rows:
        overlap[line[run], column[user]] = min(max(share, 0.0), 1.0)
        exposure[line[run], column[user]] = max(amount, 0.0)
    own = conn.execute(
        "SELECT DISTINCT j.user_name FROM run r JOIN job j USING (job_pk) WHERE r.run_id = ANY(%s)", [run_id.tolist()]
    ).fetchall()
    return Presence(users, overlap, exposure, {row[0] for row in own if row[0] is not None})


def step_counters(conn: Connection, runs: Runs) -> Floats:
    """Counts of table II's counters on the runs' own routers during each step, (runs, steps, 13); NaN where nothing was counted."""
    ends = np.nancumsum(runs.step_time_s, axis=1) + runs.start_s[:, None]
    begins = ends - np.nan_to_num(runs.step_time_s)
    at_run, at_step = np.nonzero(np.isfinite(runs.step_time_s))
    sums = sql.SQL(", ").join(sql.SQL("sum(c.{})").format(sql.Identifier(counter.column)) for counter in TABLE_II)
    rows = conn.execute(
        sql.SQL(
            "SELECT s.run, s.step, {} FROM unnest(%(run)s::bigint[], %(step)s::int[], %(begin)s::float8[], %(end)s::float8[])"
            " AS s (run, step, begins, ends) JOIN run r ON r.run_id = s.run"
            " JOIN LATERAL (SELECT DISTINCT fabric_id, router FROM job_node n WHERE n.job_pk = r.job_pk AND n.router IS NOT NULL) p ON true"
            " JOIN router_1s c ON c.fabric_id = p.fabric_id AND c.router = p.router"
            " AND c.ts >= to_timestamp(s.begins) AND c.ts < to_timestamp(s.ends) GROUP BY 1, 2"
        ).format(sums),
        {
            "run": runs.run_id[at_run].tolist(), "step": at_step.tolist(), "begin": begins[at_run, at_step].tolist(),
            "end": ends[at_run, at_step].tolist(),
        },
    ).fetchall()  # fmt: skip
    counts = np.full((*runs.step_time_s.shape, len(TABLE_II)), np.nan)
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    for run, step, *values in rows:
        counts[line[run], step] = [np.nan if value is None else value for value in values]
    return counts


def save(
    conn: Connection, kind: str, exe: str, ranks: int, *, code_version: str, parameters: dict[str, Any], data: dict[str, Any], score: dict[str, Any],
    result: dict[str, Any], simulated: bool,
) -> int:  # fmt: skip
    """Keep a result; return its number."""
    row = conn.execute(
        "INSERT INTO estimate (kind, exe, ranks, code_version, parameters, data, score, result, simulated)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING estimate_id",
        [kind, exe, ranks, code_version, Jsonb(parameters), Jsonb(data), Jsonb(score), Jsonb(result), simulated],
    ).fetchone()
    assert row is not None
    return int(row[0])
