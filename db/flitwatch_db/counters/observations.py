"""Samples of all other LDMS schemas, unchanged: one row per sample, with numbers and texts in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import psycopg

from flitwatch_db.core.additive import ensure_chunks


class Observation(NamedTuple):
    """One sample of a schema; the schema's columns define the array of each entry."""

    schema_id: int
    component_id: int | None
    instance: str | None
    ts_s: float
    u64: Sequence[int | None] | None = None
    f64: Sequence[float | None] | None = None
    text: Sequence[str | None] | None = None


def write_observations(conn: psycopg.Connection[Any], rows: Sequence[Observation]) -> None:
    """Store samples within the caller's transaction.

    `u64` accepts every integer from 0 to 2^64 - 1; texts must not contain NUL.
    """
    if not rows:
        return
    ensure_chunks(conn, "observation", np.array([int(row.ts_s) for row in rows], dtype=np.int64))
    with (
        conn.cursor() as cursor,
        cursor.copy("COPY observation (schema_id, component_id, instance, ts, u64, f64, text) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(
                (
                    row.schema_id,
                    row.component_id,
                    row.instance,
                    datetime.fromtimestamp(row.ts_s, UTC),
                    None if row.u64 is None else list(row.u64),
                    None if row.f64 is None else list(row.f64),
                    None if row.text is None else list(row.text),
                )
            )
