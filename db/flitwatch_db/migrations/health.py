"""Whether the database is one that this version runs on."""

from __future__ import annotations

from flitwatch_db.core.columns import Connection
from flitwatch_db.migrations import available, ending
from flitwatch_db.migrations.runner import APPLIED


async def unfit(conn: Connection) -> tuple[list[str], list[str]]:
    """Names of this version's migrations that the database lacks, and of newer ones that ended this version."""
    row = await (await conn.execute("SELECT to_regclass('flitwatch.migration') IS NOT NULL")).fetchone()
    known = [m.name for m in available()]
    if row is None or not row[0]:
        return known, []
    applied = {name: oldest for name, _, oldest in await (await conn.execute(APPLIED)).fetchall()}
    newer = {name: oldest for name, oldest in applied.items() if name not in known}
    return [name for name in known if name not in applied], ending(newer)
