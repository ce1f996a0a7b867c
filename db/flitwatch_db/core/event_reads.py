"""Events after a number, and the time through which each fabric's rows are complete."""

from __future__ import annotations

from datetime import datetime

from psycopg.rows import class_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_db.core.events import Event

#: Number of the latest events that are searched for `counters` events: more than an hour of a writer's batches.
RECENT = 20_000


async def list_events_after(conn: Connection, number: int, limit: int) -> list[Event]:
    """Return events with numbers above `number`, in order."""
    async with conn.cursor(row_factory=class_row(Event)) as cursor:
        await cursor.execute(
            SQL("SELECT event_id, at, kind, payload FROM event WHERE event_id > %s ORDER BY event_id LIMIT %s"),
            [number, limit],
        )
        return await cursor.fetchall()


async def find_newest_event(conn: Connection) -> int:
    """Return the newest event's number, or 0 if there are no events."""
    row = await (await conn.execute("SELECT coalesce(max(event_id), 0) FROM event")).fetchone()
    assert row is not None
    return int(row[0])


async def emitted_at(conn: Connection, number: int) -> datetime | None:
    """Return the time of the event with a number; None if the database does not have it."""
    row = await (await conn.execute("SELECT at FROM event WHERE event_id = %s", [number])).fetchone()
    return None if row is None else row[0]


async def listen_for_events(conn: Connection) -> None:
    """Subscribe this connection to new events."""
    await conn.execute("LISTEN flitwatch_event")


async def load_completeness(conn: Connection) -> dict[int, tuple[str, str | None]]:
    """Return per fabric the latest `through` and `ports_through` of its recent `counters` events (RFC 3339)."""
    cursor = await conn.execute(
        "SELECT payload->>'fabric_id', max(payload->>'through'), max(payload->>'ports_through') FROM event"
        " WHERE event_id > (SELECT coalesce(max(event_id), 0) - %s FROM event) AND kind = 'counters' GROUP BY 1",
        [RECENT],
    )
    return {int(f): (t, p) for f, t, p in await cursor.fetchall() if f is not None and f.isdigit() and t is not None}
