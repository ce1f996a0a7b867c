"""First admin account: a random password in a file that only this user can read, never a default password."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from flitwatch_ops.home import home_folder

log = logging.getLogger(__name__)

FILE = "admin-secret"


def ensure_admin(url: str) -> Path | None:
    """Create the account `admin` if the database has no account. Return the file with its password.

    If no file can be written (read-only containers), the password is logged once.
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
        log.warning("first start: account admin, password %s (shown once)", password)
        return None
    log.warning("first start: account admin, its password is in %s", path)
    return path
