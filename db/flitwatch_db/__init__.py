"""Tables, migrations and queries: the only package that speaks SQL about Flitwatch's data."""

from flitwatch_db.connection import async_pool, connect, conninfo, pool
from flitwatch_db.editions import Edition, edition

__all__ = ["Edition", "async_pool", "connect", "conninfo", "edition", "pool"]
