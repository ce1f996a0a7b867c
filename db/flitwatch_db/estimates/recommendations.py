"""Recommendations as rows: the head that is listed, the parts that are downloaded (docs/contracts/recommendations.md)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
import psycopg
from psycopg.types.json import Jsonb

#: lfts: text of a dump; matrix_router, matrix_group, links: JSON as the API answers it.
Part = Literal["lfts", "matrix_router", "matrix_group", "links"]


#: Where figures come from: observations that somebody handed in, or a simulation.
Figures = Literal["given", "simulated"]


@dataclass(frozen=True)
class Recommendation:
    """One row; `gain` and `detail` as in the contract, None where unknown.

    Attributes
    ----------
    created_by : str or None
        Its author; that of its task where there is one.
    authorised : bool
        Whether the author may change what the site relies on; else it is a what-if of theirs, and steers nothing. That of its task where there is one.
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
    """JSON of plain values and numpy arrays; NaN becomes null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _jsonb(value: Any) -> Jsonb:
    return Jsonb(value, dumps=lambda v: as_json(v).decode())


def save(conn: psycopg.Connection[Any], new: Recommendation) -> int:
    """Store a recommendation within the caller's transaction; that of the same task and kind is replaced. Returns its number."""
    created_by, authorised = new.created_by, new.authorised
    if new.task_id is not None:
        conn.execute("DELETE FROM recommendation WHERE task_id = %s AND kind = %s", [new.task_id, new.kind])
        asked = conn.execute("SELECT created_by, authorised FROM task WHERE task_id = %s", [new.task_id]).fetchone()
        created_by, authorised = asked or (created_by, authorised)
    row = conn.execute(
        "INSERT INTO recommendation (kind, state, task_id, fabric_id, fabric, job_id, user_name, application, title, reason, gain, environment,"
        " detail, simulated, figures, created_by, authorised)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING recommendation_id",
        [
            new.kind, new.state, new.task_id, new.fabric_id, new.fabric, new.job_id, new.user, new.application, new.title, new.reason,
            None if new.gain is None else _jsonb(new.gain), new.environment, _jsonb(new.detail), new.simulated,
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


def fabric_named(conn: psycopg.Connection[Any], name: str) -> int | None:
    """The number of a stored fabric of that name."""
    row = conn.execute("SELECT fabric_id FROM fabric WHERE name = %s", [name]).fetchone()
    return None if row is None else int(row[0])
