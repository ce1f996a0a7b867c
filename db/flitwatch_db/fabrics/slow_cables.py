"""Stored cables that are slower than others of their kind or whose link flaps, using the criteria of `flitwatch_domain.fabric.cables`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

from flitwatch_db.core.columns import Connection
from flitwatch_domain.fabric.cables import find_slow_limit, is_flapping

Row = dict[str, Any]
#: Maximum number of listed cables.
MOST_LISTED = 1000

# Speeds of each kind of cable, and the number of links at each.
_SPEEDS = """
    SELECT fabric_id, class, node, array_agg(bandwidth_bps ORDER BY bandwidth_bps), array_agg(links ORDER BY bandwidth_bps)
    FROM (
        SELECT fabric_id, class, src_endpoint IS NOT NULL OR dst_endpoint IS NOT NULL AS node, bandwidth_bps, count(*) AS links FROM link
        WHERE bandwidth_bps < 'infinity' AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s) GROUP BY 1, 2, 3, 4
    ) AS speeds GROUP BY 1, 2, 3
"""

# How often the links of switches' ports went down and recovered in the last day: counts come when they change, and one that is cleared begins anew.
# A record's instance is the port's GUID, its number, and the counter (flitwatch_ingest.collectors.link_failures).
_FAILURES = """
    WITH came AS (
        SELECT o.instance, o.u64[1] - lag(o.u64[1]) OVER (PARTITION BY o.instance ORDER BY o.ts) AS more
        FROM observation o JOIN ldms_schema s USING (schema_id) WHERE s.name = 'ib_link' AND o.ts > now() - interval '1 day'
    ), port AS (
        SELECT split_part(instance, '/', 1) AS guid, split_part(instance, '/', 2)::int AS port,
               coalesce(sum(more) FILTER (WHERE instance LIKE '%%/link_downed'), 0)::int AS downs,
               coalesce(sum(more) FILTER (WHERE instance LIKE '%%/link_error_recovery'), 0)::int AS recoveries
        FROM came WHERE more > 0 GROUP BY 1, 2
    )
    SELECT r.fabric_id, r.router, p.port, p.downs, p.recoveries FROM port p JOIN router r ON ltrim(lower(r.guid), '0') = p.guid
    WHERE %(fabric)s::int IS NULL OR r.fabric_id = %(fabric)s
"""

# One direction of each cable is listed, from the vertex with the higher number; endpoints have higher numbers than routers.
_CABLES = """
    WITH kind AS (
        SELECT * FROM unnest(%(fabrics)s::int[], %(classes)s::text[], %(nodes)s::bool[], %(limits)s::float8[], %(usual)s::float8[])
            AS k (fabric_id, class, node, limit_bps, usual_bps)
    ), flap AS (
        SELECT s.fabric_id, s.link, max(x.downs) AS downs, max(x.recoveries) AS recoveries
        FROM unnest(%(of)s::int[], %(routers)s::int[], %(ports)s::int[], %(downs)s::int[], %(recoveries)s::int[]) AS x (fabric_id, router, port, downs, recoveries)
        JOIN link s ON s.fabric_id = x.fabric_id AND ((s.src_router, s.src_port) = (x.router, x.port) OR (s.dst_router, s.dst_port) = (x.router, x.port))
        GROUP BY 1, 2
    ), chosen AS (
        SELECT s.fabric_id, s.link FROM kind k JOIN link s ON s.fabric_id = k.fabric_id AND s.class IS NOT DISTINCT FROM k.class
            AND (s.src_endpoint IS NOT NULL OR s.dst_endpoint IS NOT NULL) = k.node AND s.bandwidth_bps <= k.limit_bps
        UNION SELECT fabric_id, link FROM flap
    )
    SELECT f.name AS fabric, f.simulated, extract(epoch FROM f.created_at)::float8 AS since_s, s.link, s.class AS link_class,
           coalesce(a.name, ae.node) AS src_name, s.src_port, coalesce(b.name, be.node) AS dst_name, s.dst_port, s.bandwidth_bps, k.usual_bps,
           coalesce(s.bandwidth_bps <= k.limit_bps, false) AS slow, x.link IS NOT NULL AS flapping, x.downs AS link_downs, x.recoveries AS link_recoveries
    FROM chosen c JOIN link s USING (fabric_id, link) JOIN fabric f USING (fabric_id)
    LEFT JOIN kind k ON k.fabric_id = s.fabric_id AND k.class IS NOT DISTINCT FROM s.class
        AND k.node = (s.src_endpoint IS NOT NULL OR s.dst_endpoint IS NOT NULL)
    LEFT JOIN flap x ON (x.fabric_id, x.link) = (s.fabric_id, s.link)
    LEFT JOIN router a ON (a.fabric_id, a.router) = (s.fabric_id, s.src_router) LEFT JOIN router b ON (b.fabric_id, b.router) = (s.fabric_id, s.dst_router)
    LEFT JOIN endpoint ae ON (ae.fabric_id, ae.endpoint) = (s.fabric_id, s.src_endpoint)
    LEFT JOIN endpoint be ON (be.fabric_id, be.endpoint) = (s.fabric_id, s.dst_endpoint)
    WHERE s.src_endpoint IS NOT NULL OR s.src_router > s.dst_router
    ORDER BY s.bandwidth_bps / k.usual_bps, x.downs DESC NULLS LAST, f.name, s.link LIMIT %(most)s
"""


async def list_slow_cables(conn: Connection, fabric_id: int | None = None) -> list[Row]:
    """List the slow and the flapping cables of a fabric, or of all, the slowest relative to its kind first.

    Each is {fabric, simulated, since_s, link, link_class, src_name, src_port, dst_name, dst_port, bandwidth_bps, usual_bps, slow, flapping, link_downs,
    link_recoveries}; the last two, of the last day, are None if the link does not flap.
    """
    which = {"fabric": fabric_id}
    async with conn.cursor() as cursor, conn.cursor(row_factory=dict_row) as cables:
        speeds = await (await cursor.execute(_SPEEDS, which)).fetchall()
        failures = await (await cursor.execute(_FAILURES, which)).fetchall()
        return await (await cables.execute(_CABLES, _judge_cables(speeds, failures))).fetchall()


def read_slow_cables(conn: psycopg.Connection[Any]) -> list[Row]:
    """Read the slow and the flapping cables of all fabrics, as `list_slow_cables`."""
    which = {"fabric": None}
    with conn.cursor() as cursor, conn.cursor(row_factory=dict_row) as cables:
        speeds = cursor.execute(_SPEEDS, which).fetchall()
        failures = cursor.execute(_FAILURES, which).fetchall()
        return cables.execute(_CABLES, _judge_cables(speeds, failures)).fetchall()


def _judge_cables(speeds: Iterable[tuple[Any, ...]], failures: Iterable[tuple[Any, ...]]) -> Row:
    """Return the parameters of `_CABLES`: the limit of each kind, and the ports that flap."""
    kinds = [(*kind, *find_slow_limit(values, counts)) for *kind, values, counts in speeds]
    flaps = [row for row in failures if is_flapping(*row[-2:])]
    return {
        **_to_columns(("fabrics", "classes", "nodes", "limits", "usual"), kinds),
        **_to_columns(("of", "routers", "ports", "downs", "recoveries"), flaps),
        "most": MOST_LISTED,
    }


def _to_columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Row:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    return dict(zip(names, columns, strict=True))
