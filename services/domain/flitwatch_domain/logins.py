"""Login of a PostgreSQL connection, and the source of its password.

Each of the database's roles that a service works as is a login of its own, and none can become another. A URL names a file of passwords
(`passfile`, or `PGPASSFILE`) in libpq's format, one `host:port:database:user:password` a line. A connection that asks for a role logs in as that
role where the file knows its password; if it does not, with the URL's own login, which then has to be a member of the role.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import Unavailable

PREFIX = "flitwatch_"
_FIELD = re.compile(r"((?:\\.|[^\\:])*)(?::|$)")


#: Parameters of a connection by their names in libpq.
Parameters = dict[str, str | int | None]


def log_in(given: Mapping[str, str | int | None], role: str | None) -> tuple[Parameters, str | None]:
    """Complete the parameters of a connection that is to work as `role` (without `flitwatch_`).

    Returns
    -------
    parameters : dict
        With user and password where the file of passwords knows them.
    become : str or None
        The role to take on after the log-in, where that is not the login itself.

    Raises
    ------
    Unavailable
        Everybody on the machine may read the file of passwords.
    """
    parameters = dict(given)
    file = given.get("passfile") or os.environ.get("PGPASSFILE")
    password_of = read_passwords(Path(str(file)), parameters) if file else {}
    login = None if role is None else PREFIX + role
    if login is not None and login in password_of:
        return parameters | {"user": login, "password": password_of[login]}, None
    user = parameters.get("user")
    if parameters.get("password") is None and user in password_of:
        parameters["password"] = password_of[user]
    return parameters, None if login == user else login


def read_passwords(file: Path, given: Mapping[str, Any]) -> dict[str, str]:
    """The passwords by login that a file holds for this database on one of its servers; nothing where it cannot be read."""
    try:
        with file.open(encoding="utf-8") as lines:
            if os.fstat(lines.fileno()).st_mode & stat.S_IRWXO:
                raise Unavailable(f"all users of this machine can read {file}", advice=f"Run `chmod 600 {file}`.")
            rows = [_split_fields(line.rstrip("\n")) for line in lines if line.strip() and not line.startswith("#")]
    except OSError:
        return {}
    database = given.get("dbname") or given.get("user")
    by_login: dict[str, str] = {}
    for host, port in _list_servers(given):
        for row in rows:
            if len(row) == 5 and all(
                field in ("*", str(ours)) for field, ours in zip(row, (host, port, database), strict=False)
            ):
                by_login.setdefault(row[3], row[4])
    return by_login


def _list_servers(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Host and port of each server that a connection may take; one port may stand for all."""
    hosts = str(given.get("host") or "localhost").split(",")
    ports = str(given.get("port") or "5432").split(",")
    return list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))


def _split_fields(line: str) -> list[str]:
    """A line's fields: a colon or backslash inside one has a backslash before it."""
    return [re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(line)][:5]
