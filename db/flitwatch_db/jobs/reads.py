"""Jobs for the API: pages by key, places on the fabric, neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_db.jobs import as_of
from flitwatch_db.jobs.as_of import end_or
from flitwatch_domain.trials import Outcome


def load_outcomes(
    conn: psycopg.Connection[Any], job_ids: Sequence[str], since_s: float, cluster: str | None = None
) -> dict[str, Outcome]:
    """Return outcomes by id of jobs that ended since a time (epoch seconds) or have not ended; for a requeued job, that of its last run.

    Jobs unknown to accounting are omitted: ids are reused, so older jobs with the same id are different jobs.
    """
    rows = conn.execute(
        "SELECT DISTINCT ON (job_id) job_id, state, extract(epoch FROM start_ts)::float8, extract(epoch FROM end_ts)::float8 FROM job"
        " WHERE job_id = ANY(%s) AND (%s::text IS NULL OR cluster = %s) AND (end_ts IS NULL OR end_ts >= to_timestamp(%s))"
        " ORDER BY job_id, restart DESC, job_pk DESC",
        [list(job_ids), cluster, cluster, since_s],
    ).fetchall()
    return {job_id: Outcome(state, start, end) for job_id, state, start, end in rows}


Row = dict[str, Any]


@dataclass(frozen=True)
class NameMask:
    """Names as a caller may see them: pseudonyms for all users except the caller.

    Attributes
    ----------
    inner_pad, outer_pad : bytes[64]     the site's key, padded for HMAC
    """

    inner_pad: bytes
    outer_pad: bytes
    own: str | None


def shown_jobs(shown: NameMask | None) -> tuple[sql.SQL, dict[str, str | bytes | None]]:
    """Return the table `job` as a caller may see it, so that searching and sorting reveal nothing more, and its parameters."""
    if shown is None:
        return SQL("job"), {}
    masked = """
        (SELECT job_pk, cluster, job_id, restart, partition, state, exit_code, submit_ts, start_ts, end_ts, nodes, node_list, simulated,
                CASE WHEN user_name = %(own)s THEN user_name ELSE pseudonym('user', user_name, %(inner)s, %(outer)s) END AS user_name,
                CASE WHEN user_name = %(own)s THEN account ELSE pseudonym('account', account, %(inner)s, %(outer)s) END AS account,
                CASE WHEN user_name = %(own)s THEN name ELSE pseudonym('app', name, %(inner)s, %(outer)s) END AS name FROM job) AS job
    """
    return SQL(masked), {"own": shown.own, "inner": shown.inner_pad, "outer": shown.outer_pad}


_NOW, _INFINITY = "%(now)s::timestamptz", "'infinity'::timestamptz"
_ELAPSED = SQL(f"extract(epoch FROM {end_or(_NOW)} - start_ts)::float8")

#: Sort keys: an expression that is never NULL, and its type. Jobs that have not started count as the newest.
SORTS: dict[str, tuple[sql.Composable, sql.SQL]] = {
    "start": (SQL("coalesce(start_ts, 'infinity')"), SQL("timestamptz")),
    "submit": (SQL("coalesce(submit_ts, '-infinity')"), SQL("timestamptz")),
    "end": (SQL("coalesce(end_ts, 'infinity')"), SQL("timestamptz")),
    "elapsed_s": (SQL("coalesce({}, -1)").format(_ELAPSED), SQL("float8")),
    "nodes": (SQL("coalesce(nodes, -1)"), SQL("int")),
    "user": (SQL("coalesce(user_name, '')"), SQL("text")),
    "name": (SQL("coalesce(name, '')"), SQL("text")),
    "state": (SQL("state"), SQL("text")),
    "job_id": (SQL("job_id"), SQL("text")),
}

_COLUMNS = SQL("""
    job_pk, cluster, job_id, restart, user_name AS "user", account, name, partition, state, exit_code,
    submit_ts AS submit, start_ts AS start, end_ts AS "end",
    CASE WHEN start_ts <= coalesce(end_ts, %(now)s) THEN {} END AS elapsed_s, nodes, simulated
