"""The audit log: what was changed, and whose names were seen. Rows are added, never changed (the database refuses)."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict, cast

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from flitwatch_domain.errors import BadRequest


@dataclass(frozen=True)
class Entry:
    """Something that a user did.

    Attributes
    ----------
    actor, role, via : str           who, as whom (None: unknown), and through which channel: session, token, anonymous, command
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


#: Letters that are kept of each field, and bytes of the details as JSON.
MOST_LETTERS = {"actor": 200, "role": 40, "action": 200, "target": 500, "address": 64, "request_id": 64}
MOST_DETAILS_BYTES = 8192
#: No entry of so many last days is deleted, whatever is set.
LEAST_KEEP_DAYS = 30


def set_kept(conn: psycopg.Connection[Any], days: float | None) -> None:
    """Keep entries for this many days; None keeps them indefinitely, as without a setting.

    Raises
    ------
    BadRequest
        Less than LEAST_KEEP_DAYS.
    """
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
    """Append entries, on a connection with role `gate`; long fields are cut."""
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
    """Append what the command line did, under the name of the machine's user."""
    add_entries(conn, [Entry(getpass.getuser(), None, "command", action, target, details=details)])


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
    """Entries, newest first, before a number and of one actor if named."""
    with conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            "SELECT * FROM audit WHERE (%(before)s::bigint IS NULL OR audit_id < %(before)s) AND (%(actor)s::text IS NULL OR actor = %(actor)s)"
            " ORDER BY audit_id DESC LIMIT %(limit)s",
            {"limit": limit, "before": before, "actor": actor},
        ).fetchall()
    return cast(list[AuditEntry], rows)
