"""Recommendations for the API."""

from __future__ import annotations

import gzip
from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates.recommendations import Part

Row = dict[str, Any]
_HEAD = SQL(
    'recommendation_id, kind, state, created_at AS created, task_id, fabric_id, fabric, job_id, user_name AS "user", application, title, reason,'
    " gain, environment, simulated, figures, created_by, authorised,"
    " EXISTS (SELECT FROM job j WHERE j.user_name = r.user_name) AS user_known, EXISTS (SELECT FROM run u WHERE u.exe = r.application) AS application_known,"
    " EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'lfts') AS has_lfts,"
    " EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'matrix_router') AS has_matrix,"
    " EXISTS (SELECT FROM recommendation_part p WHERE p.recommendation_id = r.recommendation_id AND part = 'links') AS has_links"
)
_OPEN_TO = SQL("(r.authorised OR %(asker)s::text IS NULL OR r.created_by = %(asker)s)")


async def list_recommendations(
    conn: Connection,
    limit: int,
    before: int | None,
    kind: str | None,
    state: str | None,
    fabric: str | None,
    job: str | None,
    asker: str,
) -> list[Row]:
    """Return recommendations numbered below `before`, newest first: the site's, and the asker's what-ifs; `fabric` is a number or a name.

    `user_known` and `application_known` tell whether a job or a run has these names, or only the recommendation's author entered them.
    """
    query = (
        SQL("SELECT ")
        + _HEAD
        + SQL(
            " FROM recommendation r WHERE (authorised OR created_by = %(asker)s) AND (%(before)s::bigint IS NULL OR recommendation_id < %(before)s) AND (%(kind)s::text IS NULL OR kind = %(kind)s)"
            " AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(job)s::text IS NULL OR job_id = %(job)s)"
            " AND (%(fabric)s::text IS NULL OR fabric = %(fabric)s OR fabric_id::text = %(fabric)s) ORDER BY recommendation_id DESC LIMIT %(limit)s"
        )
    )
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            query,
            {
                "before": before,
                "kind": kind,
                "state": state,
                "fabric": fabric,
                "job": job,
                "limit": limit,
                "asker": asker,
            },
        )
        return await cursor.fetchall()


async def find_recommendation(conn: Connection, number: int, asker: str | None) -> Row | None:
    """Return a recommendation with its detail, flat; what-ifs only if they are the asker's, or for any asker with None."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            SQL("SELECT ")
            + _HEAD
            + SQL(", detail FROM recommendation r WHERE recommendation_id = %(number)s AND ")
            + _OPEN_TO,
            {"number": number, "asker": asker},
        )
        row = await cursor.fetchone()
    return None if row is None else {**row.pop("detail"), **row}


async def read_part(conn: Connection, number: int, name: Part, asker: str | None) -> bytes | None:
    """Return a part's content; None if it does not exist. `asker` is as in `find_recommendation`."""
    async with conn.cursor() as cursor:
        await cursor.execute(
            SQL(
                "SELECT packed FROM recommendation_part p JOIN recommendation r USING (recommendation_id)"
                " WHERE recommendation_id = %(number)s AND part = %(part)s AND "
            )
            + _OPEN_TO,
            {"number": number, "part": name, "asker": asker},
        )
        row = await cursor.fetchone()
    return None if row is None else gzip.decompress(row[0])
