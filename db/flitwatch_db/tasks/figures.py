"""What monitoring asks of the queues: how many tasks wait, how long, and how many failed lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row


@dataclass(frozen=True)
class QueueFigures:
    """One queue: tasks that wait and run, for how long the oldest of each does (None: there is none), and tasks that failed in the last hour."""

    queue: str
    queued: int
    running: int
    waiting_s: float | None
    running_s: float | None
    failed: int


def queue_figures(conn: psycopg.Connection[Any], queues: Sequence[str]) -> list[QueueFigures]:
    """Figures of these queues, in their order, also of empty ones."""
    with conn.cursor(row_factory=class_row(QueueFigures)) as cursor:
        return cursor.execute(
            "SELECT queue, count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'running') AS running,"
            " extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE state = 'queued'))::float8 AS waiting_s,"
            " extract(epoch FROM clock_timestamp() - min(started_at) FILTER (WHERE state = 'running'))::float8 AS running_s,"
            " count(*) FILTER (WHERE state = 'failed') AS failed"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS q (queue, place) LEFT JOIN task ON starts_with(name, queue || '.')"
            " AND (state IN ('queued', 'running') OR state = 'failed' AND finished_at > now() - interval '1 hour')"
            " GROUP BY queue, place ORDER BY place",
            [list(queues)],
        ).fetchall()
