"""Passwords are stored as argon2id hashes with the second recommended parameters of RFC 9106."""

from __future__ import annotations

from flitwatch_db import connect
from flitwatch_db.people import accounts


def test_a_password_is_hashed_with_64_mib_and_three_passes(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        accounts.add_account(conn, "ada", "user", "correct horse battery")
        (hashed,) = conn.execute("SELECT password_hash FROM account WHERE name = 'ada'").fetchone()  # type: ignore[misc]
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
