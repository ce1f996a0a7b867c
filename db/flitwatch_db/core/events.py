"""Events: ordered rows for all listeners, and a NOTIFY that wakes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NotRequired, TypedDict

import psycopg
from psycopg.rows import class_row
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from flitwatch_db.core.columns import Connection

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


#: Every inserted event notifies this channel with its id.
CHANNEL = "flitwatch_event"


@dataclass(frozen=True)
class Event:
    """One row of table `event`."""

    event_id: int
    at: datetime
    kind: str
    payload: dict[str, Any]


class JobEvent(TypedDict):
    """Payload of event `job`."""

    job_pk: int
    job_id: str
    state: str


class RunEvent(TypedDict):
    """Payload of event `run`, with the number of new steps."""

    run_id: int
    steps: int


class CountersEvent(TypedDict):
    """Payload of event `counters`: the time through which a fabric's counters are complete, in ISO format, and the number of routers with data.

    `late_from` is the oldest second that was written late.
    """

    fabric_id: int
    through: str
    routers: int
    ports_through: NotRequired[str]
    late_from: NotRequired[str]


GapEvent = TypedDict("GapEvent", {"device": str, "from": str, "to": str, "reason": str})


class DeadLetterEvent(TypedDict):
    """Payload of event `dead_letter`."""

    count: int
    reason: str


def emit_event(conn: psycopg.Connection[Any], kind: str, payload: Mapping[str, Any]) -> int:
    """Add an event within the caller's transaction; return its id.

    Ids become visible in order, which blocks other emitters until the commit. Therefore emit last.
    """
    row = conn.execute(
        "INSERT INTO event (kind, payload) VALUES (%s, %s) RETURNING event_id", [kind, Jsonb(payload)]
    ).fetchone()
    assert row is not None
    return int(row[0])


def last_id(conn: psycopg.Connection[Any]) -> int:
    """Return the newest event's id, or 0 if there are no events."""
    row = conn.execute("SELECT coalesce(max(event_id), 0) FROM event").fetchone()
    assert row is not None
    return int(row[0])
