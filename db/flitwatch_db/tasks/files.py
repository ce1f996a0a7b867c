"""Tables `task_file` and `task_file_piece`: what a user uploads for a task to read.

A trigger deletes it when the task ends. What waits longer is
deleted after a day, and what a caller without a login uploaded after an hour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from flitwatch_db.core import maintenance
from flitwatch_db.core.disk import check_disk
from flitwatch_domain.errors import NotFound, TooMany

Connection = psycopg.Connection[Any]

MAX_FILE_BYTES = 64 << 20
#: A piece of a file: what the API and a worker hold of it at a time.
PIECE_BYTES = 1 << 20
#: Files that wait for a task: of one person, of the visits of one address, and of all visits together (768 MiB).
WAITING_EACH, WAITING_ADDRESS, WAITING_VISITS = 8, 4, 12
_COUNT_LOCK = 1_931_204
_LATER_S = 600


def begin_file(conn: Connection, created_by: str, visits: tuple[str, str] | None = None) -> int:
    """A new file without content; its number.

    Parameters
    ----------
    visits : (str, str), optional
        Of a caller without a login: what the authors of visits from this address, and of all visits, begin with.

    Raises
    ------
    TooMany
        Too many files wait already.
    DiskFull
        The database's disk has no room for it.
    """
    check_disk(conn)
    conn.execute("SELECT pg_advisory_xact_lock(%s)", [_COUNT_LOCK])
    if visits is None:
        _check_share(_list_waiting(conn, created_by), "WAITING_EACH", WAITING_EACH)
    else:
        maintenance.delete_visitors_files(conn)
        own = _list_waiting(conn, visits[0], begins=True)
        _check_share(own, "WAITING_ADDRESS", WAITING_ADDRESS)
        _make_room(conn, visits[1], len(own))
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


def _make_room(conn: Connection, visitors: str, own: int) -> None:
    """Delete the oldest file of an address that has more than the caller will have, if all places of visits are taken; TooMany if none has."""
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
    """Numbers of the files without a task whose author is this one; `begins`: whose author begins so."""
    rows = conn.execute(
        "SELECT file_id FROM task_file WHERE task_id IS NULL AND (created_by = %(by)s OR %(begins)s AND starts_with(created_by, %(by)s))"
        " ORDER BY file_id",
        {"by": author, "begins": begins},
    )
    return [int(row[0]) for row in rows]


def append_piece(conn: Connection, file_id: int, piece: int, content: bytes) -> None:
    """The next piece of a file.

    Raises
    ------
    NotFound
        The file was deleted meanwhile.
    """
    try:
        conn.execute("INSERT INTO task_file_piece VALUES (%s, %s, %s)", [file_id, piece, content])
    except psycopg.errors.ForeignKeyViolation:
        raise _make_not_found([file_id]) from None


def complete_file(conn: Connection, file_id: int, size: int) -> None:
    """All of a file has come; only now may a task have it.

    Raises
    ------
    NotFound
        The file was deleted meanwhile.
    """
    if conn.execute("UPDATE task_file SET bytes = %s WHERE file_id = %s", [size, file_id]).rowcount != 1:
        raise _make_not_found([file_id])


def delete_file(conn: Connection, file_id: int, created_by: str | None) -> None:
    """Delete a file that waits; `created_by`: only if it is theirs.

    Raises
    ------
    NotFound
        No such file waits.
    """
    cursor = conn.execute(
        "DELETE FROM task_file WHERE file_id = %(id)s AND task_id IS NULL AND (%(by)s::text IS NULL OR created_by = %(by)s)",
        {"id": file_id, "by": created_by},
    )
    if cursor.rowcount != 1:
        raise _make_not_found([file_id])


def claim_files(conn: Connection, task_id: int, files: Sequence[int], created_by: str | None) -> None:
    """Give files that wait to a task; `created_by`: only theirs.

    Raises
    ------
    NotFound
        One does not wait, has not come whole, or is another caller's: no one learns which.
    """
    rows = conn.execute(
        "UPDATE task_file SET task_id = %(task)s WHERE file_id = ANY(%(ids)s) AND task_id IS NULL AND bytes IS NOT NULL"
        " AND (%(by)s::text IS NULL OR created_by = %(by)s) RETURNING file_id",
        {"task": task_id, "ids": list(files), "by": created_by},
    ).fetchall()
    lacking = sorted(set(files) - {row[0] for row in rows})
    if lacking:
        raise _make_not_found(lacking)


def check_still_there(conn: Connection, task_id: int, files: Sequence[int]) -> None:
    """Hold a task's files until the transaction ends, so that what is stored of them and their erasure come one after the other.

    Raises
    ------
    NotFound
        One is not the task's, or was deleted while it ran.
    """
    rows = conn.execute(
        "SELECT file_id FROM task_file WHERE task_id = %s AND file_id = ANY(%s) FOR UPDATE", [task_id, list(files)]
    ).fetchall()
    lacking = sorted(set(files) - {row[0] for row in rows})
    if lacking:
        raise _make_not_found(lacking)


def read_pieces(conn: Connection, task_id: int, file_id: int) -> Iterator[bytes]:
    """The content of a task's file, a piece at a time.

    Raises
    ------
    NotFound
        The task has no such file.
    """
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
