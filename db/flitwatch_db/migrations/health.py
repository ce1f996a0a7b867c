"""Whether the database is what this version expects."""

from __future__ import annotations

from flitwatch_db.core.columns import Connection
from flitwatch_db.migrations import available


async def missing_migrations(conn: Connection) -> list[str]:
    """Names of this version's migrations that the database lacks."""
    row = await (await conn.execute("SELECT to_regclass('flitwatch.migration') IS NOT NULL")).fetchone()
    if row is None or not row[0]:
        return [m.name for m in available()]
    applied = {r[0] for r in await (await conn.execute("SELECT name FROM migration")).fetchall()}
    return [m.name for m in available() if m.name not in applied]
