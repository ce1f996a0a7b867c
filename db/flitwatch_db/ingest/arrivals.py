"""Arrivals by source and topic, counted as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import class_row

from flitwatch_db.core.columns import Connection

#: Length of the last minutes in an answer.
RECENT_S = 600
REFUSED_S = 86_400
#: Time within which a device with counters is reporting.
REPORTING_S = 600


class Arrival(NamedTuple):
    source: str
    topic: str
    records: int
    recent: int
    last_at: datetime


class SourceRefusal(NamedTuple):
    """Refused records of one source and topic, and the newest of them."""

    source: str
    topic: str
    records: int
    at: datetime
    where: str
    reason: str


class MachineReport(NamedTuple):
    """A machine: its devices, and the number of them with counters in the last minutes."""

    fabric: str
    simulated: bool
    devices: int
    reporting: int
    imported_at: datetime


def add_arrivals(conn: psycopg.Connection[Any], arrived: Mapping[tuple[str, str], int]) -> None:
    """Add numbers of records by (source, topic), within the caller's transaction."""
    rows = [(source, topic, count) for (source, topic), count in sorted(arrived.items()) if count]
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    conn.execute(
        "INSERT INTO arrival AS a (source, topic, records)"
        " SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[])"
        " ON CONFLICT (source, topic) DO UPDATE SET records = a.records + excluded.records, last_at = clock_timestamp()",
        columns,
    )
    conn.execute(
        "INSERT INTO arrival_minute AS a (ts, source, topic, records)"
        " SELECT date_trunc('minute', clock_timestamp()), w.* FROM unnest(%s::text[], %s::text[], %s::bigint[]) AS w"
        " ON CONFLICT (ts, source, topic) DO UPDATE SET records = a.records + excluded.records",
        columns,
    )


async def list_arrivals(conn: Connection, now: datetime) -> list[Arrival]:
    """Return all sources and topics that ever arrived."""
    async with conn.cursor(row_factory=class_row(Arrival)) as cursor:
        await cursor.execute(
            "SELECT a.source, a.topic, a.records, coalesce(m.recent, 0)::bigint AS recent, a.last_at FROM arrival a LEFT JOIN ("
            " SELECT source, topic, sum(records) AS recent FROM arrival_minute"
            " WHERE ts > %s::timestamptz - make_interval(secs => %s) GROUP BY 1, 2) m"
            " USING (source, topic) ORDER BY 1, 2 LIMIT 1000",
            [now, RECENT_S],
        )
        return await cursor.fetchall()


async def list_refusals(conn: Connection, now: datetime) -> list[SourceRefusal]:
    """Return refused records of the last day by the kind of their source: its text before the first colon or #."""
    async with conn.cursor(row_factory=class_row(SourceRefusal)) as cursor:
        await cursor.execute(
            "SELECT DISTINCT ON (1, 2) split_part(split_part(source, '#', 1), ':', 1) AS source, topic,"
            " count(*) OVER (PARTITION BY split_part(split_part(source, '#', 1), ':', 1), topic) AS records, at,"
            ' where_ AS "where", reason FROM dead_letter WHERE at > %s::timestamptz - make_interval(secs => %s)'
            " ORDER BY 1, 2, dead_letter_id DESC LIMIT 1000",
            [now, REFUSED_S],
        )
        return await cursor.fetchall()


async def list_machine_reports(conn: Connection, now: datetime) -> list[MachineReport]:
    """Return all machines with their switches and network cards, in total and with counters in the last ten minutes."""
    async with conn.cursor(row_factory=class_row(MachineReport)) as cursor:
        await cursor.execute(
            "SELECT f.name AS fabric, f.simulated, f.created_at AS imported_at,"
            " (SELECT count(*) FROM router r WHERE r.fabric_id = f.fabric_id) AS devices,"
            " (SELECT count(DISTINCT m.router) FROM router_1m m WHERE m.fabric_id = f.fabric_id"
            "  AND m.ts > %s::timestamptz - make_interval(secs => %s)) AS reporting"
            " FROM fabric f ORDER BY f.name LIMIT 1000",
            [now, REPORTING_S],
        )
        return await cursor.fetchall()
