"""Runner of migrations: reads the dated files and applies missing ones, each in a separate transaction."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import sql

from flitwatch_db.core.columns import Connection
from flitwatch_db.core.connection import connect
from flitwatch_db.core.logins import LOGINS
from flitwatch_db.migrations import bootstrap
from flitwatch_domain.errors import Conflict, Forbidden, Unavailable

log = logging.getLogger(__name__)

#: Lock of the only migrator of a database; a second one waits and then has nothing to do.
LOCK = 7205759403792792
#: The first file: the schema of 0.1.0. A database of an earlier version has the files that this one replaces, with the same schema.
BASELINE = "2026_11_29_91_baseline"
#: The number of files that the baseline replaces, and the SHA-256 of their names and digests (`digest_names`).
REPLACED = (58, "f024130542afeefa76f2823a5518add80d03772d1341d617e83c9a5fad221187")
_MARK = re.compile(r"-- (?:expansion|contraction: ends versions older than (?P<oldest>\w+))\n")


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
    oldest : str or None
        The oldest schema, by the name of its newest migration, whose versions can run together with this one: `BASELINE` for an expansion, the
        given one for a contraction. None, for a file without a mark: versions without this migration must stop.
    """

    name: str
    text: str
    digest: str
    oldest: str | None


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Return the migrations of a folder, oldest first."""
    files = [f for f in folder.iterdir() if f.name.endswith(".sql")]
    texts = {f.name.removesuffix(".sql"): f.read_text("utf-8") for f in files}
    return tuple(_parse_migration(name, texts[name]) for name in sorted(texts))


def _parse_migration(name: str, text: str) -> Migration:
    mark = _MARK.match(text)
    oldest = None if mark is None else mark["oldest"] or BASELINE
    return Migration(name, text, hashlib.sha256(text.encode()).hexdigest(), oldest)


@cache
def list_migrations() -> tuple[Migration, ...]:
    """Return all migrations of this version, oldest first."""
    return read_migrations(resources.files(__package__) / "sql")


#: Applied migrations: name, digest, and the oldest compatible schema, which is missing in a database of an older version.
APPLIED = "SELECT name, digest, to_jsonb(m) ->> 'oldest' FROM flitwatch.migration m ORDER BY name"


def _load_applied(conn: psycopg.Connection[Any]) -> dict[str, tuple[str, str | None]]:
    if conn.execute("SELECT to_regclass('flitwatch.migration')").fetchone() == (None,):
        return {}
    return {name: (digest, oldest) for name, digest, oldest in conn.execute(APPLIED).fetchall()}


def list_pending_migrations(conn: psycopg.Connection[Any]) -> list[str]:
    """Return the names of the migrations missing in this database, in order."""
    applied = _load_applied(conn)
    return [m.name for m in list_migrations() if m.name not in applied]


def list_newer_migrations(conn: psycopg.Connection[Any]) -> dict[str, str | None]:
    """Return the migrations of a newer version that this one does not have, in order: the oldest compatible schema by name."""
    names = {m.name for m in list_migrations()}
    return {name: oldest for name, (_, oldest) in _load_applied(conn).items() if name not in names and name > BASELINE}


def list_ending_migrations(newer: Mapping[str, str | None]) -> list[str]:
    """Return the names of the newer migrations with which this version cannot run, in order."""
    names = {m.name for m in list_migrations()}
    return [name for name, oldest in newer.items() if oldest not in names]


def ending_those_in_use(conn: psycopg.Connection[Any]) -> list[str]:
    """Return the names of this version's pending migrations that would stop the versions in use."""
    applied = _load_applied(conn)
    if not applied:
        return []
    return [m.name for m in list_migrations() if m.name not in applied and m.oldest not in applied]


