"""Tables, migrations and queries: the only package that speaks SQL about Flitwatch's data. A folder a noun, reads and writes together.

Modules named `reads` and `*_reads` are the API's queries: asynchronous, read-only, big answers as numpy columns. Every statement is a
constant or composed of `psycopg.sql` identifiers that are in this package; what a caller sends travels as a parameter.
"""

from flitwatch_db.core.connection import async_pool, build_conninfo, connect, connect_async
from flitwatch_db.core.editions import Edition, detect_edition

__all__ = ["Edition", "async_pool", "build_conninfo", "connect", "connect_async", "detect_edition"]
