"""Recommendations as the API shows them."""

from __future__ import annotations

import gzip
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.reads.columns import Connection
from flitwatch_db.recommendations import Part

Row = dict[str, Any]
_HEAD = SQL(
    'recommendation_id, kind, state, created_at AS created, task_id, fabric_id, fabric, job_id, user_name AS "user", application, title, reason,'
    " gain, environment, simulated, EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'lfts') AS has_lfts,"
    " EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'matrix_router') AS has_matrix,"
    " EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'links') AS has_links"
)


async def page(
    conn: Connection,
    limit: int,
    before: int | None,
    kind: str | None,
    state: str | None,
    fabric: str | None,
    job: str | None,
) -> list[Row]:
    """Recommendations numbered below `before`, the newest first; `fabric` is a number or a name."""
    query = SQL("SELECT ") + _HEAD + SQL(
        " FROM recommendation r WHERE (%(before)s::bigint IS NULL OR recommendation_id < %(before)s) AND (%(kind)s::text IS NULL OR kind = %(kind)s)"
        " AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(job)s::text IS NULL OR job_id = %(job)s)"
        " AND (%(fabric)s::text IS NULL OR fabric = %(fabric)s OR fabric_id::text = %(fabric)s) ORDER BY recommendation_id DESC LIMIT %(limit)s"
    )  # fmt: skip
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query, {"before": before, "kind": kind, "state": state, "fabric": fabric, "job": job, "limit": limit}
        )
        return await cursor.fetchall()


async def one(conn: Connection, number: int) -> Row | None:
    """A recommendation with its detail, flat."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            SQL("SELECT ") + _HEAD + SQL(", detail FROM recommendation r WHERE recommendation_id = %s"), [number]
        )
        row = await cursor.fetchone()
    return None if row is None else {**row.pop("detail"), **row}


async def part(conn: Connection, number: int, name: Part) -> bytes | None:
    """A part's content; None where there is none."""
    async with conn.cursor() as cursor:
        await cursor.execute(
            "SELECT packed FROM recommendation_part WHERE recommendation_id = %s AND part = %s", [number, name]
        )
        row = await cursor.fetchone()
    return None if row is None else gzip.decompress(row[0])
