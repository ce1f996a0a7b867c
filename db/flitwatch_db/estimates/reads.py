"""Estimates for the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg import sql
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_db.runs.reads import build_exe_column
from flitwatch_domain.blame import CANNOT_TELL, NAMED
from flitwatch_domain.run_time import BASES

Row = dict[str, Any]

_HEAD = SQL("""
    SELECT estimate_id, kind, exe, nodes, created_at AS created, code_version, parameters, data, score, simulated, source, created_by FROM estimate
""")
_FORECAST = SQL("""
    SELECT f.run_id, f.after_steps, f.ahead, f.made_at AS made, f.estimate_id, f.forecaster, f.expected_s, f.low_s, f.high_s, f.usual_s, f.curve_s,
           o.observed_s
    FROM forecast f LEFT JOIN LATERAL (
        SELECT CASE WHEN count(*) = f.ahead THEN sum(time_s) END AS observed_s
        FROM run_step s WHERE s.run_id = f.run_id AND s.step >= f.after_steps AND s.step < f.after_steps + f.ahead
    ) o ON true
""")
#: A run with an unknown job has ended after this many of its longest steps, and at least this many seconds, without a step.
SILENT_STEPS, LEAST_SILENT_S = 5.0, 120.0
_RUNS_NOW = SQL("""
    CASE WHEN j.job_pk IS NOT NULL THEN j.end_ts IS NULL AND j.state = 'RUNNING'
         ELSE r.start_ts + coalesce(t.time_s, 0) * interval '1 second'
              > now() - make_interval(secs => greatest({least}, {steps} * coalesce(t.longest_s, 0))) END
""").format(least=sql.Literal(LEAST_SILENT_S), steps=sql.Literal(SILENT_STEPS))


async def list_application_estimates(conn: Connection) -> list[Row]:
    """Return instrumented applications by number of nodes, most runs first, then sets of runs from files, newest first.

    Each has `source`, and `standing`: {kind: {estimate_id, created, checked, lacks, score, drift}}.
    """
    return await query_rows(
        conn,
        SQL("""
            WITH sets AS (
                SELECT r.exe, coalesce(j.nodes, r.ranks) AS nodes, count(*) AS runs, bool_or(r.simulated) AS simulated,
                       count(*) FILTER (WHERE j.end_ts IS NULL AND j.state = 'RUNNING') AS running
                FROM run r LEFT JOIN job j USING (job_pk) GROUP BY 1, 2
            ), files AS (
                SELECT DISTINCT ON (exe, nodes) exe, nodes, (data ->> 'runs')::bigint AS runs, simulated, 0::bigint AS running, estimate_id,
                       jsonb_build_object(kind, jsonb_build_object('estimate_id', estimate_id, 'created', created_at, 'checked', created_at,
                                                                   'lacks', NULL, 'score', score)) AS standing
                FROM estimate WHERE source = 'files' ORDER BY exe, nodes, estimate_id DESC
            )
            (SELECT s.*, 'runs' AS source, (
                SELECT jsonb_object_agg(t.kind, jsonb_build_object('estimate_id', t.estimate_id, 'created', e.created_at, 'checked', t.checked_at,
                                                                   'lacks', t.lacks, 'score', e.score))
                FROM estimate_state t LEFT JOIN estimate e USING (estimate_id) WHERE t.exe = s.exe AND t.nodes = s.nodes
            ) AS standing
            FROM sets s ORDER BY s.runs DESC, s.exe, s.nodes LIMIT 1000)
            UNION ALL
            (SELECT exe, nodes, runs, simulated, running, 'files', standing FROM files ORDER BY estimate_id DESC LIMIT 1000)
        """),
    )


async def list_estimates(
    conn: Connection,
    limit: int,
    before: int | None,
    kind: str | None,
    exe: str | None,
    nodes: int | None,
    bare: bool = False,
) -> list[Row]:
    """Return estimates numbered below `before`, newest first; with `bare` the application's name has no folders."""
    return await query_rows(
        conn,
        _HEAD
        + SQL(
            " WHERE (%(before)s::bigint IS NULL OR estimate_id < %(before)s) AND (%(kind)s::text IS NULL OR kind = %(kind)s)"
            " AND (%(exe)s::text IS NULL OR {} = %(exe)s) AND (%(nodes)s::int IS NULL OR nodes = %(nodes)s)"
            " ORDER BY estimate_id DESC LIMIT %(limit)s"
        ).format(build_exe_column(SQL("exe"), bare)),
        {"before": before, "kind": kind, "exe": exe, "nodes": nodes, "limit": limit},
    )


