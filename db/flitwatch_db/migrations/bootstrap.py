"""Prerequisites of the first migration: roles, schemas, and TimescaleDB if available on the server."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from psycopg import sql

from flitwatch_db.core.connection import detect_edition

log = logging.getLogger(__name__)

#: Services' roles become logins once they have passwords (`flitwatch_db.core.logins`); the owner of the tables never has one.
ROLES = ("flitwatch_owner", "flitwatch_writer", "flitwatch_reader", "flitwatch_gate", "flitwatch_keeper")


def prepare_database(conn: psycopg.Connection[Any]) -> None:
    """Create missing objects; call it in a transaction, as the login user."""
    for role in ROLES:
        _create_role(conn, role)
        # The migrating user can then act as each of them.
        if not _fetch_value(
            conn, "SELECT pg_has_role(current_user, %s, 'USAGE') AND pg_has_role(current_user, %s, 'SET')", role, role
        ):
            conn.execute(sql.SQL("GRANT {} TO current_user").format(sql.Identifier(role)))
    if not _fetch_value(conn, "SELECT has_database_privilege('flitwatch_owner', current_database(), 'CREATE')"):
        database = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("GRANT CREATE, TEMPORARY ON DATABASE {} TO flitwatch_owner").format(database))
        conn.execute(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO flitwatch_writer").format(database))
    _create_timescale(conn)
    if detect_edition(conn) == "timescale":
        _let_policies_run(conn)
    conn.execute("SET LOCAL ROLE flitwatch_owner")
    for schema in ("flitwatch", "flitwatch_chunk"):
        if not _fetch_value(conn, "SELECT to_regnamespace(%s) IS NOT NULL", schema):
            conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    conn.execute("GRANT USAGE ON SCHEMA flitwatch TO flitwatch_reader, flitwatch_writer")
    conn.execute(
        "CREATE TABLE IF NOT EXISTS flitwatch.migration"
        " (name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(), oldest text)"
    )
    conn.execute("GRANT SELECT ON flitwatch.migration TO flitwatch_reader, flitwatch_writer")


def _let_policies_run(conn: psycopg.Connection[Any]) -> None:
    """Allow the owner to log in, because the full edition runs policies as the table's owner; without a password, no user can use that login."""
    if _fetch_value(conn, "SELECT rolcanlogin FROM pg_roles WHERE rolname = 'flitwatch_owner'"):
        return
    try:
        with conn.transaction():
            conn.execute("ALTER ROLE flitwatch_owner LOGIN PASSWORD NULL")
    except psycopg.errors.InsufficientPrivilege as problem:
        log.warning(
            "nothing old will be dropped, for the tables' owner cannot log in: have an administrator run "
            "ALTER ROLE flitwatch_owner LOGIN PASSWORD NULL (%s)",
            problem.diag.message_primary,
        )


def _fetch_value(conn: psycopg.Connection[Any], query: str, *parameters: Any) -> Any:
    row = conn.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None


def _create_role(conn: psycopg.Connection[Any], role: str) -> None:
    if _fetch_value(conn, "SELECT 1 FROM pg_roles WHERE rolname = %s", role):
        return
    try:
        with conn.transaction():
            conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        # Roles belong to the server, the migration lock to the database: another database's migrator created it first.
        log.debug("role %s was created meanwhile", role)


def _create_timescale(conn: psycopg.Connection[Any]) -> None:
    if _fetch_value(conn, "SELECT count(*) = 0 FROM pg_available_extensions WHERE name = 'timescaledb'"):
        return
    try:
        with conn.transaction():
            conn.execute("CREATE EXTENSION IF NOT EXISTS timescaledb")
    except psycopg.Error as problem:
        # Installed but not preloaded, or reserved to administrators: plain partitions are sufficient.
        log.warning("TimescaleDB is installed but cannot be used: %s", problem.diag.message_primary or problem)
