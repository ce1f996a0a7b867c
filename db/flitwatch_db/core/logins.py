"""Logins of the services, one per purpose; none can become another login or the tables' owner.

Each service has its own file, readable only by its user, with the passwords of the logins that it needs.
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

#: Roles of each service, its usual login first. The owner's login is only for migrations and administrators.
SERVICES: dict[str, tuple[str, ...]] = {
    "api": ("reader", "writer", "gate"),
    "writer": ("writer", "reader"),
    "worker": ("writer", "reader", "keeper"),
    "alerting": ("writer", "reader"),
    "twin": ("writer", "reader"),
}
LOGINS = tuple(sorted({PREFIX + role for roles in SERVICES.values() for role in roles}))
#: Length of a generated password: 32 random bytes.
DRAWN_LENGTH = 43
#: Parameters of a URL that locate one or several servers and define how to reach them.
_PLACE = ("host", "port", "hostaddr", "target_session_attrs", "connect_timeout", "sslmode", "sslrootcert")
#: Lock that serialises setting passwords.
LOCK = 7205759403792795
#: Folder of the database administrator, with all logins' passwords.
OWNER = "owner"
FILE = "pgpass"


def file_of(folder: Path, service: str) -> Path:
    """Return the password file of a service, or of `owner`."""
    return folder / service / FILE


def load_passwords(folder: Path) -> dict[str, str]:
    """Return the passwords by login in a folder."""
    return read_passwords(file_of(folder, OWNER), {})


def draw_passwords(folder: Path, logins: Iterable[str]) -> dict[str, str]:
    """Return passwords of `logins`: those in the folder, and random ones for the rest; nothing is written."""
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
    """Create missing logins and set these passwords, without sending the plain texts to the server."""
    with conn.transaction():
        # Rounds make weak passwords expensive to guess; generated ones have 256 random bits, and should not add milliseconds to a connection.
        if min(map(len, drawn.values())) >= DRAWN_LENGTH:
            conn.execute("SET LOCAL scram_iterations = 64")
        for login, password in drawn.items():
            row = conn.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [login]).fetchone()
            verifier = conn.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
            # A login may change its own password, and no other attribute of itself.
            what = {
                None: "CREATE ROLE {} LOGIN PASSWORD {}",
                False: "ALTER ROLE {} LOGIN PASSWORD {}",
                True: "ALTER ROLE {} PASSWORD {}",
            }
            conn.execute(sql.SQL(what[row and row[0]]).format(sql.Identifier(login), sql.Literal(verifier)))


def set_up(url: str, folder: Path, own: bool = False, viewer: tuple[str, str] | None = None) -> dict[str, str]:
    """Create the services' own logins in a migrated database; return each service's URL, which contains no password.

    It is safe to call again: passwords in the folder are kept.

    Parameters
    ----------
    url : str
        URL with a login that may create roles, or has ADMIN OPTION on Flitwatch's roles.
    folder : Path
        Afterwards contains `SERVICE/pgpass`, of mode 0600 each, and `owner/pgpass` with all passwords.
    own : bool
        Also give the login of `url` a random password, stored only in `owner/pgpass`, in place of a well-known one.
    viewer : (str, str), optional
        Name and password of an additional login with the rights of `flitwatch_reader`, for example for Grafana.

    Raises
    ------
    Forbidden
        The login is not allowed to change the roles.
    Unavailable
        The database does not respond.
    """
    from flitwatch_db.core.connection import connect

    folder = folder.absolute()
    with connect(url, application="flitwatch logins", autocommit=True) as conn:
        login_names = [*LOGINS, *([conn.info.user] if own else [])]
        drawn = draw_passwords(folder, login_names)
        try:
            with conn.transaction():
                # Several processes may start at once, and two cannot alter roles concurrently.
                conn.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
                grant_logins(conn, {login: drawn[login] for login in login_names})
                if viewer is not None:
                    grant_logins(conn, dict([viewer]))
                    conn.execute(
                        sql.SQL("GRANT flitwatch_reader TO {} WITH INHERIT TRUE, SET FALSE").format(
                            sql.Identifier(viewer[0])
                        )
                    )
                # Inside the transaction: if the new password is not stored, the login must not get it.
                write_password_files(folder, drawn)
        except psycopg.errors.InsufficientPrivilege as problem:
            raise Forbidden(
                f"this login cannot change the services' logins: {problem.diag.message_primary}",
                advice=f"Ask a superuser to run the same command, or this: "
                f"{'; '.join(f'GRANT {login} TO {conn.info.user} WITH ADMIN OPTION' for login in LOGINS)}.",
            ) from None
    return {service: url_of(url, folder, service) for service in (*SERVICES, OWNER)}


def url_of(url: str, folder: Path, service: str) -> str:
    """Return a service's URL: the server and database of `url`, the service's usual login, and the path of its password file."""
    parameters = conninfo_to_dict(url)
    login = str(parameters.get("user") or getpass.getuser()) if service == OWNER else PREFIX + SERVICES[service][0]
    place = {key: parameters.get(key) for key in _PLACE} | {"passfile": str(file_of(folder, service))}
    return make_url(login, str(parameters.get("dbname") or parameters.get("user")), place)


def url_for(url: str, service: str) -> str:
    """Return the URL of a service, from an owner's URL with the owner's password file."""
    return url_of(url, Path(str(conninfo_to_dict(url)["passfile"])).parent.parent, service)


def make_url(login: str, database: str, place: Mapping[str, str | int | None]) -> str:
    """Build a URL in libpq's format, with the server's location in its parameters."""
    query = "&".join(f"{key}={quote(str(value), safe='/')}" for key, value in place.items() if value is not None)
    return f"postgresql://{quote(login, safe='')}@/{quote(database, safe='')}?{query}"


def grant_ownership(conn: psycopg.Connection[Any]) -> None:
    """Allow login `flitwatch`, which creates the tables, to create databases and to grant the services' roles."""
    conn.execute("ALTER ROLE flitwatch CREATEDB CREATEROLE")
    for login in LOGINS:
        conn.execute(sql.SQL("GRANT {} TO flitwatch WITH ADMIN OPTION").format(sql.Identifier(login)))


def create_database(conn: psycopg.Connection[Any]) -> None:
    """Create database `flitwatch` unless it exists; the connection commits each statement automatically."""
    if not conn.execute("SELECT 1 FROM pg_database WHERE datname = 'flitwatch'").fetchone():
        conn.execute("CREATE DATABASE flitwatch OWNER flitwatch")
