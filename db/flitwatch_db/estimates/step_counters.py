"""Counters during each step of a run: of its routers and network cards, of routers with I/O nodes, and of others; stored because seconds expire."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from flitwatch_domain.counters import ENDPOINT_COLUMNS, LDMS_FOUR, TABLE_II

Connection = psycopg.Connection[Any]

#: With a smaller share of the expected rows a value would cover only some routers; it stays unknown.
LEAST_COVERAGE = 0.9
#: Maximum number of steps processed at once.
MOST_STEPS = 400
#: Seconds are kept for two days; runs that began this long ago may still have counters of their last steps. The second value limits runs processed at once.
RECENT_DAYS, MOST_RUNS = 4, 200


def _build_rates(columns: list[str], condition: str) -> sql.Composed:
    """Build an array of counts per second over the matching rows; NULL if too few were counted."""
    sums = sql.SQL(", ").join(
        sql.SQL("sum(c.{}) FILTER (WHERE {}) / g.seconds").format(sql.Identifier(column), sql.SQL(condition))
        for column in columns
    )
    enough = sql.SQL(
        "count(*) FILTER (WHERE {}) >= {} * g.seconds * count(DISTINCT g.router) FILTER (WHERE {})"
    ).format(sql.SQL(condition), sql.Literal(LEAST_COVERAGE), sql.SQL(condition))
    return sql.SQL("CASE WHEN {} AND count(c.ts) FILTER (WHERE {}) > 0 THEN ARRAY[{}]::float8[] END").format(
        enough,
        sql.SQL(condition),
        sums,
    )


#: The whole seconds that begin within each step that has no stored row and ends before `through`.
_DUE = """
    spans AS (
        SELECT step, time_s, %(start)s + sum(time_s) OVER (ORDER BY step) AS ends FROM run_step WHERE run_id = %(run)s
    ), due AS (
        SELECT step, ceil(ends - time_s) AS first, ceil(ends) - 1 AS last FROM spans s
        WHERE ends <= %(through)s AND NOT EXISTS (SELECT FROM {table} a WHERE a.run_id = %(run)s AND a.step = s.step)
        ORDER BY step LIMIT {most}
    )
