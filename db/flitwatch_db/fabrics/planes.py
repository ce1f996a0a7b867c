"""Planes: fabrics with endpoints in the same nodes, so that a job on one of them is on all.

Two fabrics are planes of one machine if both have the same cluster. They also are planes if nodes of the same name contain different adapters in each,
and each adapter's name is unique. If both contain the same GUID, they are not planes but one fabric imported twice. If neither has adapters' owners (a
Cray's, a generated fabric's), equal names of nodes are not evidence, and nothing is assumed.
"""

from __future__ import annotations

from typing import Any

import psycopg

_PLANES = """
    WITH ends AS (
        SELECT e.fabric_id, e.node, e.guid, f.attributes -> 'adapters' ->> e.endpoint AS adapter,
               f.attributes -> 'adapter_guids' ->> e.endpoint AS owner
        FROM endpoint e JOIN fabric f USING (fabric_id)
        WHERE f.technology = (SELECT technology FROM fabric WHERE fabric_id = %(fabric)s) AND f.technology <> 'cray_xc' AND e.role <> 'service'
          AND f.simulated = (SELECT simulated FROM fabric WHERE fabric_id = %(fabric)s)
    ), met AS (
        SELECT o.fabric_id,
               bool_or(m.guid = o.guid) AS again,
               bool_and(m.adapter IS NOT NULL AND o.adapter IS NOT NULL AND m.guid IS NOT NULL AND o.guid IS NOT NULL) AS known,
               bool_or(m.adapter = o.adapter AND m.owner IS DISTINCT FROM o.owner) AS clash
        FROM ends m JOIN ends o ON o.node = m.node AND o.fabric_id <> m.fabric_id
        WHERE m.fabric_id = %(fabric)s GROUP BY 1
    )
    SELECT met.fabric_id FROM met JOIN fabric o USING (fabric_id) JOIN fabric m ON m.fabric_id = %(fabric)s
    WHERE NOT coalesce(again, false) AND CASE
        WHEN o.attributes ->> 'cluster' IS NOT NULL AND m.attributes ->> 'cluster' IS NOT NULL
        THEN o.attributes ->> 'cluster' = m.attributes ->> 'cluster'
        ELSE known AND NOT coalesce(clash, false) END
"""


def update_planes(conn: psycopg.Connection[Any], fabric_id: int) -> list[int]:
    """Determine a fabric's planes and store them; return their numbers."""
    conn.execute("DELETE FROM fabric_plane WHERE %(fabric)s IN (fabric_id, other_id)", {"fabric": fabric_id})
    others = sorted(row[0] for row in conn.execute(_PLANES, {"fabric": fabric_id}).fetchall())
    for other in others:
        conn.execute(
            "INSERT INTO fabric_plane (fabric_id, other_id) VALUES (%(one)s, %(two)s), (%(two)s, %(one)s)",
            {"one": fabric_id, "two": other},
        )
    return others
