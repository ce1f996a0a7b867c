"""What estimators read of runs, and what they leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

from flitwatch_domain.counters import TABLE_II

Connection = psycopg.Connection[Any]
Floats = NDArray[np.float64]

#: What LDMS gives of routers without nodes of the job (Bhatele 2020, section III-B), by table II's abbreviations.
LDMS_FOUR = ("RT_FLIT_TOT", "RT_RB_STL", "PT_FLIT_TOT", "PT_RB_STL_RQ")


@dataclass(frozen=True)
class Runs:
    """Runs of one application on as many nodes, in order of start.

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


#: Runs of one application on as many nodes are one set: those of its job, or the ranks that report where the job is not known.
_NODES = sql.SQL("coalesce(j.nodes, r.ranks)")


def applications(conn: Connection, least_runs: int = 1) -> list[tuple[str, int, int, int]]:
    """(exe, nodes, runs, newest run_id) of every application with enough runs that have a start and have ended, most runs first."""
    return conn.execute(
        sql.SQL(
            "SELECT r.exe, {}, count(*), max(r.run_id) FROM run r LEFT JOIN job j USING (job_pk)"
            " WHERE r.start_ts IS NOT NULL AND EXISTS (SELECT FROM run_step s WHERE s.run_id = r.run_id)"
            " AND (j.job_pk IS NULL OR j.end_ts IS NOT NULL) GROUP BY 1, 2 HAVING count(*) >= %s ORDER BY 3 DESC, 1, 2"
        ).format(_NODES),
        [least_runs],
    ).fetchall()


