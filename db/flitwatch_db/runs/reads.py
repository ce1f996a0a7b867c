"""Read runs and their steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, fetch_columns, query_rows

Row = dict[str, Any]

_RUN = SQL("""
    SELECT r.run_id, r.run_key, coalesce(r.job_id, j.job_id) AS job_id, r.exe, r.start_ts AS start, r.ranks, coalesce(j.nodes, r.ranks) AS nodes,
           r.simulated, r.counter_names,
           s.steps, s.time_s
    FROM run r LEFT JOIN job j USING (job_pk)
    LEFT JOIN LATERAL (SELECT count(*) AS steps, sum(time_s) AS time_s FROM run_step t WHERE t.run_id = r.run_id) s ON true
""")


def build_exe_column(column: SQL, bare: bool) -> sql.Composable:
    """Build the executable's name for comparisons: with `bare`, without its folders, as shown to callers without scope `names`."""
    return SQL("regexp_replace({}, '^.*/', '')").format(column) if bare else column


async def find_executable(conn: Connection, exe: str, nodes: int) -> str | None:
    """Return the executable with folders for a name without them: the one that ran last on this many nodes."""
    rows = await query_rows(
        conn,
        SQL(
            "SELECT r.exe FROM run r LEFT JOIN job j USING (job_pk) WHERE {} = %s AND coalesce(j.nodes, r.ranks) = %s ORDER BY r.run_id DESC LIMIT 1"
        ).format(build_exe_column(SQL("r.exe"), True)),
        [exe, nodes],
    )
    return rows[0]["exe"] if rows else None


async def list_runs(
    conn: Connection,
    limit: int,
    before: int | None = None,
    job_id: str | None = None,
    exe: str | None = None,
    bare: bool = False,
) -> list[Row]:
    """Return runs numbered below `before`, newest first, of one job or of one application (`bare`: named without folders)."""
    return await query_rows(
        conn,
        _RUN
        + SQL(
            " WHERE (%(before)s::bigint IS NULL OR r.run_id < %(before)s) AND (%(exe)s::text IS NULL OR {} = %(exe)s)"
            " AND (%(job)s::text IS NULL OR r.job_id = %(job)s OR j.job_id = %(job)s) ORDER BY r.run_id DESC LIMIT %(limit)s"
        ).format(build_exe_column(SQL("r.exe"), bare)),
        {"before": before, "exe": exe, "job": job_id, "limit": limit},
    )


async def of_job(conn: Connection, job_pk: int) -> list[Row]:
    """Return the runs of a job in order of start."""
    return await query_rows(
        conn, _RUN + SQL(" WHERE r.job_pk = %s ORDER BY r.start_ts NULLS LAST, r.run_id LIMIT 1000"), [job_pk]
    )


async def find_run(conn: Connection, run_id: int) -> Row | None:
    """Return a run, or None."""
    rows = await query_rows(conn, _RUN + SQL(" WHERE r.run_id = %s"), [run_id])
    return rows[0] if rows else None


@dataclass(frozen=True)
class Steps:
    """The steps of a run in order.

    Attributes
    ----------
    step : int32[n]
    time_s : float64[n]
        The slowest rank's time.
    time_p50_s : float64[n]
        The median rank's time.
    counters : float64[n, c] or None
        Sums over the ranks.
    """

    step: NDArray[np.int32]
    time_s: NDArray[np.float64]
    time_p50_s: NDArray[np.float64]
    counters: NDArray[np.float64] | None


async def load_steps(conn: Connection, run_id: int, counters: int) -> Steps:
    """Load the steps of a run; `counters` is the number of its counter names."""
    step_columns = await fetch_columns(
        conn,
        SQL(
            "SELECT step, time_s, (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) / 1e9 FROM unnest(rank_time_ns) t) AS p50"
            " FROM run_step WHERE run_id = %s"
        ),
        [run_id],
        {"step": "i4", "time_s": "f8", "p50": "f8"},
    )
    order = np.argsort(step_columns["step"], kind="stable")
    sums = await _counter_sums(conn, run_id, counters, step_columns["step"][order]) if counters else None
    return Steps(step_columns["step"][order], step_columns["time_s"][order], step_columns["p50"][order], sums)


