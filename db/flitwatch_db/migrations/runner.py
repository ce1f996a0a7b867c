"""The runner: reads the dated files, applies what is missing, each in a transaction of its own."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql

from flitwatch_db.core.connection import connect
from flitwatch_db.core.logins import LOGINS
from flitwatch_db.migrations import bootstrap, queue
from flitwatch_domain.errors import Conflict, Forbidden, Unavailable

log = logging.getLogger(__name__)

#: One migrator a database at a time; a second waits and then finds nothing to do.
LOCK = 7205759403792792


@dataclass(frozen=True)
class Migration:
    """One dated file.

    Attributes
    ----------
    name : str
        The file's name without its suffix: date, number, subject.
    text : str
        The SQL.
    digest : str
        SHA-256 of the text; an applied file never changes.
    """

    name: str
    text: str
    digest: str


@cache
def available() -> tuple[Migration, ...]:
    """All migrations of this version, oldest first."""
    files = [f for f in (resources.files(__package__) / "sql").iterdir() if f.name.endswith(".sql")]
    texts = {f.name.removesuffix(".sql"): f.read_text("utf-8") for f in files}
    return tuple(Migration(n, texts[n], hashlib.sha256(texts[n].encode()).hexdigest()) for n in sorted(texts))


def _applied(conn: psycopg.Connection[Any]) -> dict[str, str]:
    if conn.execute("SELECT to_regclass('flitwatch.migration')").fetchone() == (None,):
        return {}
    return dict(conn.execute("SELECT name, digest FROM flitwatch.migration").fetchall())


def pending(conn: psycopg.Connection[Any]) -> list[str]:
    """Names of the migrations that this database lacks, in order (those of the task queue's schema are told as `queue ...`)."""
    applied = _applied(conn)
    return [m.name for m in available() if m.name not in applied] + queue.pending(conn)


def migrate(url: str) -> list[str]:
    """Bring the database to this version; return the names of what was applied.

    Safe to call from several processes at once and again at every start.

    Raises
    ------
    Unavailable
        The database does not answer, or is of an older version and the login is a service's.
    Conflict
        An applied migration differs from this version's file, the database was migrated by a newer version, or its encoding is not UTF-8.
    Forbidden
        The user may not create schemas or roles.
    """
    with connect(url, application="flitwatch migrate", autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            return _migrate(conn)
        except psycopg.errors.InsufficientPrivilege as problem:
            raise Forbidden(
                f"this user may not migrate the database: {problem.diag.message_primary}",
                advice="Use the database's owner with CREATEROLE, or have an administrator create the roles "
                f"{', '.join(bootstrap.ROLES)} and grant them.",
            ) from None


def _migrate(conn: psycopg.Connection[Any]) -> list[str]:
    _check_encoding(conn)
    _check(_applied(conn))
    if not pending(conn):
        return []
    if conn.info.user in LOGINS:
        raise Unavailable(
            "the database is not of this version yet, and a service may not migrate it",
            advice="Run `flitwatch db migrate` with the owner's login.",
        )
    with conn.transaction():
        bootstrap.prepare(conn)
    conn.execute("SET ROLE flitwatch_owner")
    applied = _applied(conn)
    done = []
    for migration in available():
        if migration.name not in applied:
            log.info("applying migration %s", migration.name)
            with conn.transaction():
                conn.execute(sql.SQL(migration.text))
                conn.execute("INSERT INTO migration (name, digest) VALUES (%s, %s)", [migration.name, migration.digest])
            done.append(migration.name)
    return done + queue.apply(conn)


def _check_encoding(conn: psycopg.Connection[Any]) -> None:
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Conflict(
            f"the database's encoding is {encoding}, which cannot hold every job and user name",
            advice="Create the database anew: CREATE DATABASE flitwatch ENCODING 'UTF8' TEMPLATE template0.",
        )


def _check(applied: dict[str, str]) -> None:
    known = {m.name: m.digest for m in available()}
    for name, digest in applied.items():
        if name not in known:
            raise Conflict(
                f"the database knows migration {name}, this version does not", advice="Use the newer Flitwatch."
            )
        if known[name] != digest:
            raise Conflict(f"migration {name} was applied with another text", advice="Restore the released file.")
