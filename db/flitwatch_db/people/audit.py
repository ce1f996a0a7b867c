"""Audit log of changes, and of names that were seen. Rows are only added; the database rejects changes."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import psycopg
from psycopg.types.json import Jsonb
from typing_extensions import TypedDict

from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.errors import BadRequest


@dataclass(frozen=True)
class Entry:
    """Action of a user.

    Attributes
    ----------
    actor, role, via : str           user, role (None: unknown), and channel: session, token, anonymous, command
    action : str                     `POST /api/v1/tasks`, `users add`; for reads of names, `see` and the route
    target : str or None             the requested path, or the object changed by a command
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


#: Maximum numbers of characters per field; the details have a limit in bytes of JSON.
MOST_LETTERS = {"actor": 200, "role": 40, "action": 200, "target": 500, "address": 64, "request_id": 64}
MOST_DETAILS_BYTES = 8192
#: Entries of the last days are never deleted, regardless of the setting.
LEAST_KEEP_DAYS = 30


def set_kept(conn: psycopg.Connection[Any], days: float | None) -> None:
    """Keep entries for this many days; None, the default, keeps them indefinitely. Raise BadRequest if the number is below LEAST_KEEP_DAYS."""
    if days is not None and days < LEAST_KEEP_DAYS:
        raise BadRequest(
            f"the audit log keeps at least {LEAST_KEEP_DAYS} days, not {days:g}",
            advice="Choose more days, or 'forever'.",
        )
    conn.execute(
        "INSERT INTO setting VALUES ('audit_keep_days', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [Jsonb(days)],
    )


def _cut_text(name: str, value: str | None) -> str | None:
    return None if value is None else value[: MOST_LETTERS[name]].replace("\0", "\u2400")


def _cut_details(details: dict[str, Any]) -> Jsonb:
    text = json.dumps(details).replace("\\u0000", "\\u2400")
    if len(text) <= MOST_DETAILS_BYTES:
        return Jsonb(json.loads(text))
    return Jsonb({"cut_off": text[:MOST_DETAILS_BYTES]})


def add_entries(conn: psycopg.Connection[Any], entries: Sequence[Entry]) -> None:
    """Append entries, on a connection with role `gate`; long fields are truncated."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO audit (actor, role, via, action, target, status, address, request_id, details)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    _cut_text("actor", e.actor),
                    _cut_text("role", e.role),
                    e.via,
                    _cut_text("action", e.action),
                    _cut_text("target", e.target),
                    e.status,
                    _cut_text("address", e.address),
                    _cut_text("request_id", e.request_id),
                    _cut_details(e.details),
                )
                for e in entries
            ],
        )


def by_command(conn: psycopg.Connection[Any], action: str, target: str | None = None, **details: Any) -> None:
    """Append an action of the command line, with the machine's user as actor."""
    add_entries(conn, [Entry(getpass.getuser(), None, "command", action, target, details=details)])


class AuditEntry(TypedDict):
    """An action of a caller, or a response that a caller saw."""

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
    """Return entries, newest first, below a number, and of one actor if given."""
    rows = fetch_rows(
        conn,
        "SELECT * FROM audit WHERE (%(before)s::bigint IS NULL OR audit_id < %(before)s) AND (%(actor)s::text IS NULL OR actor = %(actor)s)"
        " ORDER BY audit_id DESC LIMIT %(limit)s",
        {"limit": limit, "before": before, "actor": actor},
    )
    return cast(list[AuditEntry], rows)
