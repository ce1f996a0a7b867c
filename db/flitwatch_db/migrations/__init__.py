"""Dated migrations in plain SQL, each applied once, in order, by one process at a time."""

from flitwatch_db.migrations.runner import (
    Migration,
    ending_those_in_use,
    list_ending_migrations,
    list_migrations,
    list_newer_migrations,
    list_pending_migrations,
    migrate_database,
)

__all__ = [
    "Migration",
    "ending_those_in_use",
    "list_ending_migrations",
    "list_migrations",
    "list_newer_migrations",
    "list_pending_migrations",
    "migrate_database",
]
