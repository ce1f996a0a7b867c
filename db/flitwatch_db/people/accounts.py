"""Accounts, sessions and tokens, and the key of pseudonyms. Functions need a connection with role `gate`."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import psycopg
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from flitwatch_db.core.columns import Connection
from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.access import (
    PASSWORD_MAX,
    ROLES,
    SCOPES,
    SCOPES_OF,
    TOKEN_DAYS,
    TOKEN_DAYS_MAX,
    Caller,
    check_name,
    check_password,
)
from flitwatch_domain.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthenticated, Unavailable

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

SESSION = timedelta(hours=12)
TOKEN_PREFIX = "fwt_"

# The library's defaults are RFC 9106's second choice: 64 MiB and three passes.
_HASHER = PasswordHasher()
#: Verified if the account does not exist, so that the answer takes as long.
_NOBODY = _HASHER.hash(secrets.token_urlsafe(16))


def hash_secret(secret: str) -> bytes:
    """Hash a session's or a token's secret for storage."""
    return hashlib.sha256(secret.encode()).digest()


def add_account(conn: Conn, name: str, role: str, password: str | None = None) -> None:
    """Add an account; without a password, it cannot log in with one. Raise BadRequest or Conflict."""
    if role not in ROLES:
        raise BadRequest(f"there is no role {role[:40]!r}", advice=f"Roles: {', '.join(ROLES)}.")
    check_name(name)
    if password is not None:
        check_password(password)
        if role == "service":
            raise BadRequest("a service has no password", advice="Create a token for it.")
    hashed = None if password is None else _HASHER.hash(password)
    try:
        with conn.transaction():
            conn.execute("INSERT INTO account (name, role, password_hash) VALUES (%s, %s, %s)", [name, role, hashed])
    except psycopg.errors.UniqueViolation:
        raise Conflict(f"account {name!r} already exists") from None


def first_admin(conn: Conn) -> str | None:
    """Create the account `admin` with a random password and return the password if there are no accounts; otherwise return None."""
    with conn.transaction():
        conn.execute("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE")
        if conn.execute("SELECT 1 FROM account LIMIT 1").fetchone():
            return None
        password = secrets.token_urlsafe(18)
        add_account(conn, "admin", "admin", password)
        return password


def list_accounts(conn: Conn) -> list[Row]:
    """Return all accounts by name, without their secrets."""
    return fetch_rows(
        conn,
        "SELECT name, role, disabled, password_hash IS NOT NULL AS password, issuer, created_at AS created, seen_at AS seen,"
        " (SELECT count(*) FROM token t WHERE t.account_id = a.account_id AND revoked_at IS NULL AND expires_at > now()) AS tokens"
        " FROM account a ORDER BY name",
    )


def change_account(conn: Conn, name: str, *, role: str | None = None, disabled: bool | None = None) -> None:
    """Change an account's role, or disable or enable it. Its sessions end, and an account that becomes a service loses its password. Raise BadRequest
    or NotFound. Raise Conflict if it is the last admin who can log in."""
    if role is not None and role not in ROLES:
        raise BadRequest(f"there is no role {role[:40]!r}", advice=f"Roles: {', '.join(ROLES)}.")
    with conn.transaction():
        conn.execute("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE")
        account = _find_account(conn, name)
        conn.execute(
            "UPDATE account SET role = coalesce(%(role)s, role), disabled = coalesce(%(disabled)s, disabled),"
            " password_hash = CASE WHEN 'service' NOT IN (role, coalesce(%(role)s, role)) THEN password_hash END"
            " WHERE account_id = %(account)s",
            {"role": role, "disabled": disabled, "account": account["account_id"]},
        )
        _check_admins(conn, account)
        conn.execute("DELETE FROM session WHERE account_id = %s", [account["account_id"]])


def _check_admins(conn: Conn, held: Row) -> None:
    """Raise Conflict if the change removes the last admin who can log in, or the last admin if none can."""
    other_admin = conn.execute(
        "SELECT 1 FROM account WHERE role = 'admin' AND NOT disabled AND (NOT %s OR password_hash IS NOT NULL OR issuer IS NOT NULL)",
        [held["logs_in"]],
    ).fetchone()
    if held["role"] == "admin" and not held["disabled"] and not other_admin:
        raise Conflict(
            f"this is the last admin{' who can log in' if held['logs_in'] else ''}",
            advice="Make another account with a password admin first.",
        )


def has_account(conn: Conn, name: str) -> bool:
    """Return whether an account with that name exists."""
    return conn.execute("SELECT 1 FROM account WHERE name = %s", [name]).fetchone() is not None


def has_password(conn: Conn, name: str) -> bool:
    """Return whether the account with that name is a local one with a password."""
    row = conn.execute(
        "SELECT 1 FROM account WHERE name = %s AND password_hash IS NOT NULL", [name.replace("\0", "")]
    ).fetchone()
    return row is not None


def remove_account(conn: Conn, name: str) -> None:
    """Delete an account with its sessions and tokens. A user of the centre's own login gets a new account at the next login. Raise NotFound or
    Conflict."""
    with conn.transaction():
        conn.execute("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE")
        account = _find_account(conn, name)
        conn.execute("DELETE FROM account WHERE account_id = %s", [account["account_id"]])
        _check_admins(conn, account)


def rename_account(conn: Conn, name: str, new: str) -> None:
    """Rename an account, so that its old name is free; its sessions end. Raise BadRequest, NotFound or Conflict."""
    check_name(new)
    account = _find_account(conn, name)
    try:
        with conn.transaction():
            conn.execute("UPDATE account SET name = %s WHERE account_id = %s", [new, account["account_id"]])
            conn.execute("DELETE FROM session WHERE account_id = %s", [account["account_id"]])
    except psycopg.errors.UniqueViolation:
        raise Conflict(f"account {new!r} already exists") from None


def set_password(conn: Conn, name: str, password: str) -> None:
    """Change an account's password. Its sessions end. Raise BadRequest or NotFound."""
    check_password(password)
    account = _find_account(conn, name)
    if account["role"] == "service":
        raise BadRequest("a service has no password", advice="Create a token for it.")
    if account["issuer"] is not None:
        raise BadRequest(f"{account['issuer']} manages this account's password, so it cannot be changed here")
    with conn.transaction():
        conn.execute(
            "UPDATE account SET password_hash = %s WHERE account_id = %s",
            [_HASHER.hash(password), account["account_id"]],
        )
        conn.execute("DELETE FROM session WHERE account_id = %s", [account["account_id"]])


