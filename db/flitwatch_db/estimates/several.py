"""Blame entries of all current sets (recorded applications, and the newest of each set from files), to find names in several sets."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_domain.blame import CANNOT_TELL

Row = dict[str, Any]

# One row per entry; entries from before verdicts existed name no user.
_ENTRIES = SQL("""
    WITH now AS (
        SELECT estimate_id FROM estimate_state WHERE kind = 'blame' AND estimate_id IS NOT NULL
        UNION ALL
        SELECT max(estimate_id) FROM estimate WHERE kind = 'blame' AND source = 'files' AND %(files)s GROUP BY exe, nodes
    )
    SELECT n.name, e.estimate_id, e.exe, e.nodes, (e.data ->> 'runs')::int AS runs, n.place, e.simulated,
           jsonb_build_object('verdict', %(cannot_tell)s::text) || n.entry AS entry
    FROM now JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id)
    WHERE n.by_what = %(by)s ORDER BY e.estimate_id, n.place
""")
#: Fields of an entry that are evidence.
EVIDENCE = (
    "verdict", "testable", "score", "p", "q", "effect_s", "effect_low_s", "effect_high_s", "lost_node_hours", "exposed_runs", "mi_bits", "mi_sign", "mi_p", "mi_q",
)  # fmt: skip


async def list_evidence(conn: Connection, by: str, files: bool = True) -> list[tuple[str, Row]]:
    """Return (name, evidence with its set) of every entry; with `files`, also of sets from files."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_ENTRIES, {"by": by, "files": files, "cannot_tell": CANNOT_TELL})
        return [_pick_evidence(row) for row in await cursor.fetchall()]


def entries_now(conn: psycopg.Connection[Any], by: str) -> list[tuple[str, Row]]:
    """Return the same with a blocking connection."""
    with conn.cursor(row_factory=dict_row) as cursor:
        cursor.execute(_ENTRIES, {"by": by, "files": True, "cannot_tell": CANNOT_TELL})
        return [_pick_evidence(row) for row in cursor.fetchall()]


def _pick_evidence(row: Row) -> tuple[str, Row]:
    evidence = {name: row["entry"].get(name) for name in EVIDENCE}
    return row["name"], {
        name: row[name] for name in ("estimate_id", "exe", "nodes", "runs", "place", "simulated")
    } | evidence
