"""The services' logins: one for each thing that is done with the database, none can become another or the tables' owner.

A service holds the passwords of the logins that it needs and of no other, in a file of its own that only its user can read.
"""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from flitwatch_domain.errors import Forbidden
from flitwatch_domain.logins import PREFIX, read_passwords

#: What each service works as, its usual login first. The owner's login is for migrations and for administrators alone.
SERVICES: dict[str, tuple[str, ...]] = {
    "api": ("reader", "writer", "gate"),
    "writer": ("writer", "reader"),
    "worker": ("writer", "reader", "keeper"),
    "alerting": ("writer", "reader"),
    "twin": ("writer", "reader"),
}
LOGINS = tuple(sorted({PREFIX + role for roles in SERVICES.values() for role in roles}))
#: Characters of a password that we drew: 32 random bytes.
DRAWN_LENGTH = 43
#: What of a URL says where the server is, or the servers of which one writes, and how they are reached.
_PLACE = ("host", "port", "hostaddr", "target_session_attrs", "connect_timeout", "sslmode", "sslrootcert")
#: One at a time sets passwords.
LOCK = 7205759403792795
#: The folder of whoever administers the database: every login's password.
OWNER = "owner"
FILE = "pgpass"


def file_of(folder: Path, service: str) -> Path:
    """The passwords of a service, or of `owner`."""
    return folder / service / FILE


def load_passwords(folder: Path) -> dict[str, str]:
    """The passwords by login that a folder holds."""
    return read_passwords(file_of(folder, OWNER), {})


def draw_passwords(folder: Path, logins: Iterable[str]) -> dict[str, str]:
    """The passwords of `logins`: those that the folder holds, and random ones for the rest; nothing is written."""
    stored_passwords = load_passwords(folder)
    return stored_passwords | {login: secrets.token_urlsafe(32) for login in logins if login not in stored_passwords}


def write_password_files(folder: Path, drawn: Mapping[str, str]) -> None:
    """Write each service's file, readable by its owner only."""
    _write_password_file(file_of(folder, OWNER), drawn)
    for service, roles in SERVICES.items():
        _write_password_file(file_of(folder, service), {PREFIX + role: drawn[PREFIX + role] for role in roles})


def _write_password_file(file: Path, drawn: Mapping[str, str]) -> None:
    text = "".join(f"*:*:*:{login}:{password}\n" for login, password in sorted(drawn.items()))
    if file.exists() and file.read_text() == text:
        return
    file.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    fresh.replace(file)


def grant_logins(conn: psycopg.Connection[Any], drawn: Mapping[str, str]) -> None:
    """Let logins log in with these passwords, whose plain texts the server never sees; a login that is absent is made."""
    with conn.transaction():
        # Rounds make weak passwords dear to guess; ours are of 256 random bits, and a connection need not cost milliseconds.
        if min(map(len, drawn.values())) >= DRAWN_LENGTH:
            conn.execute("SET LOCAL scram_iterations = 64")
        for login, password in drawn.items():
            row = conn.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [login]).fetchone()
            verifier = conn.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
            # Whoever is let in may change their own password, and nothing else of themselves.
            what = {
                None: "CREATE ROLE {} LOGIN PASSWORD {}",
                False: "ALTER ROLE {} LOGIN PASSWORD {}",
                True: "ALTER ROLE {} PASSWORD {}",
            }
            conn.execute(sql.SQL(what[row and row[0]]).format(sql.Identifier(login), sql.Literal(verifier)))


def set_up(url: str, folder: Path, own: bool = False, viewer: tuple[str, str] | None = None) -> dict[str, str]:
    """Give the services of a migrated database logins of their own; return each service's URL, which holds no password.

    Safe to call again: passwords that the folder holds stay.

    Parameters
    ----------
    url : str
        With a login that may create roles, or has ADMIN OPTION on those of Flitwatch.
    folder : Path
        Holds `SERVICE/pgpass` afterwards, of mode 0600 each, and `owner/pgpass`, which knows them all.
    own : bool
        Also give the login of `url` itself a random password, known to `owner/pgpass` only: one that everyone knows is no lock.
    viewer : (str, str), optional
        Name and password of a further login that reads what `flitwatch_reader` does: for Grafana and the like.

    Raises
    ------
    Forbidden
        The login may not change the roles.
    Unavailable
        The database does not answer.
    """
    from flitwatch_db.core.connection import connect

    folder = folder.absolute()
    with connect(url, application="flitwatch logins", autocommit=True) as conn:
        login_names = [*LOGINS, *([conn.info.user] if own else [])]
        drawn = draw_passwords(folder, login_names)
        try:
            with conn.transaction():
                # Of several that start at once: roles cannot be altered by two.
                conn.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
                grant_logins(conn, {login: drawn[login] for login in login_names})
                if viewer is not None:
                    grant_logins(conn, dict([viewer]))
                    conn.execute(
                        sql.SQL("GRANT flitwatch_reader TO {} WITH INHERIT TRUE, SET FALSE").format(
                            sql.Identifier(viewer[0])
                        )
                    )
                # Within: a login whose new password is written nowhere lets nobody in.
                write_password_files(folder, drawn)
        except psycopg.errors.InsufficientPrivilege as problem:
            raise Forbidden(
                f"this login cannot change the services' logins: {problem.diag.message_primary}",
                advice=f"Ask a superuser to run the same command, or this: "
                f"{'; '.join(f'GRANT {login} TO {conn.info.user} WITH ADMIN OPTION' for login in LOGINS)}.",
            ) from None
    return {service: url_of(url, folder, service) for service in (*SERVICES, OWNER)}


def url_of(url: str, folder: Path, service: str) -> str:
    """The URL that a service takes: the server and database of `url`, the service's usual login, the place of its passwords."""
    parameters = conninfo_to_dict(url)
    login = str(parameters.get("user") or getpass.getuser()) if service == OWNER else PREFIX + SERVICES[service][0]
    place = {key: parameters.get(key) for key in _PLACE} | {"passfile": str(file_of(folder, service))}
    return make_url(login, str(parameters.get("dbname") or parameters.get("user")), place)


def url_for(url: str, service: str) -> str:
    """The URL of a service, from an owner's that names the owner's file of passwords."""
    return url_of(url, Path(str(conninfo_to_dict(url)["passfile"])).parent.parent, service)


def make_url(login: str, database: str, place: Mapping[str, str | int | None]) -> str:
    """A URL of libpq's kind, the place among its parameters."""
    query = "&".join(f"{key}={quote(str(value), safe='/')}" for key, value in place.items() if value is not None)
    return f"postgresql://{quote(login, safe='')}@/{quote(database, safe='')}?{query}"


def grant_ownership(conn: psycopg.Connection[Any]) -> None:
    """Have login `flitwatch`, which makes the tables, create databases and grant the services' roles."""
    conn.execute("ALTER ROLE flitwatch CREATEDB CREATEROLE")
    for login in LOGINS:
        conn.execute(sql.SQL("GRANT {} TO flitwatch WITH ADMIN OPTION").format(sql.Identifier(login)))


def create_database(conn: psycopg.Connection[Any]) -> None:
    """Create database `flitwatch` unless it exists; the connection commits each statement automatically."""
    if not conn.execute("SELECT 1 FROM pg_database WHERE datname = 'flitwatch'").fetchone():
        conn.execute("CREATE DATABASE flitwatch OWNER flitwatch")
