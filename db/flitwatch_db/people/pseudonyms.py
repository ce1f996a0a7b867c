"""The site's own settings."""

from __future__ import annotations

from flitwatch_db.core.columns import Connection


async def pseudonym_key(conn: Connection) -> str:
    """The key with which pseudonyms are made; every site has its own from the first migration on. Empty where it was removed."""
    cursor = await conn.execute("SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key'")
    row = await cursor.fetchone()
    return str(row[0] or "") if row is not None else ""


async def knows_only_simulated(conn: Connection) -> bool:
    """Tell whether every machine, job and run of the site is simulated, so that no name is a person's."""
    cursor = await conn.execute("""
        SELECT EXISTS (SELECT FROM fabric) AND NOT EXISTS (SELECT FROM fabric WHERE NOT simulated)
           AND NOT EXISTS (SELECT FROM job WHERE NOT simulated) AND NOT EXISTS (SELECT FROM run WHERE NOT simulated)
    """)
    row = await cursor.fetchone()
    return row is not None and bool(row[0])
