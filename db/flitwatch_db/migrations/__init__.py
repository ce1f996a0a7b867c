"""Dated migrations in plain SQL, applied once each, in order, by one process at a time."""

from flitwatch_db.migrations.runner import Migration, available, migrate, pending

__all__ = ["Migration", "available", "migrate", "pending"]
