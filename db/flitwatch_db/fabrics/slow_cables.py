"""Stored cables that run slower than others of their kind, as `flitwatch_domain.fabric.cables` judges them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.rows import dict_row

from flitwatch_db.core.columns import Connection
from flitwatch_domain.fabric.cables import find_slow_limit

Row = dict[str, Any]
#: Cables that an answer lists.
MOST_LISTED = 1000

# Speeds of each kind of cable, and how many links have each.
_SPEEDS = """
    SELECT fabric_id, class, node, array_agg(bandwidth_bps ORDER BY bandwidth_bps), array_agg(links ORDER BY bandwidth_bps)
    FROM (
        SELECT fabric_id, class, src_endpoint IS NOT NULL OR dst_endpoint IS NOT NULL AS node, bandwidth_bps, count(*) AS links FROM link
        WHERE bandwidth_bps < 'infinity' AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s) GROUP BY 1, 2, 3, 4
    ) AS speeds GROUP BY 1, 2, 3 HAVING count(*) > 1
"""

# Of each cable the direction is listed that leaves the vertex with the higher number; endpoints come behind routers.
_SLOW = """
    SELECT f.name AS fabric, f.simulated, extract(epoch FROM f.created_at)::float8 AS since_s, s.link, s.class AS link_class,
           coalesce(a.name, ae.node) AS src_name, s.src_port, coalesce(b.name, be.node) AS dst_name, s.dst_port, s.bandwidth_bps, k.usual_bps
    FROM unnest(%(fabrics)s::int[], %(classes)s::text[], %(nodes)s::bool[], %(limits)s::float8[], %(usual)s::float8[])
        AS k (fabric_id, class, node, limit_bps, usual_bps)
    JOIN link s ON s.fabric_id = k.fabric_id AND s.class IS NOT DISTINCT FROM k.class AND s.bandwidth_bps <= k.limit_bps
        AND (s.src_endpoint IS NOT NULL OR s.dst_endpoint IS NOT NULL) = k.node
    JOIN fabric f ON f.fabric_id = s.fabric_id
    LEFT JOIN router a ON (a.fabric_id, a.router) = (s.fabric_id, s.src_router) LEFT JOIN router b ON (b.fabric_id, b.router) = (s.fabric_id, s.dst_router)
    LEFT JOIN endpoint ae ON (ae.fabric_id, ae.endpoint) = (s.fabric_id, s.src_endpoint)
    LEFT JOIN endpoint be ON (be.fabric_id, be.endpoint) = (s.fabric_id, s.dst_endpoint)
    WHERE s.src_endpoint IS NOT NULL OR s.src_router > s.dst_router
    ORDER BY s.bandwidth_bps / k.usual_bps, f.name, s.link LIMIT %(most)s
"""


async def list_slow_cables(conn: Connection, fabric_id: int | None = None) -> list[Row]:
    """List the slow cables of a fabric, or of all, the slowest for its kind first.

    Each is {fabric, simulated, since_s, link, link_class, src_name, src_port, dst_name, dst_port, bandwidth_bps, usual_bps}.
    """
    async with conn.cursor() as speeds, conn.cursor(row_factory=dict_row) as slow:
        limits = _find_limits(await (await speeds.execute(_SPEEDS, {"fabric": fabric_id})).fetchall())
        return await (await slow.execute(_SLOW, limits)).fetchall()


def read_slow_cables(conn: psycopg.Connection[Any]) -> list[Row]:
    """Read the slow cables of all fabrics, as `list_slow_cables`."""
    with conn.cursor() as speeds, conn.cursor(row_factory=dict_row) as slow:
        limits = _find_limits(speeds.execute(_SPEEDS, {"fabric": None}).fetchall())
        return slow.execute(_SLOW, limits).fetchall()


def _find_limits(speeds: Iterable[tuple[Any, ...]]) -> Row:
    """Return the parameters of `_SLOW`: a limit for each kind that has slow cables."""
    kinds = [
        (*kind, *limit) for *kind, values, counts in speeds if (limit := find_slow_limit(values, counts)) is not None
    ]
    columns = [list(column) for column in zip(*kinds, strict=True)] or [[]] * 5
    return dict(zip(("fabrics", "classes", "nodes", "limits", "usual"), columns, strict=True)) | {"most": MOST_LISTED}
