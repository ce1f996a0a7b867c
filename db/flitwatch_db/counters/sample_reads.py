"""Packet samples for the API: contexts, sums by link, and hosts' packets by outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Columns, Connection, Kind, fetch_columns
from flitwatch_db.counters.samples import SUMS

Row = dict[str, Any]
TABLES = {1: SQL("sample_1s"), 60: SQL("sample_1m"), 3600: SQL("sample_1h")}
_MATCH = SQL(
    "fabric_id = %(fabric)s AND (%(job)s::text IS NULL OR job_id = %(job)s) AND (%(tag)s::text IS NULL OR tag = %(tag)s)"
    " AND (%(phase)s::text IS NULL OR phase = %(phase)s)"
)


async def list_contexts(
    conn: Connection,
    fabric_id: int,
    job: str | None,
    tag: str | None,
    phase: str | None,
    limit: int,
    below: int | None = None,
) -> list[Row]:
    """Return matching contexts, newest first: {context_id, job_id, tag, phase, longest_path, variants, simulated, first_ts, last_ts}."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            SQL(
                "SELECT context_id, job_id, tag, phase, longest_path, variants, simulated, first_ts, last_ts FROM sample_context WHERE {}"
                " AND (%(below)s::int IS NULL OR context_id < %(below)s) ORDER BY context_id DESC LIMIT %(limit)s"
            ).format(_MATCH),
            {"fabric": fabric_id, "job": job, "tag": tag, "phase": phase, "below": below, "limit": limit},
        )
        return await cursor.fetchall()


async def find_bucket_s(conn: Connection, context_ids: Sequence[int], from_s: float) -> int:
    """Return the finest bucket (1, 60 or 3600 s) with rows of these contexts since a given time."""
    for width in (1, 60):
        row = await (
            await conn.execute(
                SQL(
                    "SELECT extract(epoch FROM min(ts))::float8, (SELECT extract(epoch FROM min(first_ts))::float8 FROM sample_context"
                    " WHERE context_id = ANY(%(ids)s)) FROM {} WHERE context_id = ANY(%(ids)s)"
                ).format(TABLES[width]),
                {"ids": list(context_ids)},
            )
        ).fetchone()
        assert row is not None
        oldest, first = row
        if oldest is not None and oldest // width * width <= max(from_s, first):
            return width
    return 3600


async def sum_links(conn: Connection, context_ids: Sequence[int], spans: Sequence[tuple[int, int, int]]) -> Columns:
    """Sum by link over spans of (bucket width, from, to): link int32[n] and float64[n] for each of `flitwatch_db.counters.samples.SUMS`."""
    parts: list[sql.Composed] = []
    parameters: dict[str, Any] = {"ids": list(context_ids)}
    for number, (width, from_s, to_s) in enumerate(spans):
        parts.append(
            SQL(
                "SELECT * FROM {} WHERE context_id = ANY(%(ids)s) AND ts >= to_timestamp({}) AND ts < to_timestamp({})"
            ).format(TABLES[width], SQL(f"%(from{number})s"), SQL(f"%(to{number})s"))
        )
        parameters |= {f"from{number}": from_s, f"to{number}": to_s}
    totals = SQL(", ").join(SQL("sum({0}) AS {0}").format(SQL(name)) for name in SUMS)
    query = SQL("SELECT link, {} FROM ({}) AS span GROUP BY link ORDER BY link").format(
        totals, SQL(" UNION ALL ").join(parts)
    )
    kinds: dict[str, Kind] = {"link": "i4"}
    kinds |= dict.fromkeys(SUMS, "f8")
    return await fetch_columns(conn, query, parameters, kinds)


async def count_host_packets(conn: Connection, fabric_id: int, from_s: float, to_s: float, limit: int) -> list[Row]:
    """Count packets by host and outcome, in minutes of [from, to): {host, outcome, packets}."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            "SELECT host, outcome, sum(packets) AS packets FROM sample_host_1m WHERE fabric_id = %s AND ts >= to_timestamp(%s::float8)"
            " AND ts < to_timestamp(%s::float8) GROUP BY host, outcome ORDER BY host, outcome LIMIT %s",
            [fabric_id, from_s, to_s, limit],
        )
        return await cursor.fetchall()
