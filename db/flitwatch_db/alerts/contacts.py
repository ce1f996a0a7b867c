"""Contact points: mail addresses that users add, and the test mails that they request."""

from __future__ import annotations

from typing import Any

import psycopg

from flitwatch_db.core.columns import Connection as AsyncConnection
from flitwatch_db.core.columns import query_rows
from flitwatch_db.core.connection import fetch_rows

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
_SHOWN = (
    "SELECT name, addresses, least_severity, updated_at AS updated, test_asked_at, test_tried_at, test_error"
    " FROM alert_contact"
)


async def read_contact_points(conn: AsyncConnection, name: str | None = None) -> list[Row]:
    """Return all contact points by name, or only the one with this name."""
    return await query_rows(
        conn, f"{_SHOWN} WHERE %(name)s::text IS NULL OR name = %(name)s ORDER BY name", {"name": name}
    )


def save_contact_point(conn: Connection, name: str, addresses: list[str], least_severity: str) -> None:
    """Add or change a contact point. If its addresses change, the last test result is cleared."""
    conn.execute(
        "INSERT INTO alert_contact AS c (name, addresses, least_severity) VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE"
        " SET addresses = excluded.addresses, least_severity = excluded.least_severity, updated_at = clock_timestamp(),"
        " test_asked_at = CASE WHEN c.addresses = excluded.addresses THEN c.test_asked_at END,"
        " test_tried_at = CASE WHEN c.addresses = excluded.addresses THEN c.test_tried_at END,"
        " test_error = CASE WHEN c.addresses = excluded.addresses THEN c.test_error END",
        [name, addresses, least_severity],
    )


def delete_contact_point(conn: Connection, name: str) -> bool:
    """Remove a contact point; return whether it existed."""
    return bool(conn.execute("DELETE FROM alert_contact WHERE name = %s", [name]).rowcount)


def ask_test(conn: Connection, name: str) -> bool:
    """Request a test mail from the engine; return whether the contact point exists."""
    return bool(
        conn.execute("UPDATE alert_contact SET test_asked_at = clock_timestamp() WHERE name = %s", [name]).rowcount
    )


def load_contact_points(conn: Connection) -> list[Row]:
    """Return all contact points by name, with whether a test mail is pending (`waits`)."""
    return fetch_rows(
        conn,
        "SELECT name, addresses, least_severity, test_asked_at,"
        " coalesce(test_asked_at > coalesce(test_tried_at, '-infinity'), false) AS waits FROM alert_contact ORDER BY name",
    )


def record_test_result(conn: Connection, name: str, error: str | None) -> None:
    """Record the result of a test mail, which is tried once."""
    conn.execute(
        "UPDATE alert_contact SET test_tried_at = clock_timestamp(), test_error = %s WHERE name = %s",
        [None if error is None else error[:400], name],
    )