def log_in(conn: Conn, name: str, password: str) -> tuple[str, datetime]:
    """Check a password and start a session; return its secret and its end. Raise Unauthenticated if the password is wrong, or the account is missing,
    disabled or a service's; the caller does not learn which."""
    row = conn.execute(
        "SELECT account_id, password_hash, disabled OR role = 'service' FROM account WHERE name = %s",
        [name.replace("\0", "")],
    ).fetchone()
    number, hashed, refused = row if row else (None, None, False)
    try:
        _HASHER.verify(hashed or _NOBODY, password[: PASSWORD_MAX + 1])
        right = hashed is not None and not refused
    except (VerifyMismatchError, InvalidHashError):
        right = False
    if not right or hashed is None or number is None:
        raise Unauthenticated(
            "name or password is wrong", advice="An admin can set a new password: flitwatch users passwd NAME."
        )
    if _HASHER.check_needs_rehash(hashed):
        conn.execute("UPDATE account SET password_hash = %s WHERE account_id = %s", [_HASHER.hash(password), number])
    return begin_session(conn, number)


def cookie_key(conn: Conn) -> bytes:
    """Return the key for signing this site's cookies; Unavailable if it was removed."""
    row = conn.execute("SELECT key FROM seal_key").fetchone()
    if row is None:
        raise Unavailable(
            "the site's key for signed cookies is missing", advice="Restore table seal_key from a backup."
        )
    return bytes(row[0])


def begin_session(conn: Conn, account_id: int) -> tuple[str, datetime]:
    """Start a session of an account and return its secret and its end; remove expired sessions."""
    secret, ends = secrets.token_urlsafe(32), datetime.now(UTC) + SESSION
    with conn.transaction():
        conn.execute("DELETE FROM session WHERE expires_at < now()")
        conn.execute(
            "INSERT INTO session (digest, account_id, expires_at) VALUES (%s, %s, %s)",
            [hash_secret(secret), account_id, ends],
        )
        conn.execute("UPDATE account SET seen_at = now() WHERE account_id = %s", [account_id])
    return secret, ends


def end_session(conn: Conn, secret: str) -> None:
    conn.execute("DELETE FROM session WHERE digest = %s", [hash_secret(secret)])