async def load_recent_steps(
    conn: Connection, run_ids: list[int], recent_s: float
) -> dict[int, list[tuple[int, float]]]:
    """Return (step, time_s) of each run's newest steps, in order: those that overlap its last `recent_s` seconds."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT run_id, step, time_s FROM (
                SELECT run_id, step, time_s, sum(time_s) OVER (PARTITION BY run_id ORDER BY step DESC) AS reached_s
                FROM run_step WHERE run_id = ANY(%s)
            ) s WHERE reached_s - time_s < %s ORDER BY run_id, step
        """),
        [run_ids, recent_s],
    )
    recent: dict[int, list[tuple[int, float]]] = {run_id: [] for run_id in run_ids}
    for row in rows:
        recent[row["run_id"]].append((row["step"], row["time_s"]))
    return recent


async def _counter_sums(
    conn: Connection, run_id: int, counters: int, step: NDArray[np.int32]
) -> NDArray[np.float64] | None:
    sum_columns = await fetch_columns(
        conn,
        # In rank-major order, element i belongs to counter (i - 1) mod c.
        SQL(
            "SELECT s.step, ((e.place - 1) %% %(c)s)::int AS counter, sum(e.value)::float8 AS value"
            " FROM run_step s, unnest(s.counters) WITH ORDINALITY AS e (value, place) WHERE s.run_id = %(run)s GROUP BY 1, 2"
        ),
        {"c": counters, "run": run_id},
        {"step": "i4", "counter": "i4", "value": "f8"},
    )
    if not len(sum_columns["step"]):
        return None
    sums = np.full((len(step), counters), np.nan)
    # Steps that were added after `step` was read are omitted.
    has_place = np.isin(sum_columns["step"], step)
    sums[np.searchsorted(step, sum_columns["step"][has_place]), sum_columns["counter"][has_place]] = sum_columns[
        "value"
    ][has_place]
    return sums


async def load_usual_steps(
    conn: Connection, run_id: int, exe: str, nodes: int, ranks: int, step: NDArray[np.int32], most: int = 200
) -> tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return mean, 10th and 90th percentile of each step over the newest other runs of the application with the same number of nodes or reporting ranks.

    Returns
    -------
    (runs, mean float64[n], p10 float64[n], p90 float64[n]) or None
        None if there is no other run; NaN if other runs do not have that step.
    """
    others = await query_rows(
        conn,
        SQL(
            "SELECT r.run_id FROM run r LEFT JOIN job j USING (job_pk) WHERE r.exe = %s AND (coalesce(j.nodes, r.ranks) = %s OR r.ranks = %s) AND r.run_id <> %s"
            " ORDER BY r.run_id DESC LIMIT %s"
        ),
        [exe, nodes, ranks, run_id, most],
    )
    if not others:
        return None
    step_columns = await fetch_columns(
        conn,
        SQL(
            "SELECT step, avg(time_s) AS mean, percentile_cont(0.1) WITHIN GROUP (ORDER BY time_s) AS p10,"
            " percentile_cont(0.9) WITHIN GROUP (ORDER BY time_s) AS p90 FROM run_step WHERE run_id = ANY(%s) GROUP BY step"
        ),
        [[row["run_id"] for row in others]],
        {"step": "i4", "mean": "f8", "p10": "f8", "p90": "f8"},
    )
    place = {int(s): i for i, s in enumerate(step_columns["step"])}
    index = np.array([place.get(int(s), -1) for s in step], dtype=np.int64)
    figures = [
        np.where(index >= 0, step_columns[name][index], np.nan) if len(place) else np.full(len(step), np.nan)
        for name in ("mean", "p10", "p90")
    ]
    return len(others), figures[0], figures[1], figures[2]
