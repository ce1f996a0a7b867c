"""Recommendations as rows: the listed head, and the downloadable parts (docs/contracts/recommendations.md)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import orjson
import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL
from psycopg.types.json import Jsonb
from typing_extensions import TypedDict

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_domain.errors import NotFound

#: lfts: text of a dump; matrix_router, matrix_group, links: JSON as in the API's answer.
Part = Literal["lfts", "matrix_router", "matrix_group", "links"]


#: Sources of values: observations given by a user, a simulation, or the counters in the database.
Figures = Literal["given", "simulated", "counted"]


@dataclass(frozen=True)
class Recommendation:
    """One row; `gain` and `detail` as in the contract, None if unknown.

    Attributes
    ----------
    created_by : str or None
        Its author; if it has a task, the task's author.
    authorised : bool
        Whether the author may change the site's settings; otherwise it is only a what-if. If it has a task, the task's value.
    """

    kind: Literal["routes", "routing_mode", "placement"]
    state: Literal["recommended", "refused"]
    title: str
    reason: str
    detail: dict[str, Any]
    simulated: bool
    gain: dict[str, Any] | None = None
    fabric_id: int | None = None
    fabric: str | None = None
    job_id: str | None = None
    user: str | None = None
    application: str | None = None
    environment: str | None = None
    task_id: int | None = None
    figures: Figures = "given"
    created_by: str | None = None
    authorised: bool = False
    parts: Mapping[Part, bytes] = field(default_factory=dict)


def as_json(value: Any) -> bytes:
    """Encode plain values and numpy arrays as JSON; NaN becomes null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


class RecommendationReason(TypedDict):
    """Sentence of a reason, with its value if there is one."""

    text: str
    value: float | None
    unit: str | None


class RouteOutcome(TypedDict):
    """One side of a comparison of routes or placements: seconds, the largest load of a link, and the number of congested links; None is unknown."""

    time_s: float | None
    max_load_bytes: float | None
    congested_links: int | None
    label: str


def _to_jsonb(value: Any) -> Jsonb:
    return Jsonb(value, dumps=lambda v: as_json(v).decode())


def save_recommendation(conn: psycopg.Connection[Any], new: Recommendation) -> int:
    """Store a recommendation within the caller's transaction, replacing one of the same task and kind; return its number."""
    created_by, authorised = new.created_by, new.authorised
    if new.task_id is not None:
        conn.execute("DELETE FROM recommendation WHERE task_id = %s AND kind = %s", [new.task_id, new.kind])
        task_row = conn.execute("SELECT created_by, authorised FROM task WHERE task_id = %s", [new.task_id]).fetchone()
        created_by, authorised = task_row or (created_by, authorised)
    row = conn.execute(
        "INSERT INTO recommendation (kind, state, task_id, fabric_id, fabric, job_id, user_name, application, title, reason, gain, environment,"
        " detail, simulated, figures, created_by, authorised)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING recommendation_id",
        [
            new.kind, new.state, new.task_id, new.fabric_id, new.fabric, new.job_id, new.user, new.application, new.title, new.reason,
            None if new.gain is None else _to_jsonb(new.gain), new.environment, _to_jsonb(new.detail), new.simulated,
            new.figures, created_by, authorised,
        ],
    ).fetchone()  # fmt: skip
    assert row is not None
    number = int(row[0])
    for part, content in new.parts.items():
        conn.execute(
            "INSERT INTO recommendation_part (recommendation_id, part, packed) VALUES (%s, %s, %s)",
            [number, part, gzip.compress(content, 6, mtime=0)],
        )
    return number


@dataclass(frozen=True)
class StagedRoutes:
    """Data for staging a recommendation's tables; `lfts` is None if it has none, a time is None if the step has not happened.

    reason : the run's explanation
    loaded_digest : digest (`lft.digest`) of the tables on which it is based; None if it is not based on stored counters
    lmc : the tables have 2^lmc LIDs per adapter
    sls, vls, seed : service levels by pair and their lanes, drawn from the seed; 0 if levels stay unchanged
    """

    fabric: str
    state: str
    reason: str
    simulated: bool
    authorised: bool
    lfts: bytes | None
    loaded_digest: str | None
    staged_in: str | None
    staged_at: datetime | None
    rolled_back_at: datetime | None
    lmc: int = 0
    sls: int = 0
    vls: int = 0
    seed: int = 1


def lock_staged_routes(conn: psycopg.Connection[Any], number: int) -> StagedRoutes:
    """Return a recommendation of routes for `loop apply`, with its row locked until the transaction ends. Raise NotFound if the number does not
    exist."""
    row = conn.execute(
        "SELECT r.fabric, r.state, r.reason, r.simulated, r.authorised, r.detail, p.packed, r.staged_in, r.staged_at, r.rolled_back_at"
        " FROM recommendation r LEFT JOIN recommendation_part p ON p.recommendation_id = r.recommendation_id AND p.part = 'lfts'"
        " WHERE r.recommendation_id = %s AND r.kind = 'routes' FOR UPDATE OF r",
        [number],
    ).fetchone()
    if row is None:
        raise NotFound(
            f"there is no recommendation of routes with number {number}",
            advice="`flitwatch loop run --fabric` creates one.",
        )
    fabric, state, reason, simulated, authorised, detail, packed, staged_in, staged_at, rolled_back_at = row
    parameters = detail.get("parameters") or {}
    return StagedRoutes(
        fabric or "", state, reason, simulated, authorised,
        None if packed is None else gzip.decompress(packed), parameters.get("loaded_digest"), staged_in, staged_at, rolled_back_at,
        parameters.get("lmc", 0), parameters.get("sls", 0), parameters.get("vls", 0), parameters.get("seed", 1),
    )  # fmt: skip


def note_staged(conn: psycopg.Connection[Any], number: int, folder: str) -> None:
    """Record that the tables were staged in a folder now."""
    conn.execute(
        "UPDATE recommendation SET staged_in = %s, staged_at = now(), rolled_back_at = NULL WHERE recommendation_id = %s",
        [folder, number],
    )


def note_rolled_back(conn: psycopg.Connection[Any], number: int) -> None:
    """Record that the staged tables were rolled back now."""
    conn.execute("UPDATE recommendation SET rolled_back_at = now() WHERE recommendation_id = %s", [number])


def fabric_named(conn: psycopg.Connection[Any], name: str) -> int | None:
    """Return the number of a stored fabric by name."""
    row = conn.execute("SELECT fabric_id FROM fabric WHERE name = %s", [name]).fetchone()
    return None if row is None else int(row[0])


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
    return await query_rows(
        conn,
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