async def find_estimate(
    conn: Connection, kind: str, exe: str | None, nodes: int | None, estimate_id: int | None, bare: bool = False
) -> Row | None:
    """Return an estimate with its result: by number, or the newest match, preferring recorded runs to files; with `bare` the application's name has no folders."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT estimate_id, kind, exe, nodes, created_at AS created, code_version, parameters, data, score, simulated, source, created_by, result FROM estimate
            WHERE kind = %(kind)s AND (%(exe)s::text IS NULL OR {} = %(exe)s) AND (%(nodes)s::int IS NULL OR nodes = %(nodes)s)
              AND (%(number)s::bigint IS NULL OR estimate_id = %(number)s)
            ORDER BY source = 'files', estimate_id DESC LIMIT 1
        """).format(build_exe_column(SQL("exe"), bare)),
        {"kind": kind, "exe": exe, "nodes": nodes, "number": estimate_id},
    )
    return rows[0] if rows else None


async def newest_of_each(conn: Connection, kind: str) -> list[Row]:
    """Return the newest estimate of each application, with its result."""
    return await query_rows(
        conn,
        SQL("""
            SELECT DISTINCT ON (exe, nodes) estimate_id, kind, exe, nodes, created_at AS created, code_version, parameters, data, score, simulated, source, created_by, result
            FROM estimate WHERE kind = %s ORDER BY exe, nodes, estimate_id DESC LIMIT 200
        """),
        [kind],
    )


async def find_estimate_state(conn: Connection, kind: str, exe: str, nodes: int, bare: bool = False) -> Row | None:
    """Return the state of a kind of estimate for an application (`bare`: named without folders); None if no worker has checked it."""
    rows = await query_rows(
        conn,
        SQL(
            "SELECT estimate_id, checked_at AS checked, runs, lacks, drift FROM estimate_state WHERE kind = %s AND {} = %s AND nodes = %s"
        ).format(build_exe_column(SQL("exe"), bare)),
        [kind, exe, nodes],
    )
    return rows[0] if rows else None


async def list_entries(conn: Connection, estimate_id: int, by: str, after: int, limit: int) -> list[Row]:
    """Return blamed names of an estimate after a rank."""
    return await query_rows(
        conn,
        SQL(
            "SELECT place, name, entry FROM estimate_entry WHERE estimate_id = %s AND by_what = %s AND place > %s ORDER BY place LIMIT %s"
        ),
        [estimate_id, by, after, limit],
    )


async def entry_counts(conn: Connection, estimate_id: int, by: str) -> Row:
    """Count an estimate's entries: total, testable, found (named) and cannot_tell."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT count(*) AS total, count(*) FILTER (WHERE (entry ->> 'testable')::boolean) AS testable,
                   count(*) FILTER (WHERE entry ->> 'verdict' = %s) AS found, count(*) FILTER (WHERE entry ->> 'verdict' = %s) AS cannot_tell
            FROM estimate_entry WHERE estimate_id = %s AND by_what = %s
        """),
        [NAMED, CANNOT_TELL, estimate_id, by],
    )
    return rows[0]


async def find_entry(conn: Connection, estimate_id: int, by: str, place: int) -> Row | None:
    """Return one blamed name with its overlap and exposure by run."""
    rows = await query_rows(
        conn,
        SQL(
            "SELECT place, name, entry, overlap, exposure FROM estimate_entry WHERE estimate_id = %s AND by_what = %s AND place = %s"
        ),
        [estimate_id, by, place],
    )
    return rows[0] if rows else None


async def list_running_runs(conn: Connection, limit: int, fabric_id: int | None = None) -> list[Row]:
    """Return runs of running jobs with their steps so far, of one machine or of all, newest start first."""
    return await query_rows(
        conn,
        SQL("""
            SELECT r.run_id, r.job_pk, coalesce(r.job_id, j.job_id) AS job_id, j.user_name AS "user", j.name, r.exe, coalesce(j.nodes, r.ranks) AS nodes, r.ranks,
                   r.start_ts AS start, r.simulated, j.start_ts AS job_start, extract(epoch FROM now() - j.start_ts)::float8 AS job_elapsed_s,
                   coalesce(t.steps, 0) AS steps, coalesce(extract(epoch FROM now() - r.start_ts), 0)::float8 AS elapsed_s
            FROM run r LEFT JOIN job j USING (job_pk)
            LEFT JOIN LATERAL (SELECT count(*) AS steps, sum(time_s) AS time_s, max(time_s) AS longest_s FROM run_step s WHERE s.run_id = r.run_id) t ON true
            WHERE r.start_ts IS NOT NULL AND r.start_ts > now() - interval '14 days' AND {}
              AND (%(fabric)s::int IS NULL OR EXISTS (SELECT FROM job_node n WHERE n.job_pk = r.job_pk AND n.fabric_id = %(fabric)s))
            ORDER BY r.start_ts DESC, r.run_id LIMIT %(limit)s
        """).format(_RUNS_NOW),
        {"fabric": fabric_id, "limit": limit},
    )