#: Callers by digests of sessions or tokens. A token's last use is recorded only if its row is not locked, so that concurrent lookups do
#: not wait.
OF_SESSIONS = (
    "SELECT s.digest, a.name, a.role, a.account_id, a.issuer, s.expires_at FROM session s JOIN account a USING (account_id)"
    " WHERE s.digest = ANY(%s) AND s.expires_at > now() AND NOT a.disabled AND a.role <> 'service'"
)
OF_TOKENS = (
    "WITH good AS (SELECT t.digest, a.name, a.role, t.scopes, t.token_id, t.expires_at FROM token t JOIN account a USING (account_id)"
    " WHERE t.digest = ANY(%s) AND t.revoked_at IS NULL AND t.expires_at > now() AND NOT a.disabled), free AS"
    " (SELECT token_id FROM token WHERE token_id IN (SELECT token_id FROM good) FOR NO KEY UPDATE SKIP LOCKED), used AS"
    " (UPDATE token SET used_at = now() WHERE token_id IN (SELECT token_id FROM free)) SELECT * FROM good"
)


def session_caller(row: Sequence[Any]) -> Caller:
    """Return the caller in a row of OF_SESSIONS."""
    _, name, role, account_id, issuer, ends = row
    return Caller(name, role, "session", frozenset(SCOPES_OF[role]), f"account {account_id}", issuer, ends)


def token_caller(row: Sequence[Any]) -> Caller:
    """Return the caller in a row of OF_TOKENS."""
    _, name, role, scopes, token_id, ends = row
    return Caller(name, role, "token", frozenset(scopes) & frozenset(SCOPES_OF[role]), f"token {token_id}", ends=ends)


def of_session(conn: Conn, secret: str) -> Caller | None:
    """Return the caller of a session; None if it ended, or its account is disabled or a service's."""
    row = conn.execute(OF_SESSIONS, [[hash_secret(secret)]]).fetchone()
    return None if row is None else session_caller(row)


def add_token(
    conn: Conn, name: str, label: str, scopes: Sequence[str], days: float = TOKEN_DAYS
) -> tuple[int, str, datetime]:
    """Create a token for an account; return its number, its secret (shown once, stored hashed) and its expiry. Raise BadRequest if a scope does not
    exist or is not in the account's role, or the lifetime exceeds a year. Raise NotFound."""
    account = _find_account(conn, name)
    token_scopes = sorted(set(scopes), key=lambda scope: SCOPES.index(scope) if scope in SCOPES else -1)
    beyond = [scope for scope in token_scopes if scope not in SCOPES_OF[account["role"]]]
    if beyond or not token_scopes:
        raise BadRequest(
            f"an account of role {account['role']} cannot grant {', '.join(s[:20] for s in beyond) or 'no scope'}",
            advice=f"Scopes it has: {', '.join(SCOPES_OF[account['role']])}.",
        )
    if not 0 < days <= TOKEN_DAYS_MAX:
        raise BadRequest(f"a token can last at most {TOKEN_DAYS_MAX} days")
    if not 1 <= len(label) <= 200 or not label.isprintable():
        raise BadRequest("a token's label must have 1 to 200 printable characters")
    secret, ends = TOKEN_PREFIX + secrets.token_urlsafe(32), datetime.now(UTC) + timedelta(days=days)
    row = conn.execute(
        "INSERT INTO token (account_id, label, digest, scopes, expires_at) VALUES (%s, %s, %s, %s, %s) RETURNING token_id",
        [account["account_id"], label, hash_secret(secret), token_scopes, ends],
    ).fetchone()
    assert row is not None
    return row[0], secret, ends


def list_tokens(conn: Conn, name: str | None = None) -> list[Row]:
    """Return tokens of an account, or all, newest first, without their secrets."""
    return fetch_rows(
        conn,
        "SELECT t.token_id, a.name AS account, a.role, t.label, t.scopes, t.created_at AS created, t.expires_at AS expires,"
        " t.revoked_at AS revoked, t.used_at AS used FROM token t JOIN account a USING (account_id)"
        " WHERE %(name)s::text IS NULL OR a.name = %(name)s ORDER BY t.token_id DESC LIMIT 1000",
        {"name": name},
    )


