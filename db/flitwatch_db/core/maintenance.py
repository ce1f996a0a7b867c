"""Maintenance of the database: rollups, retention (our own or the full edition's policies), and its status."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypedDict

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from flitwatch_db.core import log_keep
from flitwatch_db.core.connection import connect, detect_edition
from flitwatch_db.core.deadlines import STILL_S
from flitwatch_db.counters import rollups
from flitwatch_db.jobs.store import mark_runaways
from flitwatch_domain.access import VISITOR
from flitwatch_domain.errors import BadRequest, Cancelled, Conflict, FlitwatchError

log = logging.getLogger(__name__)

#: Callback with (done, total, what), called before each step.
OnStep = Callable[[int, int, str], object]

#: Time limit for acquiring a table's lock before a drop; the next run tries again.
LOCK_TIMEOUT = "5s"

#: Tables without chunks: older rows are deleted.
KEEP_ROWS = {
    "event": ("at", timedelta(days=7)),
    "dead_letter": ("at", timedelta(days=90)),
    "ingest_minute": ("ts", timedelta(days=400)),
    "arrival_minute": ("ts", timedelta(days=1)),
    "gap": ("to_ts", timedelta(days=400)),
    # Uploaded for a task that was not started, or is waiting for a worker for this long.
    "task_file": ("created_at", timedelta(days=1)),
}
#: Limit for files of callers without a login, who share few places.
VISITORS_FILES_KEEP = timedelta(hours=1)
TASK_KEEP = timedelta(days=90)


@dataclass(frozen=True)
class _TimeTable:
    name: str
    keep: timedelta | None


def set_keep(conn: psycopg.Connection[Any], table: str, days: float | None) -> None:
    """Keep a table's chunks for this many days after their first row was written; None keeps them indefinitely."""
    with conn.cursor() as cursor:
        cursor.execute(
            "UPDATE time_table SET keep = make_interval(secs => %s) WHERE name = %s",
            [None if days is None else days * 86400, table],
        )
        if cursor.rowcount == 0:
            names = ", ".join(table_names(conn))
            raise BadRequest(f"{table!r} is not a time table", advice=f"These are: {names}.")


def table_names(conn: psycopg.Connection[Any]) -> list[str]:
    """List the time-series tables."""
    return [table.name for table in _time_tables(conn)]


def shorten_chunks(conn: psycopg.Connection[Any], table: str, hours: int) -> None:
    """Limit the length of a table's future chunks to a number of hours, so that rows with a short retention are dropped hour by hour."""
    conn.execute(
        "UPDATE time_table SET chunk = least(chunk, make_interval(hours => %s)) WHERE name = %s", [hours, table]
    )


def set_jobs_kept(conn: psycopg.Connection[Any], days: float | None, since_s: float | None = None) -> None:
    """Keep jobs and their runs for this many days after their end; None, the default, keeps them indefinitely.

    Jobs that ended before `since_s` (epoch seconds) are kept too: a simulated past is generated once and does not grow.
    """
    _set(conn, "jobs_keep_days", days)
    _set(conn, "jobs_keep_since_s", since_s)


def set_tables_kept(conn: psycopg.Connection[Any], size_bytes: int) -> None:
    """Limit the total size of the time-series tables in plain PostgreSQL: above it, the largest table loses its oldest chunk."""
    _set(conn, "tables_keep_bytes", size_bytes)


def _set(conn: psycopg.Connection[Any], key: str, value: float | None) -> None:
    conn.execute(
        "INSERT INTO setting VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [key, Jsonb(value)],
    )


def _number_set(conn: psycopg.Connection[Any], key: str) -> float | None:
    row = conn.execute("SELECT (value #>> '{}')::float8 FROM setting WHERE key = %s", [key]).fetchone()
    return None if row is None else row[0]


class RetentionArchive(TypedDict, total=False):
    """Archived jobs and runs, and jobs deleted from the database; or why that was skipped, or the error that stopped it."""

    archived: int
    dropped: int
    skipped: str
    error: str


class Retention(TypedDict):
    """Result of maintenance: rows or chunks dropped by table, hours rolled up, runaway jobs, tables left to the next run, and errors by table."""

    edition: str
    archive: RetentionArchive | None
    dropped: dict[str, int]
    rolled_up: int
    runaways: int
    skipped: list[str]
    failed: dict[str, str]


