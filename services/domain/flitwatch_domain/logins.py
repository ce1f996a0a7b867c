"""Login of a PostgreSQL connection, and the source of its password.

Each database role of a service has its own login, and cannot become another role. A URL names a password file (`passfile`, or `PGPASSFILE`) in libpq's
format, with one `host:port:database:user:password` per line. A connection for a role logs in as that role if the file contains its password. Otherwise
it uses the URL's own login, which must be a member of the role.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import Unavailable

#: Time after which unacknowledged data are given up.
GIVE_UP_MS = 20_000
_IDLE_S, _INTERVAL_S, _COUNT = 10, 5, 3

#: Parameters of libpq, for the client's end.
CLIENT: dict[str, str] = {
    "target_session_attrs": "primary",
    "keepalives_idle": str(_IDLE_S),
    "keepalives_interval": str(_INTERVAL_S),
    "keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(GIVE_UP_MS),
}

#: Settings of the session, for the server's end.
SERVER: dict[str, str] = {
    "tcp_keepalives_idle": str(_IDLE_S),
    "tcp_keepalives_interval": str(_INTERVAL_S),
    "tcp_keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(GIVE_UP_MS),
}


PREFIX = "flitwatch_"
_FIELD = re.compile(r"((?:\\.|[^\\:])*)(?::|$)")


#: Parameters of a connection by their names in libpq.
Parameters = dict[str, str | int | None]


def log_in(given: Mapping[str, str | int | None], role: str | None) -> tuple[Parameters, str | None]:
    """Complete the parameters of a connection for `role` (without `flitwatch_`).

    Returns
    -------
    parameters : dict
        With user and password if the password file contains them.
    become : str or None
        The role to assume after login, if it differs from the login.

    Raises
    ------
    Unavailable
        All users of the machine can read the password file.
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
    """Return passwords by login from a file for this database on one of its servers; empty if the file is unreadable."""
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
    """Return host and port of each server in the parameters; one port can apply to all."""
    hosts = str(given.get("host") or "localhost").split(",")
    ports = str(given.get("port") or "5432").split(",")
    return list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))


def _split_fields(line: str) -> list[str]:
    """Split a line into fields; a backslash escapes a colon or backslash."""
    return [re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(line)][:5]
