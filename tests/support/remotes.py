"""What one platform needs to read another."""

from __future__ import annotations

from pathlib import Path

from flitwatch_db import connect
from flitwatch_db.people import accounts as people


def token_file(folder: Path, url: str, *scopes: str, name: str = "fed") -> Path:
    """A file with a token of the platform over that database, whose account may do everything."""
    with connect(url, role="gate", autocommit=True) as conn:
        if conn.execute("SELECT 1 FROM account WHERE name = %s", [name]).fetchone() is None:
            people.add_account(conn, name, "admin")
        secret = people.add_token(conn, name, "remote", scopes)[1]
    path = folder / f"{'-'.join(scopes)}.token"
    path.write_text(secret + "\n")
    path.chmod(0o600)
    return path
