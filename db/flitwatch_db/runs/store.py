"""Store runs of instrumented applications: metadata, ranks and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.sql import SQL

from flitwatch_db.jobs.arrays import build_cluster_condition, place_ranks
from flitwatch_domain.runs import Run, RunStep

# A requeued job has several rows: the one that had started when the run began.
_UPSERT = SQL("""
    INSERT INTO run (run_key, job_pk, job_id, exe, start_ts, ranks, counter_names, simulated) VALUES (
        %(key)s,
        (SELECT job_pk FROM job j WHERE job_id = %(job)s AND simulated = %(simulated)s AND {}
         ORDER BY (start_ts <= to_timestamp(%(start)s::float8)) DESC NULLS LAST, restart DESC, job_pk DESC LIMIT 1),
        %(job)s, %(exe)s, to_timestamp(%(start)s::float8), %(ranks)s, %(counters)s, %(simulated)s)
    ON CONFLICT (run_key) DO UPDATE SET job_pk = excluded.job_pk, job_id = excluded.job_id, exe = excluded.exe, start_ts = excluded.start_ts,
        ranks = excluded.ranks, counter_names = excluded.counter_names, simulated = excluded.simulated
    RETURNING run_id
""").format(build_cluster_condition(SQL("to_timestamp(%(start)s::float8)"), SQL("SELECT unnest(%(nodes)s::text[])")))


def upsert_run(conn: psycopg.Connection[Any], run: Run) -> int:
    """Store a run's metadata and ranks; return its id. A repeated `run_key` replaces them and keeps the steps."""
    row = conn.execute(
        _UPSERT,
        {
            "key": run.run_key,
            "job": run.job_id,
            "nodes": list(run.nodes),
            "exe": run.exe,
            "start": run.start_s,
            "ranks": len(run.ranks),
            "counters": list(run.counters),
            "simulated": run.simulated,
        },
    ).fetchone()
    assert row is not None
    run_id = int(row[0])
    nodes = list(run.nodes) or [None] * len(run.ranks)
    conn.execute("DELETE FROM run_rank WHERE run_id = %s", [run_id])
    conn.execute(
        "INSERT INTO run_rank (run_id, rank, node) SELECT %(run)s, r.rank, r.node FROM unnest(%(ranks)s::int[], %(nodes)s::text[]) AS r (rank, node)",
        {"run": run_id, "ranks": list(run.ranks), "nodes": nodes},
    )
    place_ranks(conn, [run_id])
    return run_id


def run_id_of(conn: psycopg.Connection[Any], run_key: str) -> int | None:
    """Return the id of a run by its key; None if its metadata are not stored."""
    row = conn.execute("SELECT run_id FROM run WHERE run_key = %s", [run_key]).fetchone()
    return None if row is None else int(row[0])


def upsert_steps(conn: psycopg.Connection[Any], run_id: int, steps: Sequence[RunStep]) -> int:
    """Store steps of a run, replacing existing ones; return the number of new rows."""
    new = 0
    with conn.cursor() as cursor:
        for step in steps:
            values = None if step.values is None else step.values.ravel().tolist()
            sums = None if step.values is None else step.values.sum(axis=0, dtype=np.float64).tolist()
            cursor.execute(
                "INSERT INTO run_step (run_id, step, time_s, rank_time_ns, counters, counter_sums) VALUES (%s, %s, %s, %s, %s::numeric[], %s)"
                " ON CONFLICT (run_id, step) DO UPDATE SET time_s = excluded.time_s, rank_time_ns = excluded.rank_time_ns,"
                " counters = excluded.counters, counter_sums = excluded.counter_sums RETURNING xmax = 0",
                [run_id, step.step, step.time_s, step.time_ns.tolist(), values, sums],
            )
            row = cursor.fetchone()
            new += bool(row and row[0])
    return new
