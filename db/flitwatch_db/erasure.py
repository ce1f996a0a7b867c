"""Deletion of what is kept about one user, on their request."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql

from flitwatch_domain.errors import BadRequest

Conn = psycopg.Connection[Any]

#: JSON columns that may hold a user's name as a value or a key; a row that does is deleted whole, since what it tells is about that user.
_JSON = {"estimate": ("data", "result", "score", "parameters"), "event": ("payload",), "task": ("args", "result", "error"), "alert": ("labels", "evidence")}  # fmt: skip
_NAMED = """jsonb_path_exists({}, 'strict $.** ? (@ == $name || (@.type() == "object" && exists (@.keyvalue() ? (@.key == $name))))',
    jsonb_build_object('name', %(user)s::text), true)"""


def erase(conn: Conn, user: str, *, dry_run: bool = False) -> dict[str, int]:
    """Delete a user's jobs, their runs, and every kept result, alert, task and refused record that names the user.

    Counters of routers name nobody and stay. The log of records, backups and the audit log are not touched: the log forgets by its own
    retention, and the audit log must not be changed. Estimates of others that were learnt beside this user's jobs are made anew without them.
    That it was done is kept (a salted digest, no name), so that an archive that is restored later does not bring the user back (`Erased`);
    `flitwatch_db.archive.forgetting` takes the user out of an archive's files.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `owner`; everything is deleted in one transaction.
    user : str
        The name as the scheduler has it.
    dry_run : bool
        Only count.

    Returns
    -------
    dict
        {table: rows}

    Raises
    ------
    BadRequest
        The name is empty.
    """
    if not user.strip():
        raise BadRequest("no user is named", advice="Write the name as the scheduler has it.")
    parameters = {"user": user}
    found: dict[str, int] = {}
    with conn.transaction(force_rollback=dry_run):
        for table, columns in _JSON.items():
            condition = sql.SQL(" OR ").join(sql.SQL(_NAMED).format(sql.Identifier(column)) for column in columns)
            found[table] = _delete(conn, table, condition, parameters)
        found["recommendation"] = _delete(conn, "recommendation", sql.SQL("user_name = %(user)s"), parameters)
        found["dead_letter"] = _delete(
            conn, "dead_letter", sql.SQL("position(convert_to(%(user)s, 'UTF8') IN raw) > 0"), parameters
        )
        mine = sql.SQL("job_pk IN (SELECT job_pk FROM job WHERE user_name = %(user)s)")
        # Ranks, steps, forecasts and nodes go with their run and job.
        found["run"] = _delete(conn, "run", mine, parameters)
        found["job"] = _delete(conn, "job", sql.SQL("user_name = %(user)s"), parameters)
        conn.execute(
            "INSERT INTO erased_user (salt, digest) SELECT salt, encode(sha256(convert_to(salt || %(user)s, 'UTF8')), 'hex')"
            " FROM (SELECT replace(gen_random_uuid()::text, '-', '') AS salt) AS s",
            parameters,
        )
    return found


class Erased:
    """Who was erased from this database, and when; on a connection with role `owner`."""

    def __init__(self, conn: Conn) -> None:
        self._rows = conn.execute("SELECT salt, digest, erased_at FROM erased_user").fetchall()
        self._at: dict[str, datetime | None] = {}

    def holds(self, user: str | None, began: datetime) -> bool:
        """Whether what began then was of a user who was erased since."""
        if user is None or not self._rows:
            return False
        if user not in self._at:
            self._at[user] = max(
                (at for salt, digest, at in self._rows if hashlib.sha256((salt + user).encode()).hexdigest() == digest),
                default=None,
            )
        at = self._at[user]
        return at is not None and began <= at


def _delete(conn: Conn, table: str, condition: sql.Composable, parameters: dict[str, str]) -> int:
    return conn.execute(
        sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), condition), parameters
    ).rowcount
