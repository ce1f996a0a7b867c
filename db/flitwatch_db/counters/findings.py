"""Newest findings for a metrics scrape: few rows, regardless of the site's size."""

from __future__ import annotations

from typing import Any

from psycopg import sql
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows

Row = dict[str, Any]
CLASSES = ("green", "black", "blue")
#: Whole minutes; the newest may still grow.
WINDOW_MINUTES = 5

_STALLS = SQL("""
    WITH counted AS MATERIALIZED (
        SELECT b.fabric_id, b.router, {sums} FROM router_1m b
        WHERE b.ts >= date_trunc('minute', now()) - make_interval(mins => {minutes}) AND b.ts < date_trunc('minute', now())
        GROUP BY b.fabric_id, b.router
    )
    SELECT f.name AS fabric, f.simulated, k.kind, k.key, sum(k.flits) AS flits, sum(k.stalls) AS stalls,
           count(*) FILTER (WHERE k.flits > 0) AS routers, count(*) FILTER (WHERE k.flits > 0 AND k.stalls >= %(congested)s * k.flits) AS congested
    FROM counted c JOIN router q USING (fabric_id, router) JOIN fabric f USING (fabric_id)
    CROSS JOIN LATERAL (VALUES {keys}) AS k (kind, key, flits, stalls)
    WHERE k.flits IS NOT NULL AND k.stalls IS NOT NULL AND NOT f.timeless
    GROUP BY f.name, f.simulated, k.kind, k.key HAVING sum(k.flits) > 0 ORDER BY f.name, k.kind, k.key LIMIT %(limit)s
""")


async def list_stalls(conn: Connection, congested_at: float, limit: int) -> list[Row]:
    """Sum flits, stall cycles, and counted and congested routers over the newest minutes: {fabric, simulated, kind, key, flits, stalls, routers, congested}.

    `kind` is fabric, group or class.
    """
    prefixes = ("rt", *CLASSES)
    sums = SQL(", ").join(
        SQL("sum({0}) AS {0}").format(sql.Identifier(f"{prefix}_{what}"))
        for prefix in prefixes
        for what in ("flits", "stall_cycles")
    )
    keys: list[sql.Composable] = [
        SQL("('fabric', '', rt_flits, rt_stall_cycles), ('group', q.group_id::text, rt_flits, rt_stall_cycles)")
    ]
    keys += [
        SQL("('class', {}, {}, {})").format(
            sql.Literal(name), sql.Identifier(f"{name}_flits"), sql.Identifier(f"{name}_stall_cycles")
        )
        for name in CLASSES
    ]
    query = _STALLS.format(sums=sums, keys=SQL(", ").join(keys), minutes=sql.Literal(WINDOW_MINUTES))
    return await query_rows(conn, query, {"congested": congested_at, "limit": limit})


async def count_recent_gaps(conn: Connection) -> list[Row]:
    """Count gaps that touch the last hour: {fabric, reason, gaps}; `fabric` is empty for devices without a fabric."""
    return await query_rows(
        conn,
        SQL(
            "SELECT coalesce(f.name, '') AS fabric, g.reason, count(*) AS gaps FROM gap g LEFT JOIN fabric f USING (fabric_id)"
            " WHERE g.to_ts > now() - interval '1 hour' GROUP BY 1, 2 ORDER BY 1, 2"
        ),
    )


async def list_slowdowns(conn: Connection, limit: int) -> list[Row]:
    """Return the greatest predicted slowdowns of running jobs in the newest forecast: {job_id, exe, simulated, ratio}."""
    return await query_rows(
        conn,
        SQL("""
            SELECT * FROM (
                SELECT DISTINCT ON (f.run_id) coalesce(j.job_id, r.job_id) AS job_id, r.exe, r.simulated, f.expected_s / f.usual_s AS ratio
                FROM forecast f JOIN run r USING (run_id) LEFT JOIN job j USING (job_pk)
                WHERE f.made_at > now() - interval '1 day' AND f.usual_s > 0 AND f.made_at + f.expected_s * interval '1 second' > now() - interval '2 minutes'
                  AND (j.job_pk IS NULL OR j.end_ts IS NULL)
                ORDER BY f.run_id, f.after_steps DESC
            ) newest WHERE job_id IS NOT NULL ORDER BY ratio DESC, job_id LIMIT %s
        """),
        [limit],
    )


async def count_firing_alerts(conn: Connection) -> list[Row]:
    """Count firing alerts: {rule, severity, alerts}."""
    return await query_rows(
        conn,
        SQL(
            "SELECT rule, severity, count(*) AS alerts FROM alert WHERE phase = 'firing' GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 1000"
        ),
    )
