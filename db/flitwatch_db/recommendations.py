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


@dataclass(frozen=True)
class Recommendation:
    """One row; `gain` and `detail` as in the contract, None where unknown."""

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
    parts: Mapping[Part, bytes] = field(default_factory=dict)


def as_json(value: Any) -> bytes:
    """JSON of plain values and numpy arrays; NaN becomes null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _jsonb(value: Any) -> Jsonb:
    return Jsonb(value, dumps=lambda v: as_json(v).decode())


def save(conn: psycopg.Connection[Any], new: Recommendation) -> int:
    """Store a recommendation within the caller's transaction; that of the same task is replaced. Returns its number."""
    if new.task_id is not None:
        conn.execute("DELETE FROM recommendation WHERE task_id = %s", [new.task_id])
    row = conn.execute(
        "INSERT INTO recommendation (kind, state, task_id, fabric_id, fabric, job_id, user_name, application, title, reason, gain, environment,"
        " detail, simulated) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING recommendation_id",
        [
            new.kind, new.state, new.task_id, new.fabric_id, new.fabric, new.job_id, new.user, new.application, new.title, new.reason,
            None if new.gain is None else _jsonb(new.gain), new.environment, _jsonb(new.detail), new.simulated,
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
