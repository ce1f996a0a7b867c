"""Status of the server's write-ahead log archiving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg


@dataclass(frozen=True)
class Archiving:
    """Archiving of the write-ahead log by the server.

    Attributes
    ----------
    on : bool                  whether the server was started with archiving
    command : str              command that archives each segment
    failed : str or None       the last segment that could not be archived and is still pending
    """

    on: bool
    command: str
    failed: str | None


def load_archiving(conn: psycopg.Connection[Any]) -> Archiving:
    """Load the server's settings for archiving its write-ahead log."""
    row = conn.execute(
        "SELECT current_setting('archive_mode') = 'on', current_setting('archive_command'), last_failed_wal,"
        " last_failed_time > coalesce(last_archived_time, '-infinity') FROM pg_stat_archiver"
    ).fetchone()
    assert row is not None
    return Archiving(row[0], row[1], row[2] if row[3] else None)


def close_segment(conn: psycopg.Connection[Any]) -> str:
    """Close the current segment and return its name. An empty segment cannot be closed, so a mark is written first."""
    conn.execute("SELECT pg_create_restore_point('flitwatch backup')")
    row = conn.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    return str(row[0])
