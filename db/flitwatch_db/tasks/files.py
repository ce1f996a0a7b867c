"""Tables `task_file` and `task_file_piece`: users' uploads for tasks.

A trigger deletes a file when its task ends. Files without a started task are deleted after a day, and those from callers without a login after an
hour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from flitwatch_db.core import maintenance
from flitwatch_db.core.log_keep import check_disk
from flitwatch_domain.errors import NotFound, TooMany

Connection = psycopg.Connection[Any]

MAX_FILE_BYTES = 64 << 20
#: Size of a piece of a file, the part that the API or a worker has in memory at a time.
PIECE_BYTES = 1 << 20
#: Maximum numbers of pending files: per user, per address of visits, and of all visits together (768 MiB).
WAITING_EACH, WAITING_ADDRESS, WAITING_VISITS = 8, 4, 12
_COUNT_LOCK = 1_931_204
_LATER_S = 600


def begin_file(conn: Connection, created_by: str, visits: tuple[str, str] | None = None) -> int:
    """Create an empty file and return its number.

    Parameters
    ----------
    visits : (str, str), optional
        For a caller without a login: the prefixes of the authors of visits from this address, and of all visits.

    Raises
    ------
    TooMany
        There are too many pending files.
    DiskFull
        The database's disk has too little free space.
    """
    check_disk(conn)
    conn.execute("SELECT pg_advisory_xact_lock(%s)", [_COUNT_LOCK])
    if visits is None:
        _check_share(_list_waiting(conn, created_by), "WAITING_EACH", WAITING_EACH)
    else:
        maintenance.delete_visitors_files(conn)
        own = _list_waiting(conn, visits[0], begins=True)
        _check_share(own, "WAITING_ADDRESS", WAITING_ADDRESS)
        _free_space(conn, visits[1], len(own))
    row = conn.execute("INSERT INTO task_file (created_by) VALUES (%s) RETURNING file_id", [created_by]).fetchone()
    assert row is not None
    return int(row[0])


def _check_share(own: list[int], limit: str, most: int) -> None:
    if len(own) >= most:
        raise TooMany(
            f"{len(own)} of your files wait for a task ({', '.join(map(str, own))}); the limit {limit} is {most}",
            advice="Start their task, or delete one (DELETE /api/v1/tasks/files/NUMBER); what waits too long is deleted.",
            retry_after_s=_LATER_S,
        )


def _free_space(conn: Connection, visitors: str, own: int) -> None:
    """If the limit of visits is reached, delete the oldest file of an address with more files than the caller; TooMany if there is none."""
    rows = conn.execute(
        "SELECT file_id, regexp_replace(created_by, '[^/]*$', '') FROM task_file"
        " WHERE task_id IS NULL AND starts_with(created_by, %s) ORDER BY file_id",
        [visitors],
    ).fetchall()
    if len(rows) < WAITING_VISITS:
        return
    address, most = Counter(of for _, of in rows).most_common(1)[0]
    if most <= own + 1:
        raise TooMany(
            f"{len(rows)} files of callers without a login wait for a task; the limit WAITING_VISITS is {WAITING_VISITS}",
            advice="Wait for some, or log in.",
            retry_after_s=_LATER_S,
        )
    conn.execute("DELETE FROM task_file WHERE file_id = %s", [next(number for number, of in rows if of == address)])


def _list_waiting(conn: Connection, author: str, begins: bool = False) -> list[int]:
    """Return the numbers of an author's files without a task; with `begins`, of all authors with this prefix."""
    rows = conn.execute(
        "SELECT file_id FROM task_file WHERE task_id IS NULL AND (created_by = %(by)s OR %(begins)s AND starts_with(created_by, %(by)s))"
        " ORDER BY file_id",
        {"by": author, "begins": begins},
    )
    return [int(row[0]) for row in rows]


def append_piece(conn: Connection, file_id: int, piece: int, content: bytes) -> None:
    """Append a piece to a file. Raise NotFound if the file has been deleted."""
    try:
        conn.execute("INSERT INTO task_file_piece VALUES (%s, %s, %s)", [file_id, piece, content])
    except psycopg.errors.ForeignKeyViolation:
        raise _make_not_found([file_id]) from None


def complete_file(conn: Connection, file_id: int, size: int) -> None:
    """Mark a file as complete, so that a task may use it. Raise NotFound if the file has been deleted."""
    if conn.execute("UPDATE task_file SET bytes = %s WHERE file_id = %s", [size, file_id]).rowcount != 1:
        raise _make_not_found([file_id])


def delete_file(conn: Connection, file_id: int, created_by: str | None) -> None:
    """Delete a pending file; with `created_by`, only if it belongs to that author. Raise NotFound if there is no such pending file."""
    cursor = conn.execute(
        "DELETE FROM task_file WHERE file_id = %(id)s AND task_id IS NULL AND (%(by)s::text IS NULL OR created_by = %(by)s)",
        {"id": file_id, "by": created_by},
    )
    if cursor.rowcount != 1:
        raise _make_not_found([file_id])


def claim_files(conn: Connection, task_id: int, files: Sequence[int], created_by: str | None) -> None:
    """Assign pending files to a task; with `created_by`, only that author's files. Raise NotFound if a file is not pending, is incomplete, or belongs
    to another caller; the message does not say which."""
    rows = conn.execute(
        "UPDATE task_file SET task_id = %(task)s WHERE file_id = ANY(%(ids)s) AND task_id IS NULL AND bytes IS NOT NULL"
        " AND (%(by)s::text IS NULL OR created_by = %(by)s) RETURNING file_id",
        {"task": task_id, "ids": list(files), "by": created_by},
    ).fetchall()
    lacking = sorted(set(files) - {row[0] for row in rows})
    if lacking:
        raise _make_not_found(lacking)


def check_still_there(conn: Connection, task_id: int, files: Sequence[int]) -> None:
    """Lock a task's files until the transaction ends, so that storing results and an erasure do not overlap. Raise NotFound if a file does not belong
    to the task, or was deleted while it ran."""
    rows = conn.execute(
        "SELECT file_id FROM task_file WHERE task_id = %s AND file_id = ANY(%s) FOR UPDATE", [task_id, list(files)]
    ).fetchall()
    lacking = sorted(set(files) - {row[0] for row in rows})
    if lacking:
        raise _make_not_found(lacking)


def read_pieces(conn: Connection, task_id: int, file_id: int) -> Iterator[bytes]:
    """Yield the content of a task's file in pieces. Raise NotFound if the task does not have this file."""
    with conn.cursor(name="pieces") as cursor:
        cursor.itersize = 1
        cursor.execute(
            "SELECT p.content FROM task_file f LEFT JOIN task_file_piece p USING (file_id) WHERE f.file_id = %s AND f.task_id = %s ORDER BY p.piece",
            [file_id, task_id],
        )
        has_file = False
        for (content,) in cursor:
            has_file = True
            if content is not None:
                yield bytes(content)
    if not has_file:
        raise _make_not_found([file_id])


def _make_not_found(files: Sequence[int]) -> NotFound:
    numbers = " and ".join(map(str, files))
    return NotFound(
        f"you have no file {numbers} that waits for a task",
        advice="Upload it again: POST /api/v1/tasks/files returns its number.",
    )
