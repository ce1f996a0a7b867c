"""The audit log: what was changed, and whose names were seen. Rows are added, never changed (the database refuses)."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict, cast

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class Entry:
    """Something that somebody did.

    Attributes
    ----------
    actor, role, via : str           who, as whom (None: nobody known), and by which door: session, token, anonymous, command
    action : str                     `POST /api/v1/tasks`, `users add`; of what was seen `see` and the route
    target : str or None             the path that was asked for, or the thing that a command changed
    status : int or None             HTTP status of the answer
    """

    actor: str
    role: str | None
    via: str
    action: str
    target: str | None = None
    status: int | None = None
    address: str | None = None
    request_id: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def add(conn: psycopg.Connection[Any], entries: Sequence[Entry]) -> None:
    """Append entries, on a connection with role `gate`."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO audit (actor, role, via, action, target, status, address, request_id, details)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (e.actor, e.role, e.via, e.action, e.target, e.status, e.address, e.request_id, Jsonb(e.details))
                for e in entries
            ],
        )


def by_command(conn: psycopg.Connection[Any], action: str, target: str | None = None, **details: Any) -> None:
    """Append what the command line did, under the name of the machine's user."""
    add(conn, [Entry(getpass.getuser(), None, "command", action, target, details=details)])


class AuditEntry(TypedDict):
    """A row of table `audit`: who did what to whom, from where, with which HTTP status; None is unknown or does not apply."""

    audit_id: int
    at: datetime
    actor: str
    role: str | None
    via: str
    action: str
    target: str | None
    status: int | None
    address: str | None
    request_id: str | None
    details: dict[str, Any]


def list_entries(
    conn: psycopg.Connection[Any], limit: int, before: int | None = None, actor: str | None = None
) -> list[AuditEntry]:
    """Entries, the newest first, before a number and of one actor if named."""
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "SELECT * FROM audit WHERE (%(before)s::bigint IS NULL OR audit_id < %(before)s) AND (%(actor)s::text IS NULL OR actor = %(actor)s)"
            " ORDER BY audit_id DESC LIMIT %(limit)s",
            {"limit": limit, "before": before, "actor": actor},
        ).fetchall()
    return cast(list[AuditEntry], found)
