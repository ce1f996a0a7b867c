"""Fitness of the database for this version."""

from __future__ import annotations

from flitwatch_db.core.columns import Connection
from flitwatch_db.migrations import list_ending_migrations, list_migrations
from flitwatch_db.migrations.runner import APPLIED


async def list_misfit_migrations(conn: Connection) -> tuple[list[str], list[str]]:
    """Names of this version's migrations that the database lacks, and of newer ones that ended this version."""
    row = await (await conn.execute("SELECT to_regclass('flitwatch.migration') IS NOT NULL")).fetchone()
    names = [m.name for m in list_migrations()]
    if row is None or not row[0]:
        return names, []
    applied = {name: oldest for name, _, oldest in await (await conn.execute(APPLIED)).fetchall()}
    newer = {name: oldest for name, oldest in applied.items() if name not in names}
    return [name for name in names if name not in applied], list_ending_migrations(newer)