def migrate_database(url: str) -> list[str]:
    """Migrate the database to this version; return the names of the applied migrations.

    A compatible database of a newer version is not changed. It is safe to call this from several processes at once, and at every start.

    Raises
    ------
    Unavailable
        The database does not respond, or is of an older version and the login is a service's.
    Conflict
        An applied migration differs from this version's file, a newer version migrated the database to an incompatible schema, its encoding is
        not UTF-8, or it has only some of the migrations that the baseline replaces.
    Forbidden
        The user is not allowed to create schemas or roles.
    """
    with connect(url, application="flitwatch migrate", autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            return _apply_pending(conn)
        except psycopg.errors.InsufficientPrivilege as problem:
            raise Forbidden(
                f"this user may not migrate the database: {problem.diag.message_primary}",
                advice="Use the database's owner with CREATEROLE, or have an administrator create the roles "
                f"{', '.join(bootstrap.ROLES)} and grant them.",
            ) from None


def _apply_pending(conn: psycopg.Connection[Any]) -> list[str]:
    _check_encoding(conn)
    _check_texts(_load_applied(conn))
    _check_replaced(_load_applied(conn))
    newer, waiting = list_newer_migrations(conn), list_pending_migrations(conn)
    _check_newer(newer)
    if newer and waiting:
        raise Conflict(
            f"the database has migration {next(iter(newer))}, which this version does not have; this version has {waiting[0]}",
            advice="Use a newer Flitwatch, which knows both.",
        )
    if newer:
        log.warning(
            "the database has a newer version's schema, which this version can use; its newest migration is %s",
            max(newer),
        )
    if not waiting:
        return []
    if conn.info.user in LOGINS:
        raise Unavailable(
            "the database does not have this version's schema yet, and a service may not migrate it",
            advice="Run `flitwatch db migrate` with the owner's login.",
        )
    with conn.transaction():
        bootstrap.prepare_database(conn)
    conn.execute("SET ROLE flitwatch_owner")
    applied = _load_applied(conn)
    done = []
    for migration in list_migrations():
        if migration.name not in applied:
            log.info("applying migration %s", migration.name)
            with conn.transaction():
                if migration.name != BASELINE or not applied:
                    conn.execute(sql.SQL(migration.text))
                _record_migration(conn, migration)
            done.append(migration.name)
    return done


def _check_encoding(conn: psycopg.Connection[Any]) -> None:
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Conflict(
            f"the database's encoding is {encoding}, which cannot store some names of jobs and users",
            advice="Recreate the database: CREATE DATABASE flitwatch ENCODING 'UTF8' TEMPLATE template0.",
        )


def _record_migration(conn: psycopg.Connection[Any], migration: Migration) -> None:
    row = [migration.name, migration.digest, migration.oldest]
    conn.execute("INSERT INTO migration (name, digest, oldest) VALUES (%s, %s, %s)", row)


def _check_texts(applied: Mapping[str, tuple[str, str | None]]) -> None:
    for migration in list_migrations():
        if migration.name in applied and applied[migration.name][0] != migration.digest:
            raise Conflict(
                f"migration {migration.name} was applied with another text", advice="Restore the released file."
            )


def digest_names(digests: Mapping[str, str]) -> str:
    """Return a digest of the names and digests of files, in order."""
    return hashlib.sha256("".join(f"{name} {digests[name]}\n" for name in sorted(digests)).encode()).hexdigest()


def _check_replaced(applied: Mapping[str, tuple[str, str | None]]) -> None:
    replaced = {name: digest for name, (digest, _) in applied.items() if name < BASELINE}
    if replaced and (len(replaced), digest_names(replaced)) != REPLACED:
        raise Conflict(
            f"the database has {len(replaced)} of the {REPLACED[0]} migrations from before 0.1.0, or has them with another text",
            advice="Migrate it with commit 407a956e, the last one before the baseline, and then with this version.",
        )


def _check_newer(newer: Mapping[str, str | None]) -> None:
    ends = list_ending_migrations(newer)
    if ends:
        raise Conflict(
            f"the database has a newer version's schema: migration {ends[0]} ended this version",
            advice="Use the newer Flitwatch, or restore the backup from before the upgrade.",
        )


async def list_misfit_migrations(conn: Connection) -> tuple[list[str], list[str]]:
    """Return the names of this version's missing migrations, and of newer incompatible ones."""
    row = await (await conn.execute("SELECT to_regclass('flitwatch.migration') IS NOT NULL")).fetchone()
    names = [m.name for m in list_migrations()]
    if row is None or not row[0]:
        return names, []
    applied = {name: oldest for name, _, oldest in await (await conn.execute(APPLIED)).fetchall()}
    newer = {name: oldest for name, oldest in applied.items() if name not in names and name > BASELINE}
    return [name for name in names if name not in applied], list_ending_migrations(newer)
