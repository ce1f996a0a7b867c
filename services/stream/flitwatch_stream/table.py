"""Log as a PostgreSQL table (schema `log`), for the embedded stack: it needs no other software.

Appenders lock their partitions' rows until the commit, so offsets have no gaps and become visible in order. A NOTIFY wakes readers. The migration
`log` of flitwatch_db defines the tables.
"""

from __future__ import annotations

from typing import Any

import psycopg

from flitwatch_domain.errors import NotFound
from flitwatch_stream.log import (
    DEFAULT_PARTITIONS,
    Consumer,
    Log,
    Producer,
    Subscription,
)
from flitwatch_stream.table_connection import make_unavailable, open_connection


class TableLog(Log):
    def __init__(self, url: str) -> None:
        self.url = url
        self._conn: psycopg.Connection[Any] | None = None

    def _run_query(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        if self._conn is None or self._conn.closed:
            self._conn = open_connection(self.url, "flitwatch log")
        try:
            return self._conn.execute(query.encode(), parameters).fetchall()
        except psycopg.Error as problem:
            self.close()
            raise make_unavailable(problem) from None

    def producer(self, client: str = "flitwatch") -> Producer:
        from flitwatch_stream.table_producer import TableProducer

        return TableProducer(self.url, client)

    def _join_group(self, subscription: Subscription) -> Consumer:
        from flitwatch_stream.table_consumer import TableConsumer

        return TableConsumer(self.url, subscription)

    def identity(self) -> str:
        return str(self._run_query("SELECT log_id FROM identity")[0][0])

    def topics(self) -> dict[str, int]:
        return dict(self._run_query("SELECT name, partitions FROM topic ORDER BY name"))

    def create_topic(self, name: str, partitions: int | None = None) -> None:
        self._run_query("SELECT ensure_topic(%s, %s)", name, partitions or DEFAULT_PARTITIONS)

    def end_offsets(self, topic: str) -> list[int]:
        rows = self._run_query(
            "SELECT next_offset FROM partition JOIN topic USING (topic_id) WHERE name = %s ORDER BY partition", topic
        )
        if not rows:
            raise NotFound(f"no topic {topic!r}")
        return [row[0] for row in rows]

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
