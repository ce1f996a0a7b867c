"""Retention limits of the embedded stack's log: days and bytes, whichever is reached first; its disk; and the archiving of the write-ahead log."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from flitwatch_domain.data_disk import DataDisk
from flitwatch_domain.errors import BadRequest


def check_disk(conn: psycopg.Connection[Any]) -> None:
    """Raise DiskFull if the connection's server has too little space for new data."""
    DataDisk.of(conn.info.get_parameters()).check()


def disk_of(url: str) -> DataDisk:
    """Return the disk of a URL's server."""
    return DataDisk.of(conninfo_to_dict(url))


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


@dataclass(frozen=True)
class LogKeep:
    """Limits of the log. Segments older than `hours`, or beyond `bytes` in total, are dropped, except the newest."""

    hours: float = 24
    bytes: int = 6 << 30


def load_limits(conn: psycopg.Connection[Any]) -> LogKeep:
    row = conn.execute("SELECT value FROM setting WHERE key = 'log_keep'").fetchone()
    return LogKeep(**row[0]) if row is not None else LogKeep()


def is_set(conn: psycopg.Connection[Any]) -> bool:
    """Return whether the limits have been set."""
    return conn.execute("SELECT FROM setting WHERE key = 'log_keep'").fetchone() is not None


def set_kept(conn: psycopg.Connection[Any], *, days: float | None = None, size_bytes: int | None = None) -> LogKeep:
    """Set the given limits. Raise BadRequest if they would keep nothing, or are unlimited."""
    current = load_limits(conn)
    limits = LogKeep(current.hours if days is None else days * 24, current.bytes if size_bytes is None else size_bytes)
    if not (0 < limits.hours < math.inf and limits.bytes > 0):
        raise BadRequest("the log needs a limit in days and bytes", advice="Give finite limits above zero.")
    conn.execute(
        "INSERT INTO setting VALUES ('log_keep', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [Jsonb(asdict(limits))],
    )
    return limits


def trim_log(conn: psycopg.Connection[Any]) -> int:
    """Drop segments beyond the limits; return their number."""
    limits = load_limits(conn)
    dropped = conn.execute(
        "SELECT log.trim(make_interval(secs => %s), %s)", [limits.hours * 3600, limits.bytes]
    ).fetchone()
    assert dropped is not None
    return int(dropped[0])


class LogStatus(TypedDict):
    """Segments and bytes in the embedded log, and its limits (None: unlimited)."""

    segments: int
    bytes: int
    keep_days: float | None
    keep_bytes: int | None


def load_log_status(conn: psycopg.Connection[Any]) -> LogStatus:
    """Load the number of segments and bytes, and the limits."""
    segments, size = conn.execute(
        "SELECT count(*), coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = 'log.batch'::regclass"
    ).fetchone() or (0, 0)
    limits = load_limits(conn)
    return {"segments": segments, "bytes": int(size), "keep_days": limits.hours / 24, "keep_bytes": limits.bytes}