""").format(_ELAPSED)


async def list_jobs(
    conn: Connection,
    *,
    sort: str,
    descending: bool,
    limit: int,
    now: datetime,
    after: tuple[str, int] | None = None,
    fabric_id: int | None = None,
    users: Sequence[str] = (),
    states: Sequence[str] = (),
    name: str | None = None,
    text: str | None = None,
    from_: datetime | None = None,
    to: datetime | None = None,
    shown: NameMask | None = None,
) -> list[Row]:
    """Return a page of jobs after a key.

    Parameters
    ----------
    sort : str
        A key of `SORTS`; ties are broken by job_pk.
    now : datetime
        End of running jobs for filters and sorting.
    after : (text of the sort key, job_pk), optional
        The last row of the page before.
    name, text : str, optional
        Parts of the job's name; of its id, name, user or account. Case is ignored.
    from_, to : datetime, optional
        Jobs that ran at some time in [from, to].
    shown : NameMask, optional
        Without it, names are unchanged.

    Returns
    -------
    list of dict
        Each with `sort_key`, the text for the next page's `after`.
    """
    key, kind = SORTS[sort]
    conditions: list[sql.Composable] = []
    source, hidden = shown_jobs(shown)
    parameters: dict[str, Any] = {"now": now, "limit": limit, **hidden}

    def condition(template: str, **values: Any) -> None:
        conditions.append(SQL(template))
        parameters.update(values)

    if fabric_id is not None:
        condition(
            "EXISTS (SELECT FROM job_node n WHERE n.job_pk = job.job_pk AND n.fabric_id = %(fabric)s)", fabric=fabric_id
        )
    if users:
        condition("user_name = ANY(%(users)s)", users=list(users))
    if states:
        condition("state = ANY(%(states)s)", states=list(states))
    if name is not None:
        condition("strpos(lower(name), lower(%(name)s)) > 0", name=name)
    if text is not None:
        condition(
            "(strpos(lower(job_id), lower(%(text)s)) > 0 OR strpos(lower(name), lower(%(text)s)) > 0"
            " OR strpos(lower(user_name), lower(%(text)s)) > 0 OR strpos(lower(account), lower(%(text)s)) > 0)",
            text=text,
        )
    if from_ is not None:
        # A job with unknown end counts as running only when it began.
        condition(f"coalesce({end_or(_INFINITY)}, start_ts) >= %(from)s AND start_ts IS NOT NULL", **{"from": from_})
    if to is not None:
        condition("start_ts <= %(to)s", to=to)
    if after is not None:
        parameters.update(key=after[0], pk=after[1])
        conditions.append(
            SQL("({}, job_pk) {} (%(key)s::{}, %(pk)s::bigint)").format(key, SQL("<" if descending else ">"), kind)
        )
    query = SQL("SELECT {}, ({})::text AS sort_key FROM {} {} ORDER BY {} {}, job_pk {} LIMIT %(limit)s").format(
        _COLUMNS,
        key,
        source,
        SQL("WHERE ") + SQL(" AND ").join(conditions) if conditions else SQL(""),
        key,
        *[SQL("DESC" if descending else "ASC")] * 2,
    )
    return await query_rows(conn, query, parameters)


async def load_places(conn: Connection, job_pks: Sequence[int], fabric_id: int | None = None) -> dict[int, Row]:
    """Return per job the fabric with most of its endpoints, sorted routers and groups of its nodes there, and its number of runs."""
    rows = await query_rows(
        conn,
        SQL("""
            SELECT j.job_pk, p.fabric_id, coalesce(p.routers, '{}') AS routers, coalesce(p.groups, '{}') AS groups,
                   (SELECT count(*) FROM run WHERE run.job_pk = j.job_pk) AS runs
            FROM unnest(%(jobs)s::bigint[]) AS j (job_pk)
            LEFT JOIN LATERAL (
                SELECT n.fabric_id, array_agg(DISTINCT n.router ORDER BY n.router) AS routers,
                       array_agg(DISTINCT r.group_id ORDER BY r.group_id) FILTER (WHERE r.group_id >= 0) AS groups
                FROM job_node n LEFT JOIN router r USING (fabric_id, router)
                WHERE n.job_pk = j.job_pk AND n.router IS NOT NULL AND (%(fabric)s::int IS NULL OR n.fabric_id = %(fabric)s)
                GROUP BY n.fabric_id ORDER BY count(*) DESC, n.fabric_id LIMIT 1
            ) p ON true
        """),
        {"jobs": list(job_pks), "fabric": fabric_id},
    )
    return {row["job_pk"]: row for row in rows}


async def find_job(conn: Connection, job_id: str, cluster: str | None, now: datetime) -> Row | None:
    """Return the newest job (latest restart) with that id as the scheduler prints it, with its node_list."""
    rows = await query_rows(
        conn,
        SQL("SELECT {}, node_list FROM job ").format(_COLUMNS) + as_of.NEWEST,
        {**as_of.build_parameters(job_id, cluster), "now": now},
    )
    return rows[0] if rows else None


async def list_planes(conn: Connection, job_pk: int) -> list[Row]:
    """Return all fabrics with endpoints of a job's nodes, most endpoints first: fabric_id, name, nodes, endpoints, routers, groups."""
    return await query_rows(
        conn,
        SQL("""
            SELECT n.fabric_id, f.name AS fabric, count(DISTINCT n.node) AS nodes, array_agg(DISTINCT n.endpoint ORDER BY n.endpoint) AS endpoints,
                   array_agg(DISTINCT n.router ORDER BY n.router) AS routers,
                   coalesce(array_agg(DISTINCT r.group_id ORDER BY r.group_id) FILTER (WHERE r.group_id >= 0), '{}') AS groups
            FROM job_node n JOIN fabric f USING (fabric_id) LEFT JOIN router r USING (fabric_id, router)
            WHERE n.job_pk = %s AND n.router IS NOT NULL GROUP BY n.fabric_id, f.name ORDER BY count(*) DESC, n.fabric_id
        """),
        [job_pk],
    )


