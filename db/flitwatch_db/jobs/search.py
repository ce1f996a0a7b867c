"""Search for jobs, incidents, routers, nodes, users and fabrics."""

from __future__ import annotations

from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_db.jobs.reads import NameMask, shown_jobs

Row = dict[str, Any]

#: Exact hits first, then prefixes, then parts; strpos needs no escaping of the user's text.
_QUERIES = {
    "job": SQL("""
        SELECT 'job' AS kind, job_id AS id, job_id || coalesce(' ' || name, '') AS title,
               concat_ws(', ', user_name, lower(state), nodes || ' nodes') AS detail, NULL::text AS fabric, job_id = %(q)s AS exact,
               strpos(lower(job_id), %(l)s) = 1 OR strpos(lower(name), %(l)s) = 1 AS begins
        FROM {} WHERE strpos(lower(job_id), %(joined)s) > 0
            OR (SELECT bool_and(strpos(lower(concat_ws(' ', job_id, name)), word) > 0) FROM unnest(%(words)s::text[]) word)
        ORDER BY exact DESC, begins DESC NULLS LAST, start_ts DESC NULLS FIRST, job_pk DESC LIMIT %(n)s
    """),
    "incident": SQL("""
        SELECT 'incident' AS kind, i.incident_id::text AS id, 'incident ' || i.incident_id AS title,
               concat_ws(', ', f.name, to_char(i.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), (SELECT 'job ' || string_agg(DISTINCT c.job_id, ' ') FROM incident_part p JOIN job c ON c.job_pk = p.cause_pk WHERE p.incident_id = i.incident_id)) AS detail,
               NULL::text AS fabric, i.incident_id::text = %(q)s AS exact, strpos('incident ' || i.incident_id, %(l)s) = 1 AS begins
        FROM incident i JOIN fabric f USING (fabric_id)
        WHERE merged_into IS NULL AND (i.incident_id::text = %(q)s OR strpos('incident ' || i.incident_id, %(l)s) = 1 OR EXISTS (
            SELECT FROM incident_part p JOIN job c ON c.job_pk IN (p.cause_pk, p.job_pk) WHERE p.incident_id = i.incident_id AND c.job_id = %(q)s))
        ORDER BY exact DESC, begins DESC, i.began_at DESC, i.incident_id DESC LIMIT %(n)s
    """),
    "user": SQL("""
        SELECT 'user' AS kind, user_name AS id, user_name AS title, count(*) || CASE count(*) WHEN 1 THEN ' job' ELSE ' jobs' END AS detail,
               NULL::text AS fabric, user_name = %(q)s AS exact, strpos(lower(user_name), %(l)s) = 1 AS begins
        FROM {} WHERE strpos(lower(user_name), %(l)s) > 0
        GROUP BY user_name ORDER BY exact DESC, begins DESC, count(*) DESC, user_name LIMIT %(n)s
    """),
    "fabric": SQL("""
        SELECT 'fabric' AS kind, fabric_id::text AS id, name AS title, replace(kind, '_', ' ') AS detail, name AS fabric, name = %(q)s AS exact,
               strpos(lower(name), %(l)s) = 1 AS begins
        FROM fabric WHERE strpos(lower(name), %(l)s) > 0 ORDER BY exact DESC, begins DESC, name LIMIT %(n)s
    """),
    "router": SQL("""
        SELECT 'router' AS kind, r.router::text AS id, r.name AS title, f.name || coalesce(', group ' || r.group_id, '') AS detail,
               f.fabric_id::text AS fabric, r.name = %(q)s AS exact, strpos(lower(r.name), %(l)s) = 1 AS begins
        FROM router r JOIN fabric f USING (fabric_id) WHERE strpos(lower(r.name), %(l)s) > 0
        ORDER BY exact DESC, begins DESC, f.fabric_id, r.router LIMIT %(n)s
    """),
    "node": SQL("""
        SELECT 'node' AS kind, e.node AS id, e.node AS title, f.name || ', router ' || r.name AS detail, f.fabric_id::text AS fabric,
               e.node = %(q)s AS exact, strpos(lower(e.node), %(l)s) = 1 AS begins, e.router
        FROM (SELECT DISTINCT ON (fabric_id, node) * FROM endpoint WHERE strpos(lower(node), %(l)s) > 0 OR nid::text = %(q)s
              ORDER BY fabric_id, node, endpoint LIMIT 2000) e
        JOIN fabric f USING (fabric_id) JOIN router r USING (fabric_id, router)
        ORDER BY exact DESC, begins DESC, f.fabric_id, e.node LIMIT %(n)s
    """),
}


async def find_hits(conn: Connection, text: str, each: int, shown: NameMask | None = None) -> list[Row]:
    """Return up to `each` hits of each kind, exact ones first; `router` is a node's router. A job must match all words, and names are matched as they are shown."""
    hits: list[Row] = []
    source, hidden = shown_jobs(shown)
    words = text.lower().split()
    asked = {"q": text, "l": text.lower(), "words": words, "joined": "".join(words), "n": each, **hidden}
    async with conn.cursor(row_factory=dict_row) as cursor:
        for query in _QUERIES.values():
            await cursor.execute(query.format(source), asked)
            hits += await cursor.fetchall()
    hits.sort(key=lambda hit: (not hit["exact"], not hit["begins"]))
    return hits
