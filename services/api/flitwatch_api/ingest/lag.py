"""Lag of the writer behind the log: the log's ends are in the database, or requested from Kafka every few seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas
from flitwatch_db.core.columns import Connection
from flitwatch_db.ingest import reads as ingest
from flitwatch_domain.errors import FlitwatchError
from flitwatch_stream.backends import open_log

log = logging.getLogger(__name__)

FRESH_S = 5.0
#: A request waits so long for the broker; what it said then is shown to the next.
WAIT_S = 1.0
#: Ends that are older than this are not shown.
STALE_S = 60.0


class LogEnds:
    """The next offset of each topic of a Kafka log.

    Parameters
    ----------
    url : str
        The log's URL; anything but `kafka://...` is left to the database.
    """

    def __init__(self, url: str) -> None:
        self._url = url if url.startswith("kafka://") else ""
        self._ends: dict[str, int] = {}
        self._at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    async def get(self, topics: Sequence[str]) -> dict[str, int]:
        """Ends by topic; a topic whose end is not known is left out."""
        if not self._url or not topics:
            return {}
        if time.monotonic() - self._at > FRESH_S and self._asking is None:
            self._asking = asyncio.create_task(self._refresh_ends(list(topics)))
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=WAIT_S)
        return dict(self._ends) if time.monotonic() - self._at < STALE_S else {}

    async def _refresh_ends(self, topics: list[str]) -> None:
        try:
            self._ends = await asyncio.to_thread(self._read_ends, topics)
            self._at = time.monotonic()
        except FlitwatchError as problem:
            log.warning("the log's ends are not known: %s", problem.message)
        finally:
            self._asking = None

    def _read_ends(self, topics: list[str]) -> dict[str, int]:
        with open_log(self._url) as source:
            there = source.topics()
            return {topic: sum(source.end_offsets(topic)) for topic in topics if topic in there}


async def list_topics(conn: Connection, ends: LogEnds, now: datetime) -> list[schemas.Topic]:
    """Topics with their lag; null where the log's end is not known."""
    rows = await ingest.list_topics(conn, now)
    end_by_topic = await ends.get([row["topic"] for row in rows if row["end"] is None])
    return [
        _with_lag(row, row["end"] if row["end"] is not None else end_by_topic.get(row["topic"]), now) for row in rows
    ]


def _with_lag(row: dict[str, Any], end: int | None, now: datetime) -> schemas.Topic:
    shown = {key: value for key, value in row.items() if key not in ("position", "moved_at", "end")}
    if end is None:
        return build_model(schemas.Topic, shown, lag_records=None, lag_s=None)
    behind = max(0, end - (row["position"] or 0))
    if not behind:
        return build_model(schemas.Topic, shown, lag_records=0, lag_s=0.0)
    waited = None if row["moved_at"] is None else max(0.0, (now - row["moved_at"]).total_seconds())
    return build_model(schemas.Topic, shown, lag_records=behind, lag_s=waited)
