"""The task queue's objects: procrastinate's own schema and migrations, in schema `queue`."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import sql

#: Which of procrastinate's migrations the schema holds: key of table `setting`.
KEY = "queue_schema"
#: The newest of them that an older procrastinate does not work with: key of table `setting`.
ENDING_KEY = "queue_ending"


def _list_migrations() -> list[Traversable]:
    folder = resources.files("procrastinate") / "sql" / "migrations"
    return sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)


def ends_older(name: str) -> bool:
    """Procrastinate's files are to be applied before (`pre`) or after (`post`) its code is replaced: those before leave the older code working."""
    return "_pre_" not in name


def _read_setting(conn: psycopg.Connection[Any], key: str) -> str | None:
    if conn.execute("SELECT to_regclass('flitwatch.setting')").fetchone() == (None,):
        return None
    row = conn.execute("SELECT value #>> '{}' FROM flitwatch.setting WHERE key = %s", [key]).fetchone()
    return row[0] if row else None


def _write_setting(conn: psycopg.Connection[Any], key: str, value: str) -> None:
    conn.execute(
        "INSERT INTO flitwatch.setting VALUES (%s, to_jsonb(%s::text)) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [key, value],
    )


def find_ending(conn: psycopg.Connection[Any]) -> list[str]:
    """Name the migration of a newer procrastinate that this version cannot work with."""
    ended = _read_setting(conn, ENDING_KEY)
    return [f"queue {ended.removesuffix('.sql')}"] if ended and ended > _list_migrations()[-1].name else []


def list_pending(conn: psycopg.Connection[Any]) -> list[str]:
    """List the names of what `apply_migrations` would do."""
    installed = _read_setting(conn, KEY)
    files = _list_migrations()
    if installed is None:
        return [f"queue {files[-1].name.removesuffix('.sql')}"]
    return [f"queue {f.name.removesuffix('.sql')}" for f in files if f.name > installed]


def apply_migrations(conn: psycopg.Connection[Any]) -> list[str]:
    """Install procrastinate's schema, or the migrations that a newer procrastinate brought; return their names."""
    names = list_pending(conn)
    if not names:
        return []
    installed = _read_setting(conn, KEY)
    files = _list_migrations()
    texts = (
        [(resources.files("procrastinate") / "sql" / "schema.sql")]
        if installed is None
        else [f for f in files if f.name > installed]
    )
    for file in texts:
        with conn.transaction():
            conn.execute("SET LOCAL search_path = queue")
            conn.execute(sql.SQL(file.read_text("utf-8")))
            version = files[-1].name if installed is None else file.name
            _write_setting(conn, KEY, version)
            _write_setting(conn, ENDING_KEY, max(f.name for f in files if f.name <= version and ends_older(f.name)))
    with conn.transaction():
        conn.execute("GRANT USAGE ON SCHEMA queue TO flitwatch_writer")
        conn.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO flitwatch_writer")
        conn.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA queue TO flitwatch_writer")
        # Retention deletes what is over.
        conn.execute("GRANT USAGE ON SCHEMA queue TO flitwatch_keeper")
        conn.execute("GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO flitwatch_keeper")
    return names
