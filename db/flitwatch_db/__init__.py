"""Tables, migrations and queries: the only package with SQL for Flitwatch's data. Each folder covers one noun, reads and writes together.

Modules named `reads` and `*_reads` are the API's queries: asynchronous and read-only, with large answers as numpy columns. Every statement is a
constant, or composed of `psycopg.sql` identifiers from this package; callers' values are passed as parameters.
"""

from flitwatch_db.core.connection import Edition, async_pool, build_conninfo, connect, connect_async, detect_edition

__all__ = ["Edition", "async_pool", "build_conninfo", "connect", "connect_async", "detect_edition"]