async def list_steps(conn: Connection, job_pk: int) -> list[Row]:
    """Return a job's steps in order of start."""
    return await query_rows(
        conn,
        SQL(
            'SELECT step, name, state, start_ts AS start, end_ts AS "end", nodes, node_list FROM job_step WHERE job_pk = %s'
            " ORDER BY start_ts NULLS LAST, step LIMIT 1000"
        ),
        [job_pk],
    )


async def list_neighbours(conn: Connection, job_pk: int, now: datetime, limit: int) -> list[Row]:
    """Return jobs that ran at the same time on the same routers or groups, on any of the job's planes, most shared first.

    `overlap_s` is the time that both ran; `shared_groups` counts groups in which both have routers.
    """
    return await query_rows(
        conn,
        SQL("""
            WITH me AS (
                SELECT start_ts, {my_end} AS end_ts FROM job WHERE job_pk = %(job)s
            ), mine AS (
                SELECT DISTINCT n.fabric_id, n.router, r.group_id FROM job_node n JOIN router r USING (fabric_id, router) WHERE n.job_pk = %(job)s
            ), my_groups AS (
                SELECT DISTINCT fabric_id, group_id FROM mine WHERE group_id IS NOT NULL
            ), others AS (
                SELECT j.job_pk, j.job_id, j.user_name, j.name, j.nodes, j.simulated, j.start_ts,
                       extract(epoch FROM least({their_end}, me.end_ts) - greatest(j.start_ts, me.start_ts))::float8 AS overlap_s
                FROM job j, me
                WHERE j.job_pk <> %(job)s AND j.start_ts < me.end_ts AND {their_end} > me.start_ts
            ), theirs AS (
                SELECT DISTINCT n.job_pk, n.fabric_id, n.router, r.group_id FROM others JOIN job_node n USING (job_pk) JOIN router r USING (fabric_id, router)
                WHERE n.fabric_id IN (SELECT fabric_id FROM mine)
            ), shared AS (
                SELECT t.job_pk, count(DISTINCT (m.fabric_id, m.router)) FILTER (WHERE m.router IS NOT NULL) AS shared_routers,
                       count(DISTINCT (g.fabric_id, g.group_id)) FILTER (WHERE g.group_id IS NOT NULL) AS shared_groups
                FROM theirs t LEFT JOIN mine m USING (fabric_id, router) LEFT JOIN my_groups g ON (g.fabric_id, g.group_id) = (t.fabric_id, t.group_id)
                GROUP BY 1
            )
            SELECT o.job_pk, o.job_id, o.user_name AS "user", o.name, o.nodes, o.start_ts AS start, s.shared_routers, s.shared_groups, o.overlap_s
            FROM others o JOIN shared s USING (job_pk) WHERE s.shared_routers > 0 OR s.shared_groups > 0
            ORDER BY s.shared_routers DESC, s.shared_groups DESC, o.overlap_s DESC, o.job_pk LIMIT %(limit)s
        """).format(my_end=SQL(end_or(_NOW)), their_end=SQL(end_or(_NOW, "j."))),
        {"job": job_pk, "now": now, "limit": limit},
    )