async def is_running(conn: Connection, run_id: int) -> bool:
    """Return whether a run's job is running."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT {} AS now FROM run r LEFT JOIN job j USING (job_pk)
            LEFT JOIN LATERAL (SELECT sum(time_s) AS time_s, max(time_s) AS longest_s FROM run_step s WHERE s.run_id = r.run_id) t ON true WHERE r.run_id = %s
        """).format(_RUNS_NOW),
        [run_id],
    )
    return bool(rows and rows[0]["now"])


async def list_forecasts(conn: Connection, run_id: int, limit: int = 2000) -> list[Row]:
    """Return all forecasts of a run in order of steps, with the measured outcomes."""
    return await query_rows(
        conn, _FORECAST + SQL(" WHERE f.run_id = %s ORDER BY f.after_steps LIMIT %s"), [run_id, limit]
    )


async def newest_forecasts(conn: Connection, run_ids: list[int]) -> dict[int, Row]:
    """Return the newest forecast of each run."""
    rows = await query_rows(
        conn,
        SQL("SELECT DISTINCT ON (run_id) * FROM (")
        + _FORECAST
        + SQL(" WHERE f.run_id = ANY(%s)) x ORDER BY run_id, after_steps DESC"),
        [run_ids],
    )
    return {row["run_id"]: row for row in rows}


async def job_ids(conn: Connection, run_ids: list[int]) -> dict[int, str | None]:
    """Return the scheduler's number of each run's job."""
    rows = await query_rows(
        conn,
        SQL(
            "SELECT r.run_id, coalesce(r.job_id, j.job_id) AS job_id FROM run r LEFT JOIN job j USING (job_pk) WHERE r.run_id = ANY(%s)"
        ),
        [run_ids],
    )
    return {row["run_id"]: row["job_id"] for row in rows}


async def past_jobs(conn: Connection, job_pk: int, elapsed_s: float | None) -> list[Row]:
    """Return elapsed times of completed similar jobs, most similar first: same user, name and size; name and size; user and size."""
    return await query_rows(
        conn,
        SQL("""
            WITH me AS (SELECT user_name, name, nodes, simulated FROM job WHERE job_pk = %(job)s), past AS (
                SELECT extract(epoch FROM j.end_ts - j.start_ts)::float8 AS s, j.user_name = me.user_name AS same_user, j.name = me.name AS same_name
                FROM job j, me
                WHERE j.job_pk <> %(job)s AND j.simulated = me.simulated AND j.state = 'COMPLETED' AND j.end_ts > j.start_ts
                  AND j.nodes BETWEEN me.nodes / 2.0 AND me.nodes * 2.0 AND (j.user_name = me.user_name OR j.name = me.name)
                ORDER BY j.start_ts DESC LIMIT 20000
            )
            SELECT b.basis, count(s) AS jobs, percentile_cont(0.1) WITHIN GROUP (ORDER BY s) AS p10_s, percentile_cont(0.5) WITHIN GROUP (ORDER BY s) AS p50_s,
                   percentile_cont(0.9) WITHIN GROUP (ORDER BY s) AS p90_s, avg((s > %(elapsed)s::float8)::int)::float8 AS longer
            FROM (VALUES (1, 'user, name, size', true, true), (2, 'name, size', false, true), (3, 'user, size', true, false)) b (place, basis, u, n)
            LEFT JOIN past ON (NOT b.u OR same_user) AND (NOT b.n OR same_name)
            GROUP BY b.place, b.basis ORDER BY b.place
        """),
        {"job": job_pk, "elapsed": elapsed_s},
    )


#: Number of the newest similar jobs that are read: most of a running job's similar jobs were shorter than its elapsed time.
_MOST_PAST = 3000