def maintain_database(url: str, on_step: OnStep = lambda done, total, what: None) -> Retention:
    """Archive due jobs, drop expired data, and roll counters up; return the result by table.

    It is safe to run at any time and from several processes: tables that cannot be locked within seconds are left to the next run (`skipped`). An
    error in one table (`failed`, with its reason) does not stop the others.
    """
    with connect(url, role="keeper", application="flitwatch maintain", autocommit=True, still_s=STILL_S) as conn:
        conn.execute(sql.SQL("SET lock_timeout = {}").format(LOCK_TIMEOUT))
        kind = detect_edition(conn)
        archived = _archive_due_jobs(conn, url, on_step)
        steps: dict[str, Callable[[], int]] = {
            table.name: partial(_drop_old_chunks, conn, kind, table) for table in _time_tables(conn)
        }
        steps |= {"tables over their size": partial(_drop_chunks_over, conn, kind)}
        steps |= {"job": partial(_delete_jobs, conn)}
        steps |= {"log": partial(log_keep.trim_log, conn)}
        steps |= {name: partial(_delete_rows, conn, name) for name in KEEP_ROWS}
        steps |= {"task_file of visitors": partial(delete_visitors_files, conn)}
        steps |= {"audit": partial(_fetch_count, conn, "SELECT drop_old_audit()")}
        steps |= {"task": partial(_delete_tasks, conn)}
        steps |= {"runaway": partial(mark_runaways, conn)}
        # Last, because it may take minutes, and retention should not wait for it.
        steps |= {"rollup_due": partial(rollups.roll_up_hours, conn)}
        dropped: dict[str, int] = {}
        skipped: list[str] = []
        failed: dict[str, str] = {}
        for done, (name, step) in enumerate(steps.items()):
            on_step(done, len(steps), name)
            try:
                dropped[name] = step()
            except psycopg.errors.LockNotAvailable:
                skipped.append(name)
            except psycopg.Error as problem:
                if conn.closed:
                    raise
                failed[name] = problem.diag.message_primary or str(problem)
                log.error("maintenance of %s failed: %s", name, failed[name])
        on_step(len(steps), len(steps), "")
    rolled_up = dropped.pop("rollup_due", 0)
    runaways = dropped.pop("runaway", 0)
    return {
        "edition": kind,
        "archive": archived,
        "dropped": dropped,
        "rolled_up": rolled_up,
        "runaways": runaways,
        "skipped": skipped,
        "failed": failed,
    }


def delete_visitors_files(conn: psycopg.Connection[Any]) -> int:
    """Delete files that callers without a login uploaded for a task that they never started; return their number."""
    return conn.execute(
        "DELETE FROM task_file WHERE task_id IS NULL AND starts_with(created_by, %s) AND created_at < clock_timestamp() - %s::interval",
        [VISITOR, VISITORS_FILES_KEEP],
    ).rowcount


def _archive_due_jobs(conn: psycopg.Connection[Any], url: str, on_step: OnStep) -> RetentionArchive | None:
    """Archive due jobs before anything is dropped; None if no policy is set.

    If archiving fails, jobs are not dropped, but counters are: a full disk for archives must not fill the database's disk as well.
    """
    if conn.execute("SELECT FROM setting WHERE key = 'archive' AND value <> 'null'").fetchone() is None:
        return None
    from flitwatch_db.archive import policy

    try:
        archived = policy.apply_policy(conn, url, lambda done, total, what: on_step(done, total, f"archive: {what}"))
        return None if archived is None else {"archived": archived["archived"], "dropped": archived["dropped"]}
    except Cancelled:
        raise
    except Conflict as busy:
        return {"skipped": str(busy)}
    except FlitwatchError as problem:
        log.error("jobs are not archived: %s", problem)
        return {"error": str(problem)}


def _time_tables(conn: psycopg.Connection[Any]) -> list[_TimeTable]:
    rows = conn.execute("SELECT name, keep FROM time_table ORDER BY name").fetchall()
    return [_TimeTable(*row) for row in rows]


def _is_partitioned(conn: psycopg.Connection[Any], table: str) -> bool:
    row = conn.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", [f"flitwatch.{table}"]).fetchone()
    return row is not None and row[0]


def _drop_old_chunks(conn: psycopg.Connection[Any], kind: str, table: _TimeTable) -> int:
    """Drop expired chunks of a table. Age counts from the writing of a chunk's first row, so that imported old data do not expire immediately."""
    # A database whose first migration ran on plain PostgreSQL keeps its native partitions when TimescaleDB is installed later.
    if kind == "timescale" and not _is_partitioned(conn, table.name):
        # The full edition drops chunks itself; its jobs are recreated to match the table's settings.
        conn.execute("SELECT set_policies(%s)", [table.name])
        return 0
    total = 0
    while dropped := _fetch_count(conn, "SELECT drop_old_chunks(%s)", table.name):
        total += dropped
    return total