def runs_of(conn: Connection, exe: str, nodes: int, most: int = 2000) -> Runs:
    """The newest runs of an application that have a start and steps, in order of start."""
    rows = conn.execute(
        sql.SQL(
            "SELECT * FROM (SELECT r.run_id, extract(epoch FROM r.start_ts)::float8 AS start_s, r.simulated, array_agg(s.step ORDER BY s.step),"
            " array_agg(s.time_s ORDER BY s.step) FROM run r JOIN run_step s USING (run_id) LEFT JOIN job j USING (job_pk)"
            " WHERE r.exe = %s AND {} = %s AND r.start_ts IS NOT NULL GROUP BY r.run_id ORDER BY r.start_ts DESC, r.run_id DESC LIMIT %s) n"
            " ORDER BY start_s, run_id"
        ).format(_NODES),
        [exe, nodes, most],
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
    """Who ran beside the runs: users, or jobs of one name.

    Attributes
    ----------
    names : list of str, sorted
    overlap : float64 (runs, names)    largest share of the run that one of its jobs covered
    exposure : float64 (runs, names)   sum over its jobs of overlap share x sum over groups of the job's nodes x the run's share of its nodes there
    own : set of str                   names that one of the runs' own jobs bears
    """

    names: list[str]
    overlap: Floats
    exposure: Floats
    own: set[str]


_BESIDE = """
WITH windows AS (
    SELECT r.run_id, r.job_pk, r.start_ts AS begins, r.start_ts + s.time_s * interval '1 second' AS ends
    FROM run r JOIN LATERAL (SELECT sum(time_s) AS time_s FROM run_step t WHERE t.run_id = r.run_id) s ON s.time_s > 0
    WHERE r.run_id = ANY(%(runs)s)
), beside AS (
    SELECT w.run_id, w.job_pk AS own_pk, j.job_pk, j.{name} AS name,
           extract(epoch FROM least(w.ends, coalesce(j.end_ts, w.ends)) - greatest(w.begins, j.start_ts)) / extract(epoch FROM w.ends - w.begins) AS share
    FROM windows w JOIN job j ON j.start_ts < w.ends AND (j.end_ts IS NULL OR j.end_ts > w.begins) AND j.job_pk IS DISTINCT FROM w.job_pk
    WHERE j.{name} IS NOT NULL AND j.nodes >= %(nodes)s
), placed AS (
    SELECT n.job_pk, n.fabric_id, q.group_id, count(*)::float8 AS nodes
    FROM job_node n JOIN router q ON (q.fabric_id, q.router) = (n.fabric_id, n.router)
    WHERE n.job_pk IN (SELECT own_pk FROM beside UNION SELECT job_pk FROM beside) AND q.group_id IS NOT NULL GROUP BY 1, 2, 3
), sizes AS (SELECT job_pk, sum(nodes) AS nodes FROM placed GROUP BY 1)
SELECT b.run_id, b.name, max(b.share)::float8, coalesce(sum(b.share * m.shared), 0)::float8
FROM beside b LEFT JOIN LATERAL (
    SELECT sum(o.nodes * p.nodes / s.nodes) AS shared
    FROM placed p JOIN sizes s USING (job_pk) JOIN placed o ON (o.fabric_id, o.group_id) = (p.fabric_id, p.group_id) AND o.job_pk = b.job_pk
    WHERE p.job_pk = b.own_pk
) m ON true
GROUP BY 1, 2
"""


#: What blame may be laid on, and the column of table `job` that says it.
BY = {"user": "user_name", "application": "name"}


def presence(conn: Connection, run_id: NDArray[np.int64], least_nodes: int, by: str = "user") -> Presence:
    """Users, or names of jobs, with jobs of at least `least_nodes` nodes beside the runs; the runs' own jobs are left out."""
    column_name = sql.Identifier(BY[by])
    rows = conn.execute(
        sql.SQL(_BESIDE).format(name=column_name), {"runs": run_id.tolist(), "nodes": least_nodes}
    ).fetchall()
    names = sorted({row[1] for row in rows})
    column, line = {name: i for i, name in enumerate(names)}, {run: i for i, run in enumerate(run_id.tolist())}
    overlap, exposure = np.zeros((len(run_id), len(names))), np.zeros((len(run_id), len(names)))
    for run, name, share, amount in rows:
        overlap[line[run], column[name]] = min(max(share, 0.0), 1.0)
        exposure[line[run], column[name]] = max(amount, 0.0)
    own = conn.execute(
        sql.SQL("SELECT DISTINCT j.{} FROM run r JOIN job j USING (job_pk) WHERE r.run_id = ANY(%s)").format(
            column_name
        ),
        [run_id.tolist()],
    ).fetchall()
    return Presence(names, overlap, exposure, {row[0] for row in own if row[0] is not None})


def step_counters(conn: Connection, runs: Runs) -> Floats:
    """Counts of table II's counters on the runs' own routers during each step, (runs, steps, 13); NaN where nothing was counted.

    As the run itself recorded them (AriesNCL); else as LDMS counted the routers of its nodes.
    """
    place = {counter.vendor: at for at, counter in enumerate(TABLE_II)}
    counts = np.full((*runs.step_time_s.shape, len(TABLE_II)), np.nan)
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    names: dict[int, list[tuple[int, int]]] = {}
    for run, listed in conn.execute("SELECT run_id, counter_names FROM run WHERE run_id = ANY(%s)", [list(line)]):
        names[run] = [(at, place[name]) for at, name in enumerate(listed) if name in place]
    for run, step, sums in conn.execute(
        "SELECT run_id, step, counter_sums FROM run_step WHERE run_id = ANY(%s) AND counter_sums IS NOT NULL",
        [list(line)],
    ):
        if step < counts.shape[1] and sums and names[run]:
            source, target = zip(*names[run], strict=True)
            counts[line[run], step, list(target)] = np.array(sums, float)[list(source)]
    for run, step, rates in conn.execute(
        "SELECT run_id, step, own FROM run_step_around WHERE run_id = ANY(%s) AND own IS NOT NULL", [list(line)]
    ):
        if step < counts.shape[1] and np.isnan(counts[line[run], step]).all():
            counts[line[run], step] = np.array(rates, float) * runs.step_time_s[line[run], step]
    return counts


def around(conn: Connection, runs: Runs) -> tuple[Floats, Floats]:
    """Counts per second on routers with I/O nodes, and on those without the runs' nodes, each (runs, steps, 4); NaN where not kept."""
    io, rest = (np.full((*runs.step_time_s.shape, len(LDMS_FOUR)), np.nan) for _ in range(2))
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    for run, step, of_io, of_rest in conn.execute(
        "SELECT run_id, step, io, sys FROM run_step_around WHERE run_id = ANY(%s)", [list(line)]
    ):
        if step < io.shape[1]:
            for target, values in ((io, of_io), (rest, of_rest)):
                if values is not None:
                    target[line[run], step] = values
    return io, rest


def placement(conn: Connection, run_id: NDArray[np.int64]) -> Floats:
    """NUM_ROUTERS and NUM_GROUPS of each run, (runs, 2); NaN where its job's place is not known."""
    found = np.full((len(run_id), 2), np.nan)
    line = {run: i for i, run in enumerate(run_id.tolist())}
    for run, routers, groups in conn.execute(
        "SELECT r.run_id, count(DISTINCT n.router), count(DISTINCT q.group_id) FROM run r JOIN job_node n USING (job_pk)"
        " JOIN router q ON (q.fabric_id, q.router) = (n.fabric_id, n.router) WHERE r.run_id = ANY(%s) GROUP BY r.run_id",
        [list(line)],
    ):
        if routers and groups:
            found[line[run]] = routers, groups
    return found


def machine_nodes(conn: Connection, run_id: NDArray[np.int64]) -> int | None:
    """Compute endpoints of the fabric that most of the runs were on; None where that is not known."""
    row = conn.execute(
        "SELECT (SELECT count(*) FROM endpoint e WHERE e.fabric_id = n.fabric_id AND e.role = 'compute') FROM run r JOIN job_node n USING (job_pk)"
        " WHERE r.run_id = ANY(%s) AND n.fabric_id IS NOT NULL GROUP BY n.fabric_id ORDER BY count(*) DESC LIMIT 1",
        [run_id.tolist()],
    ).fetchone()
    return None if row is None or not row[0] else int(row[0])


def has_runs(conn: Connection, cluster: str) -> bool:
    """Whether any run of a cluster's jobs is stored."""
    row = conn.execute(
        "SELECT EXISTS (SELECT FROM run JOIN job USING (job_pk) WHERE job.cluster = %s)", [cluster]
    ).fetchone()
    return bool(row and row[0])
