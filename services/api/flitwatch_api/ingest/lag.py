"""Lag of the writer behind the log, and readiness of the process. The log's ends are in the database, or queried from Kafka every few seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import reads as ingest
from flitwatch_db.migrations.runner import list_misfit_migrations
from flitwatch_domain.errors import FlitwatchError, Unavailable
from flitwatch_stream.log import TopicPartition

#: Time that a probe waits for the database.
ANSWERS_S = 2.0


class Readiness:
    """Sends one database query for all concurrent probes.

    Parameters
    ----------
    reading : callable
        Returns a context manager with a connection of role `reader`.
    """

    def __init__(self, reading: Callable[[], AbstractAsyncContextManager[Connection]]) -> None:
        self._reading = reading
        self._asking: asyncio.Task[tuple[list[str], list[str]]] | None = None

    async def check(self) -> None:
        """Return if requests can be answered. Raise Unavailable if the database does not answer within ANSWERS_S, or this version does not support
        its tables. Raise psycopg.OperationalError if the database is unavailable."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_database())
        # Not cancelled with the probe: a cancelled statement would also wait for the server. The connection's own deadline ends it.
        done, _ = await asyncio.wait({self._asking}, timeout=ANSWERS_S)
        if not done:
            raise Unavailable(
                f"the database has not answered for {ANSWERS_S:g} s",
                advice="Check its processes: a stopped process (state T in ps) or a stalled disk prevents it from answering.",
            )
        missing, ending = self._asking.result()
        if ending:
            raise Unavailable(
                f"the database has a newer version's schema: migration {ending[0]} ended this version",
                advice="Use the newer Flitwatch.",
            )
        if missing:
            raise Unavailable(
                f"the database lacks {len(missing)} migrations, the first is {missing[0]}",
                advice="Run `flitwatch db migrate`.",
            )

    async def stop(self) -> None:
        """Wait for the last query."""
        if self._asking is not None:
            await asyncio.wait({self._asking})

    async def _ask_database(self) -> tuple[list[str], list[str]]:
        async with self._reading() as conn:
            return await list_misfit_migrations(conn)


log = logging.getLogger(__name__)

FRESH_S = 5.0
#: Time that a request waits for the broker. A later answer is used for the next request.
WAIT_S = 1.0
#: Older ends are not shown.
STALE_S = 60.0


class LogEnd(NamedTuple):
    """Next offset of a topic, and append time of its oldest unwritten record; None if there is none or the broker does not report it."""

    offset: int
    oldest_at: datetime | None


class LogEnds:
    """End of each topic of a Kafka log.

    Parameters
    ----------
    url : str
        The log's URL. For other URLs than `kafka://...`, the database provides the ends.
    """

    def __init__(self, url: str) -> None:
        self._url = url if url.startswith("kafka://") else ""
        self._ends: dict[str, LogEnd] = {}
        self._at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def get(self, places: Mapping[str, Mapping[str, int]]) -> dict[str, LogEnd]:
        """Return the ends by topic, without topics whose end is unknown. `places` are the writer's offsets by topic and partition."""
        if not self._url or not places:
            return {}
        if time.monotonic() - self._at > FRESH_S and self._asking is None:
            self._asking = asyncio.create_task(self._refresh_ends(places))
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=WAIT_S)
        return dict(self._ends) if time.monotonic() - self._at < STALE_S else {}

    async def _refresh_ends(self, places: Mapping[str, Mapping[str, int]]) -> None:
        try:
            self._ends = await asyncio.to_thread(self._read_ends, places)
            self._at = time.monotonic()
        except FlitwatchError as problem:
            log.warning("the log's ends are not known: %s", problem.message)
        finally:
            self._asking = None

    def _read_ends(self, places: Mapping[str, Mapping[str, int]]) -> dict[str, LogEnd]:
        from flitwatch_stream.kafka import KafkaLog

        with KafkaLog(self._url) as source:
            there = source.topics()
            ends = {topic: source.end_offsets(topic) for topic in places if topic in there}
            waiting = {
                TopicPartition(topic, partition): place
                for topic, offsets in ends.items()
                for partition, end in enumerate(offsets)
                if (place := places[topic].get(str(partition), 0)) < end
            }
            appended = source.read_append_times(waiting)
        oldest: dict[str, float] = {}
        for at, time_s in appended.items():
            oldest[at.topic] = min(time_s, oldest.get(at.topic, time_s))
        return {
            topic: LogEnd(sum(offsets), datetime.fromtimestamp(oldest[topic], UTC) if topic in oldest else None)
            for topic, offsets in ends.items()
        }


async def list_topics(conn: Connection, ends: LogEnds, now: datetime) -> list[schemas.Topic]:
    """Return the topics with their lag; null if the log's end is unknown."""
    rows = await ingest.list_topics(conn, now)
    end_by_topic = await ends.get({row["topic"]: row["places"] or {} for row in rows if row["end"] is None})
    return [
        _with_lag(
            row, end_by_topic.get(row["topic"]) if row["end"] is None else LogEnd(row["end"], row["oldest_at"]), now
        )
        for row in rows
    ]


def _with_lag(row: dict[str, Any], end: LogEnd | None, now: datetime) -> schemas.Topic:
    shown = {key: value for key, value in row.items() if key not in ("position", "places", "end", "oldest_at")}
    if end is None:
        return build_model(schemas.Topic, shown, lag_records=None, lag_s=None)
    behind = max(0, end.offset - (row["position"] or 0))
    if not behind:
        return build_model(schemas.Topic, shown, lag_records=0, lag_s=0.0)
    waited = None if end.oldest_at is None else max(0.0, (now - end.oldest_at).total_seconds())
    return build_model(schemas.Topic, shown, lag_records=behind, lag_s=waited)
