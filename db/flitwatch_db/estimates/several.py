"""Entries of every application's blame that stands now, for names found in several sets of runs."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_domain.blame import CANNOT_TELL

Row = dict[str, Any]

# One row an entry; entries of before there were verdicts name nobody.
_ENTRIES = SQL("""
    SELECT n.name, e.estimate_id, e.exe, e.nodes, (e.data ->> 'runs')::int AS runs, n.place, e.simulated,
           jsonb_build_object('verdict', %(cannot_tell)s::text) || n.entry AS entry
    FROM estimate_state t JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id)
    WHERE t.kind = 'blame' AND n.by_what = %(by)s ORDER BY e.estimate_id, n.place
""")
#: What of an entry is evidence.
EVIDENCE = (
    "verdict", "testable", "score", "p", "q", "effect_s", "effect_low_s", "effect_high_s", "lost_node_hours", "exposed_runs", "mi_bits", "mi_sign", "mi_p", "mi_q",
)  # fmt: skip


async def entries(conn: Connection, by: str) -> list[tuple[str, Row]]:
    """(name, evidence with its set) of every entry."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_ENTRIES, {"by": by, "cannot_tell": CANNOT_TELL})
        return [_evidence(row) for row in await cursor.fetchall()]


def entries_now(conn: psycopg.Connection[Any], by: str) -> list[tuple[str, Row]]:
    """The same on a blocking connection."""
    with conn.cursor(row_factory=dict_row) as cursor:
        cursor.execute(_ENTRIES, {"by": by, "cannot_tell": CANNOT_TELL})
        return [_evidence(row) for row in cursor.fetchall()]


def _evidence(row: Row) -> tuple[str, Row]:
    known = {name: row["entry"].get(name) for name in EVIDENCE}
    return row["name"], {
        name: row[name] for name in ("estimate_id", "exe", "nodes", "runs", "place", "simulated")
    } | known