async def list_holding_jobs(
    conn: Connection, fabric_id: int, at: datetime | None, limit: int, router: int | None = None
) -> list[Row]:
    """Return jobs on a fabric's routers at a time, or on one router, largest first. If `at` is None (counters without times), return all jobs."""
    then = SQL("" if at is None else f"AND j.start_ts <= %(at)s AND {end_or(_INFINITY, 'j.')} > %(at)s")
    return await query_rows(
        conn,
        SQL("""
            SELECT j.job_pk, j.job_id, j.user_name AS "user", j.name, j.nodes, j.start_ts AS start, array_agg(DISTINCT n.router ORDER BY n.router) AS routers
            FROM job j JOIN job_node n USING (job_pk)
            WHERE n.fabric_id = %(fabric)s AND n.router IS NOT NULL AND (%(router)s::int IS NULL OR n.router = %(router)s) {then}
            GROUP BY j.job_pk ORDER BY count(*) DESC, j.job_pk LIMIT %(limit)s
        """).format(then=then),
        {"fabric": fabric_id, "at": at, "limit": limit, "router": router},
    )


async def nodes_held(conn: Connection, fabric_id: int, at: datetime | None) -> int:
    """Count the busy nodes of a fabric at a time, each once, because a job's end may be recorded after the next job's start on its nodes."""
    then = SQL("" if at is None else f"AND j.start_ts <= %(at)s AND {end_or(_INFINITY, 'j.')} > %(at)s")
    rows = await query_rows(
        conn,
        SQL(
            "SELECT count(DISTINCT n.node) AS nodes FROM job j JOIN job_node n USING (job_pk) WHERE n.fabric_id = %(fabric)s {then}"
        ).format(then=then),
        {"fabric": fabric_id, "at": at},
    )
    return int(rows[0]["nodes"])


async def list_started_jobs(conn: Connection, fabric_id: int, from_: datetime, to: datetime, limit: int) -> list[Row]:
    """Return the largest jobs of a fabric that started in [from, to), in order of start."""
    return await query_rows(
        conn,
        SQL("""
            SELECT * FROM (
                SELECT job_pk, job_id, user_name AS "user", name, nodes, start_ts AS start FROM job
                WHERE start_ts >= %(from)s AND start_ts < %(to)s
                  AND EXISTS (SELECT FROM job_node n WHERE n.job_pk = job.job_pk AND n.fabric_id = %(fabric)s)
                ORDER BY nodes DESC NULLS LAST, job_pk LIMIT %(limit)s
            ) q ORDER BY start, job_pk
        """),
        {"fabric": fabric_id, "from": from_, "to": to, "limit": limit},
    )


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