def _drop_chunks_over(conn: psycopg.Connection[Any], kind: str) -> int:
    most_bytes = _number_set(conn, "tables_keep_bytes")
    total = 0
    while (
        kind == "plain" and most_bytes is not None and _fetch_count(conn, "SELECT drop_chunk_over(%s)", int(most_bytes))
    ):
        total += 1
    return total


def _delete_jobs(conn: psycopg.Connection[Any]) -> int:
    days = _number_set(conn, "jobs_keep_days")
    if days is None:
        return 0
    # All data-modifying parts of a query see the same snapshot: a job that ends in the meantime keeps its runs.
    return conn.execute(
        "WITH old AS (SELECT job_pk FROM job WHERE end_ts < now() - make_interval(secs => %s)"
        " AND end_ts >= to_timestamp(coalesce(%s::float8, '-infinity'))),"
        " runs AS (DELETE FROM run USING old WHERE run.job_pk = old.job_pk)"
        " DELETE FROM job USING old WHERE job.job_pk = old.job_pk",
        [days * 86400, _number_set(conn, "jobs_keep_since_s")],
    ).rowcount


def _fetch_count(conn: psycopg.Connection[Any], query: str, *parameters: Any) -> int:
    row = conn.execute(query.encode(), parameters).fetchone()
    return int(row[0]) if row is not None else 0


def _delete_rows(conn: psycopg.Connection[Any], name: str) -> int:
    column, keep = KEEP_ROWS[name]
    return conn.execute(
        sql.SQL("DELETE FROM {} WHERE {} < now() - {}::interval").format(
            sql.Identifier(name), sql.Identifier(column), sql.Literal(keep)
        )
    ).rowcount


def _delete_tasks(conn: psycopg.Connection[Any]) -> int:
    return conn.execute("DELETE FROM task WHERE finished_at < now() - %s::interval", [TASK_KEEP]).rowcount


class TableStatus(TypedDict):
    """A time-series table: its chunks and bytes, its newest time, and its retention in days (None: unlimited)."""

    chunks: int
    bytes: int
    newest: datetime | None
    keep_days: float | None


class DatabaseStatus(TypedDict):
    """Status of the database; `tables_keep_bytes` is the size limit of all time-series tables together (None: unlimited)."""

    edition: str
    server_version: str
    bytes: int
    tables_keep_bytes: float | None
    tables: dict[str, TableStatus]
    log: log_keep.LogStatus


def load_database_status(conn: psycopg.Connection[Any]) -> DatabaseStatus:
    """Load the status of the database: edition, size, embedded log, and bytes, chunks and newest time of each time table."""
    version, size = conn.execute(
        "SELECT current_setting('server_version'), pg_database_size(current_database())"
    ).fetchone() or ("", 0)
    kind = detect_edition(conn)
    tables: dict[str, TableStatus] = {}
    for table in _time_tables(conn):
        chunks, size_bytes = _measure_chunks(conn, table.name)
        newest = conn.execute(
            sql.SQL("SELECT max(ts) FROM {}").format(sql.Identifier(table.name))
            if chunks
            else sql.SQL("SELECT NULL::timestamptz")
        ).fetchone()
        tables[table.name] = {
            "chunks": chunks,
            "bytes": size_bytes,
            "newest": newest[0] if newest else None,
            "keep_days": None if table.keep is None else table.keep.total_seconds() / 86400,
        }
    return {
        "edition": kind,
        "server_version": version,
        "bytes": int(size),
        "tables_keep_bytes": _number_set(conn, "tables_keep_bytes"),
        "tables": tables,
        "log": log_keep.load_log_status(conn),
    }


def _measure_chunks(conn: psycopg.Connection[Any], table: str) -> tuple[int, int]:
    """Return number and bytes of a table's chunks."""
    if _is_partitioned(conn, table):
        query = "SELECT count(*), coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = %s::regclass"
    else:
        query = "SELECT count(*), coalesce(sum(pg_total_relation_size(c)), 0) FROM show_chunks(%s::regclass) AS c"
    row = conn.execute(query.encode(), [f"flitwatch.{table}"]).fetchone()
    return (int(row[0]), int(row[1])) if row is not None else (0, 0)


def analyze_tables(conn: psycopg.Connection[Any]) -> None:
    """Update the planner's statistics of all tables."""
    conn.execute("ANALYZE")
