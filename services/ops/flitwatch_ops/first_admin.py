"""The first admin: a random password in a file that only this user can read; never a default one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flitwatch_ops.home import home_folder

FILE = "admin-secret"


def ensure_admin(url: str) -> Path | None:
    """Make the account `admin` if the database has no account; return the file with its password.

    Where no file can be written (read-only containers) the password is printed once, on standard error.
    """
    from flitwatch_db import connect
    from flitwatch_db.people import accounts as people
    from flitwatch_db.people import audit

    with connect(url, role="gate", application="flitwatch accounts") as conn:
        password = people.first_admin(conn)
        if password is None:
            return None
        audit.by_command(conn, "users add", "admin", role="admin", first=True)
    path = home_folder() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(password + "\n")
    except OSError:
        print(f"flitwatch: first start: account admin, password {password} (shown once)", file=sys.stderr)
        return None
    print(f"flitwatch: first start: the password of the account admin is in {path}", file=sys.stderr)
    return path
