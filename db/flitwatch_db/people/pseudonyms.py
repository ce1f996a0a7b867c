"""Settings of the site."""

from __future__ import annotations

from flitwatch_db.core.columns import Connection


async def pseudonym_key(conn: Connection) -> str:
    """Return the site's own key for pseudonyms, which the first migration creates; empty if it was removed."""
    cursor = await conn.execute("SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key'")
    row = await cursor.fetchone()
    return str(row[0] or "") if row is not None else ""


async def knows_only_simulated(conn: Connection) -> bool:
    """Return whether all machines, jobs and runs of the site are simulated, so that names are not those of real persons."""
    cursor = await conn.execute("""
        SELECT EXISTS (SELECT FROM fabric) AND NOT EXISTS (SELECT FROM fabric WHERE NOT simulated)
           AND NOT EXISTS (SELECT FROM job WHERE NOT simulated) AND NOT EXISTS (SELECT FROM run WHERE NOT simulated)
    """)
    row = await cursor.fetchone()
    return row is not None and bool(row[0])
