"""Stored cables that run slower than others of their kind: what `flitwatch_domain.fabric.cables` finds, in the database."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_domain.fabric.cables import MOST_SLOW, SLOW

Row = dict[str, Any]
#: Cables that an answer lists.
MOST_LISTED = 1000

# Of each cable the direction is listed that leaves the vertex with the higher number; endpoints come behind routers.
_SLOW = SQL("""
    WITH cable AS (
        SELECT *, src_endpoint IS NOT NULL OR dst_endpoint IS NOT NULL AS node FROM link
        WHERE bandwidth_bps < 'infinity' AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s)
    ), kind AS (
        SELECT fabric_id, class, node, mode() WITHIN GROUP (ORDER BY bandwidth_bps) AS usual_bps, count(*) AS links FROM cable GROUP BY 1, 2, 3
    ), slow AS (
        SELECT c.*, k.usual_bps, k.links, count(*) OVER (PARTITION BY c.fabric_id, c.class, c.node) AS slow
        FROM cable c JOIN kind k USING (fabric_id, class, node) WHERE c.bandwidth_bps <= {slow} * k.usual_bps
    )
    SELECT f.name AS fabric, f.simulated, extract(epoch FROM f.created_at)::float8 AS since_s, s.link, s.class AS link_class,
           coalesce(a.name, ae.node) AS src_name, s.src_port, coalesce(b.name, be.node) AS dst_name, s.dst_port, s.bandwidth_bps, s.usual_bps
    FROM slow s JOIN fabric f USING (fabric_id)
    LEFT JOIN router a ON (a.fabric_id, a.router) = (s.fabric_id, s.src_router) LEFT JOIN router b ON (b.fabric_id, b.router) = (s.fabric_id, s.dst_router)
    LEFT JOIN endpoint ae ON (ae.fabric_id, ae.endpoint) = (s.fabric_id, s.src_endpoint)
    LEFT JOIN endpoint be ON (be.fabric_id, be.endpoint) = (s.fabric_id, s.dst_endpoint)
    WHERE s.slow <= greatest(2, {most} * s.links) AND (s.src_endpoint IS NOT NULL OR s.src_router > s.dst_router)
    ORDER BY s.bandwidth_bps / s.usual_bps, f.name, s.link LIMIT {limit}
""").format(slow=sql.Literal(SLOW), most=sql.Literal(MOST_SLOW), limit=sql.Literal(MOST_LISTED))


async def list_slow_cables(conn: Connection, fabric_id: int | None = None) -> list[Row]:
    """List the slow cables of a fabric, or of all, the slowest for its kind first.

    Each is {fabric, simulated, since_s, link, link_class, src_name, src_port, dst_name, dst_port, bandwidth_bps, usual_bps}.
    """
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_SLOW, {"fabric": fabric_id})
        return await cursor.fetchall()


def read_slow_cables(conn: psycopg.Connection[Any]) -> list[Row]:
    """Read the slow cables of all fabrics, as `list_slow_cables`."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(_SLOW, {"fabric": None}).fetchall()
