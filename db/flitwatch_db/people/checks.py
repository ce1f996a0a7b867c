"""Lookup of several secrets' callers at once, on a connection with role `gate`."""

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