"""


def _build_due_query(table: str) -> sql.Composed:
    return sql.SQL(_DUE).format(table=sql.Identifier(table), most=sql.Literal(MOST_STEPS))


def keep_recent(conn: Connection) -> int:
    """Store the counters of steps of the newest runs, with or without forecasts; return the number of stored steps."""
    rows = conn.execute(
        "SELECT r.run_id FROM run r JOIN job j USING (job_pk) WHERE r.start_ts > now() - make_interval(days => %s)"
        " AND EXISTS (SELECT FROM run_step s WHERE s.run_id = r.run_id AND s.time_s >= 1"
        "  AND NOT EXISTS (SELECT FROM run_step_around a WHERE (a.run_id, a.step) = (s.run_id, s.step)))"
        " ORDER BY r.start_ts DESC LIMIT %s",
        [RECENT_DAYS, MOST_RUNS],
    ).fetchall()
    return sum(keep_steps(conn, run, complete_through_s(conn, run)) for (run,) in rows)


def keep_steps(conn: Connection, run_id: int, complete_through_s: float | None) -> int:
    """Sum and store the counters of a run's new steps before `complete_through_s`; return the number of stored steps.

    A step has the counters of the whole seconds that begin within it; a step without such a second has none.
    """
    if complete_through_s is None:
        return 0
    row = conn.execute(
        "SELECT extract(epoch FROM r.start_ts)::float8, (SELECT n.fabric_id FROM job_node n WHERE n.job_pk = r.job_pk AND n.router IS NOT NULL"
        " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1),"
        " r.job_pk FROM run r WHERE r.run_id = %s AND r.start_ts IS NOT NULL",
        [run_id],
    ).fetchone()
    if row is None or row[1] is None:
        return 0
    start_s, fabric_id, job_pk = row
    four = [counter.column for name in LDMS_FOUR for counter in TABLE_II if counter.abbreviation == name]
    query = sql.SQL("""
        INSERT INTO run_step_around (run_id, step, own, io, sys)
        WITH {due}, places AS (
            SELECT q.router, EXISTS (SELECT FROM job_node n WHERE n.job_pk = %(job)s AND n.fabric_id = %(fabric)s AND n.router = q.router) AS own,
                   EXISTS (SELECT FROM endpoint e WHERE e.fabric_id = %(fabric)s AND e.router = q.router AND e.role = 'io') AS io
            FROM router q WHERE q.fabric_id = %(fabric)s
        ), g AS (
            SELECT d.step, d.first, d.last, greatest(d.last - d.first + 1, 0) AS seconds, p.router, p.own, p.io FROM due d CROSS JOIN places p
        )
        SELECT %(run)s, g.step, {own}, {io}, {rest}
        FROM g LEFT JOIN router_1s c ON c.fabric_id = %(fabric)s AND c.router = g.router AND c.ts >= to_timestamp(g.first) AND c.ts <= to_timestamp(g.last)
        WHERE g.seconds > 0
        GROUP BY g.step, g.seconds ON CONFLICT DO NOTHING
    """).format(
        due=_build_due_query("run_step_around"),
        own=_build_rates([counter.column for counter in TABLE_II], "g.own"),
        io=_build_rates(four, "g.io"),
        rest=_build_rates(four, "NOT g.own"),
    )
    parameters = {"start": start_s, "run": run_id, "through": complete_through_s, "job": job_pk, "fabric": fabric_id}
    conn.execute(_build_cards_query(), parameters)
    return conn.execute(query, parameters).rowcount


def _build_cards_query() -> sql.Composed:
    """Build rates of the NICs of the run's nodes, by step; a NIC's row represents `seconds` of them, so that slow samplers are counted too."""
    rates = sql.SQL(", ").join(
        sql.SQL("sum(c.{}) / g.seconds").format(sql.Identifier(column)) for column in ENDPOINT_COLUMNS
    )
    return sql.SQL("""
        INSERT INTO run_step_nic (run_id, step, rates)
        WITH {due}, cards AS (
            SELECT DISTINCT n.endpoint FROM job_node n WHERE n.job_pk = %(job)s AND n.fabric_id = %(fabric)s AND n.endpoint IS NOT NULL
        ), g AS (
            SELECT d.step, d.first, d.last, greatest(d.last - d.first + 1, 0) AS seconds, k.endpoint FROM due d CROSS JOIN cards k
        )
        SELECT %(run)s, g.step, CASE WHEN sum(c.seconds) >= {least} * g.seconds * count(DISTINCT g.endpoint) THEN ARRAY[{rates}]::float8[] END
        FROM g LEFT JOIN endpoint_1s c ON c.fabric_id = %(fabric)s AND c.endpoint = g.endpoint AND c.ts >= to_timestamp(g.first) AND c.ts <= to_timestamp(g.last)
        WHERE g.seconds > 0
        GROUP BY g.step, g.seconds ON CONFLICT DO NOTHING
    """).format(due=_build_due_query("run_step_nic"), least=sql.Literal(LEAST_COVERAGE), rates=rates)


def complete_through_s(conn: Connection, run_id: int) -> float | None:
    """Return the time through which a run's counters are complete: the writer's last value, else the end of the newest row; None without rows."""
    row = conn.execute(
        "SELECT coalesce("
        " (SELECT extract(epoch FROM max(said.through)) FROM (SELECT (e.payload ->> 'through')::timestamptz AS through FROM event e"
        "  WHERE e.kind = 'counters' AND (e.payload ->> 'fabric_id')::int = f.fabric_id ORDER BY e.event_id DESC LIMIT 20) said),"
        " (SELECT extract(epoch FROM max(ts)) + 1 FROM router_1s c WHERE c.fabric_id = f.fabric_id),"
        " (SELECT extract(epoch FROM max(ts)) + 1 FROM endpoint_1s c WHERE c.fabric_id = f.fabric_id))::float8"
        " FROM (SELECT n.fabric_id FROM run r JOIN job_node n USING (job_pk) WHERE r.run_id = %s AND n.router IS NOT NULL"
        " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) f",
        [run_id],
    ).fetchone()
    return None if row is None else row[0]