def revoke_token(conn: Conn, token_id: int, name: str | None = None) -> None:
    """Revoke a token; with `name` only if it belongs to that account. Raise NotFound otherwise."""
    done = conn.execute(
        "UPDATE token t SET revoked_at = coalesce(revoked_at, now()) FROM account a WHERE a.account_id = t.account_id AND token_id = %(id)s"
        " AND (%(name)s::text IS NULL OR a.name = %(name)s)",
        {"id": token_id, "name": name},
    )
    if not done.rowcount:
        raise NotFound(f"there is no token {token_id}", advice="`flitwatch tokens list` lists them.")


def of_provider(conn: Conn, issuer: str, subject: str, name: str, role: str | None) -> tuple[int, str]:
    """Return number and name of the account of a user authenticated by a provider; it is created at the first login and keeps its name.

    Parameters
    ----------
    role : str or None
        Current role according to the provider; None: roles are assigned in Flitwatch, at first `user`.

    Raises
    ------
    BadRequest
        The name is not valid for an account.
    Forbidden
        The account is disabled or a service's, or the name belongs to another account: an equal name does not give access to it.
    """
    with conn.transaction():
        row = conn.execute(
            "SELECT account_id, name, disabled, role FROM account WHERE issuer = %s AND subject = %s FOR UPDATE",
            [issuer, subject],
        ).fetchone()
        if row is None:
            return _first_login(conn, issuer, subject, name, role or "user"), name
        if row[2]:
            raise Forbidden("this account is disabled", advice="Ask an admin of this site.")
        if row[3] == "service":
            raise Forbidden("this account is a service, which cannot log in", advice="Ask an admin of this site.")
        if role is not None and row[3] != role:
            conn.execute("UPDATE account SET role = %s WHERE account_id = %s", [role, row[0]])
            conn.execute("DELETE FROM session WHERE account_id = %s", [row[0]])
        return int(row[0]), str(row[1])


def _first_login(conn: Conn, issuer: str, subject: str, name: str, role: str) -> int:
    check_name(name)
    row = conn.execute(
        "INSERT INTO account (name, role, issuer, subject) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING account_id",
        [name, role, issuer, subject],
    ).fetchone()
    if row is None:
        raise Forbidden(
            f"the name {name[:80]!r} belongs to another account of this site",
            advice="An admin of this site can free the name: flitwatch users rename. Accounts are never taken over.",
        )
    return int(row[0])


def _find_account(conn: Conn, name: str) -> Row:
    rows = fetch_rows(
        conn,
        "SELECT account_id, role, disabled, issuer, password_hash IS NOT NULL OR issuer IS NOT NULL AS logs_in FROM account WHERE name = %s",
        [name.replace("\0", "")],
    )
    if not rows:
        raise NotFound(f"there is no account {name[:80]!r}", advice="`flitwatch users list` lists them.")
    return rows[0]


#: Kind of a secret, and its digest.
Secret = tuple[Literal["session", "token"], bytes]


async def find_callers(conn: Connection, asked: Collection[Secret]) -> dict[Secret, Caller]:
    """Return the callers of sessions and tokens, with one statement per kind.

    Returns
    -------
    dict
        Unknown, expired and revoked secrets, and those of disabled accounts, are omitted.
    """
    by_secret: dict[Secret, Caller] = {}
    sessions, tokens = ([digest for kind, digest in asked if kind == which] for which in ("session", "token"))
    if sessions:
        async for row in await conn.execute(OF_SESSIONS, [sessions]):
            by_secret["session", bytes(row[0])] = session_caller(row)
    if tokens:
        async for row in await conn.execute(OF_TOKENS, [tokens]):
            by_secret["token", bytes(row[0])] = token_caller(row)
    return by_secret


async def pseudonym_key(conn: Connection) -> str:
    """Return the site's own key for pseudonyms, which the first migration creates; empty if it was removed."""
    cursor = await conn.execute("SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key'")
    row = await cursor.fetchone()
    return str(row[0] or "") if row is not None else ""


async def knows_only_simulated(conn: Connection) -> bool:
    """Return whether all machines, jobs and runs of the site are simulated, so that names are not those of real persons."""
    cursor = await conn.execute("""
        SELECT EXISTS (SELECT FROM fabric) AND NOT EXISTS (SELECT FROM fabric WHERE NOT simulated)
           AND NOT EXISTS (SELECT FROM job WHERE NOT simulated) AND NOT EXISTS (SELECT FROM run WHERE NOT simulated)
    """)
    row = await cursor.fetchone()
    return row is not None and bool(row[0])