async def past_times(conn: Connection, job_pk: int) -> dict[str, list[float]]:
    """Return run times of completed similar jobs in order of start, by their common property with the job (`run_time.BASES`)."""
    rows = await query_rows(
        conn,
        SQL("""
            WITH me AS (SELECT user_name, name, nodes, simulated, start_ts FROM job WHERE job_pk = %(job)s)
            SELECT extract(epoch FROM j.end_ts - j.start_ts)::float8 AS s, j.user_name = me.user_name AS same_user, j.name = me.name AS same_name
            FROM job j, me
            WHERE j.job_pk <> %(job)s AND j.simulated = me.simulated AND j.state = 'COMPLETED' AND j.end_ts > j.start_ts
              AND j.nodes BETWEEN me.nodes / 2.0 AND me.nodes * 2.0 AND (j.user_name = me.user_name OR j.name = me.name)
            ORDER BY j.start_ts DESC LIMIT %(most)s
        """),
        {"job": job_pk, "most": _MOST_PAST},
    )
    alike = {
        BASES[0]: [row["s"] for row in rows if row["same_user"] and row["same_name"]],
        BASES[1]: [row["s"] for row in rows if row["same_name"]],
        BASES[2]: [row["s"] for row in rows if row["same_user"]],
    }
    return {basis: times[::-1] for basis, times in alike.items()}


async def running_without_steps(conn: Connection, limit: int, fabric_id: int | None = None) -> list[Row]:
    """Return running jobs without a recorded run, of one machine or of all, largest first."""
    return await query_rows(
        conn,
        SQL("""
            SELECT j.job_pk, j.job_id, j.user_name AS "user", j.name, j.nodes, j.start_ts AS start, j.simulated,
                   extract(epoch FROM now() - j.start_ts)::float8 AS elapsed_s
            FROM job j WHERE j.state = 'RUNNING' AND j.end_ts IS NULL AND j.start_ts BETWEEN now() - interval '60 days' AND now()
              AND NOT EXISTS (SELECT FROM run r WHERE r.job_pk = j.job_pk)
              AND (%(fabric)s::int IS NULL OR EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND n.fabric_id = %(fabric)s))
            ORDER BY j.nodes DESC NULLS LAST, j.start_ts, j.job_pk LIMIT %(limit)s
        """),
        {"fabric": fabric_id, "limit": limit},
    )


async def load_stall_ratios(conn: Connection, job_pk: int, fabric_id: int, from_: datetime, to: datetime) -> Row | None:
    """Load the stall ratio of a job's routers and of the machine over [from, to), per minute; None if nothing was counted."""
    rows = await query_rows(
        conn,
        SQL("""
            WITH by_router AS (
                SELECT router, sum(rt_stall_cycles) / nullif(sum(rt_flits), 0) AS ratio, sum(rt_stall_cycles) AS stalls, sum(rt_flits) AS flits
                FROM router_1m WHERE fabric_id = %(fabric)s AND ts >= %(from)s AND ts < %(to)s GROUP BY router
            ), marked AS (
                SELECT b.*, EXISTS (SELECT FROM job_node n WHERE n.job_pk = %(job)s AND n.fabric_id = %(fabric)s AND n.router = b.router) AS mine FROM by_router b
            ), ratios AS (
                SELECT count(*) FILTER (WHERE mine) AS routers, sum(stalls) FILTER (WHERE mine) / nullif(sum(flits) FILTER (WHERE mine), 0) AS job,
                       sum(stalls) / nullif(sum(flits), 0) AS machine
                FROM marked
            )
            SELECT routers, job, machine, (SELECT avg((m.ratio < ratios.job)::int)::float8 FROM marked m WHERE m.ratio IS NOT NULL) AS percentile FROM ratios
        """),
        {"job": job_pk, "fabric": fabric_id, "from": from_, "to": to},
    )
    return rows[0] if rows and rows[0]["machine"] is not None else None


async def find_blaming_applications(conn: Connection, users: list[str]) -> dict[str, list[str]]:
    """Return, for each user, the applications whose newest estimate names the user."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT n.name, array_agg(DISTINCT e.exe ORDER BY e.exe) AS exes
            FROM estimate_state t JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id)
            WHERE t.kind = 'blame' AND n.by_what = 'user' AND n.name = ANY(%s) AND n.entry ->> 'verdict' = %s GROUP BY n.name
        """),
        [users, NAMED],
    )
    return {row["name"]: row["exes"] for row in rows}
