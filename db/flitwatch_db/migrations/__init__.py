"""Dated migrations in plain SQL, applied once each, in order, by one process at a time."""

from flitwatch_db.migrations.runner import Migration, available, ending, ending_those_in_use, migrate, newer, pending

__all__ = ["Migration", "available", "ending", "ending_those_in_use", "migrate", "newer", "pending"]
