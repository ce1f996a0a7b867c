"""The task queue's objects: procrastinate's own schema and migrations, in schema `queue`."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import sql

#: Which of procrastinate's migrations the schema holds: key of table `setting`.
KEY = "queue_schema"


def _migrations() -> list[Traversable]:
    folder = resources.files("procrastinate") / "sql" / "migrations"
    return sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)


def _installed(conn: psycopg.Connection[Any]) -> str | None:
    if conn.execute("SELECT to_regclass('flitwatch.setting')").fetchone() == (None,):
        return None
    row = conn.execute("SELECT value #>> '{}' FROM flitwatch.setting WHERE key = %s", [KEY]).fetchone()
    return row[0] if row else None


def pending(conn: psycopg.Connection[Any]) -> list[str]:
    """What `apply` would do, as names."""
    installed = _installed(conn)
    files = _migrations()
    if installed is None:
        return [f"queue {files[-1].name.removesuffix('.sql')}"]
    return [f"queue {f.name.removesuffix('.sql')}" for f in files if f.name > installed]


def apply(conn: psycopg.Connection[Any]) -> list[str]:
    """Install procrastinate's schema, or the migrations that a newer procrastinate brought; return their names."""
    names = pending(conn)
    if not names:
        return []
    installed = _installed(conn)
    files = _migrations()
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
            conn.execute(
                "INSERT INTO flitwatch.setting VALUES (%s, to_jsonb(%s::text)) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [KEY, version],
            )
    with conn.transaction():
        conn.execute("GRANT USAGE ON SCHEMA queue TO flitwatch_writer")
        conn.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO flitwatch_writer")
        conn.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA queue TO flitwatch_writer")
        # Retention deletes what is over.
        conn.execute("GRANT USAGE ON SCHEMA queue TO flitwatch_keeper")
        conn.execute("GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO flitwatch_keeper")
    return names
