"""Callers of the API: several looked up at once, on a connection with role `gate`; and whether their answers name people."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from flitwatch_db.core.columns import Connection
from flitwatch_db.people.accounts import OF_SESSIONS, OF_TOKENS, session_caller, token_caller
from flitwatch_domain.access import Caller

#: Kind of a secret, and its digest.
Secret = tuple[Literal["session", "token"], bytes]


async def find_callers(conn: Connection, asked: Collection[Secret]) -> dict[Secret, Caller]:
    """Return the callers of sessions and tokens, with one statement per kind.

    Returns
    -------
    dict
        Unknown, expired and revoked secrets, and those of disabled accounts, are omitted.
    """
    by_secret: dict[Secret, Caller] = {}
    sessions, tokens = ([digest for kind, digest in asked if kind == which] for which in ("session", "token"))
    if sessions:
        async for row in await conn.execute(OF_SESSIONS, [sessions]):
            by_secret["session", bytes(row[0])] = session_caller(row)
    if tokens:
        async for row in await conn.execute(OF_TOKENS, [tokens]):
            by_secret["token", bytes(row[0])] = token_caller(row)
    return by_secret


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
