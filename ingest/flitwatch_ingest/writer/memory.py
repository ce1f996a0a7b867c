"""State of a writer between two transactions. It can be rebuilt from the log at any time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg

from flitwatch_core.codec import Ledger
from flitwatch_db.core.events import CountersEvent
from flitwatch_db.counters.store import Batch as CounterBatch
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.store import Position
from flitwatch_ingest.schemas import Claims
from flitwatch_ingest.writer.batch import Batch, counter_rows
from flitwatch_ingest.writer.gaps import take_gaps
from flitwatch_ingest.writer.marks import Mark, Marks, bucket_time
from flitwatch_ingest.writer.pending_rows import PendingRows, header_text
from flitwatch_ingest.writer.places import Places
from flitwatch_ingest.writer.settings import WriterSettings
from flitwatch_ingest.writer.topic_feed import TopicFeed
from flitwatch_stream import topics
from flitwatch_stream.log import Record, TopicPartition
from flitwatch_stream.shapes import INDEXED_BYTES

#: A feed that is silent for longer does not delay the others.
QUIET_S = 15.0
#: Shorter pauses do not count as silence of the whole feed.
_PAUSE_S = 2.0
#: Share of the instances that may lag behind, so that wrong clocks do not delay everything.
_STRAGGLERS = 0.05


class Sequences:
    """The last sequence of each source that this writer has processed."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def learn(self, conn: psycopg.Connection[Any], records: Sequence[Record]) -> None:
        """Load the stored sequences of new sources in `records`."""
        unknown = {source for record in records if record.headers and (source := _source_of(record)) not in self._last}
        unknown.discard("")
        if unknown:
            stored = ingest.source_positions(conn, sorted(unknown))
            self._last |= {source: stored.get(source, -1) for source in unknown}

    def repeats(self, record: Record, moved: dict[str, int]) -> bool:
        """Return whether the record was written before. If not, make it the source's last one and add it to `moved`."""
        source, sequence = _source_of(record), header_text(record, topics.SEQUENCE)
        if not source or not sequence.isascii() or not sequence.isdigit() or len(sequence) > 18:
            return False
        number = int(sequence)
        if number <= self._last.get(source, -1):
            return True
        self._last[source] = moved[source] = number
        return False


def _source_of(record: Record) -> str:
    """Return the source of a record; empty if the name is too long for a collector."""
    source = header_text(record, topics.SOURCE)
    return source if len(source.encode()) <= INDEXED_BYTES else ""


class FeedClocks:
    """Time of the last arrival of each topic."""

    def __init__(self) -> None:
        self._heard: dict[str, float] = {}

    def record_arrival(self, topic: str) -> None:
        self._heard[topic] = time.monotonic()

    def reached_s(self, feeds: Mapping[str, TopicFeed]) -> float | None:
        """Return the epoch seconds that nearly all instances of all active feeds have passed."""
        now = time.monotonic()
        reached = []
        for topic, feed in feeds.items():
            clock_us = feed.feed.clock_us(_STRAGGLERS) if feed.counts else -1
            quiet = now - self._heard.get(topic, now)
            if clock_us >= 0:
                reached.append((quiet > QUIET_S, clock_us / 1e6 + max(0.0, quiet - _PAUSE_S)))
        heard = [clock for quiet, clock in reached if not quiet]
        return min(heard) if heard else max((clock for _, clock in reached), default=None)

    def now_us(self, topic: str, feed: TopicFeed) -> int | None:
        """Return the time of a feed's instances in microseconds: the median of their clocks plus the time since the last arrival."""
        clock_us = feed.feed.clock_us(0.5)
        if clock_us < 0:
            return None
        quiet = time.monotonic() - self._heard.get(topic, time.monotonic())
        return clock_us + int(max(0.0, quiet - _PAUSE_S) * 1e6)


class Memory:
    """Samples, sums and positions of a writer's topics."""

    def __init__(self, settings: WriterSettings) -> None:
        self.settings = settings
        self.ledger = Ledger()
        self.claims = Claims()
        self.places = Places(self.ledger, settings.fabric)
        self.feeds: dict[str, TopicFeed] = {}
        self.marks = Marks()
        self.sequences = Sequences()
        self.pending_rows = PendingRows()
        self.clocks = FeedClocks()
        self._said_through: dict[int, int] = {}

    @property
    def full(self) -> bool:
        """Return whether memory use requires a transaction."""
        pending = self.pending_rows
        rows = (
            self.ledger.rows + len(pending.observations) + len(pending.runs) + len(pending.jobs) + pending.sample_rows
        )
        return rows > self.settings.most_rows or pending.kept_bytes > self.settings.most_bytes

    @property
    def topics(self) -> set[str]:
        """The topics with samples in memory."""
        return {place.topic for place in self.marks} | self.feeds.keys()

    @property
    def half_rebuilt(self) -> bool:
        """Return whether port buckets are being rebuilt for one topic but closed for another: nothing can be written until they are complete.

        Otherwise a part would be written before the topic's positions move, and again by the next writer that rebuilds them.
        """
        marks = self.marks
        topics = {place.topic for place, mark in marks.items() if mark.replaying and place.topic in self.feeds}
        return any(marks.closed_s(topic) < self.ledger.ports_closed_s for topic in topics)

    def forget(self, names: set[str]) -> None:
        """Drop the state of topics after it was written."""
        for topic in names:
            self.feeds.pop(topic, None)
            for place in list(self.marks.of(topic)):
                del self.marks[place]
        # Another writer may take them over and return them.
        self.sequences = Sequences()

    def take(self, everything: bool) -> Batch:
        """Take the rows of the next transaction; `everything`: include unfinished port buckets.

        While memory is being rebuilt, no bucket is closed. Otherwise a part would be written, and the rest would wrongly count as written.
        """
        clock_s = self.clocks.reached_s(self.feeds)
        closed_s = self.ledger.ports_closed_s
        if not self.marks.replaying():
            if everything:
                closed_s = max(closed_s, self.ledger.newest_port_bucket())
            elif clock_s is not None:
                closed_s = max(closed_s, int(clock_s - self.settings.port_delay_s) // 10 * 10 - 10)
        self.ledger.ports_closed_s = closed_s
        for feed in self.feeds.values():
            feed.feed.ports_closed(closed_s)
        rows = counter_rows(self.ledger, self.places.fabric_ids, closed_s)
        gaps, gone = take_gaps(self.feeds.values())
        new, before = {}, {}
        for place, mark in self.marks.items():
            if mark.replaying or mark.fresh:
                continue
            position = self._build_position(place, mark, closed_s)
            if position != mark.committed:
                new[place], before[place] = position, mark.committed
        pending, self.pending_rows = self.pending_rows, PendingRows()
        batch = Batch(rows, pending, gaps, gone, new, before)
        batch.happened = [("counters", payload) for payload in self._counters_events(rows, clock_s)]
        batch.happened += [
            ("unplaced", {"topic": t, "reasons": sorted(r)[:20], "count": len(r)}) for t, r in pending.unplaced.items()
        ]
        return batch

    def _build_position(self, place: TopicPartition, mark: Mark, closed_s: int) -> Position:
        feed = self.feeds.get(place.topic)
        if feed is None:
            return Position(mark.position, mark.position, None)
        replay_from = feed.feed.replay_from(place.partition, mark.position)
        closed = bucket_time(closed_s) if feed.counts else None
        old = mark.committed
        if old is not None and old.position == mark.position and old.closed_through == closed:
            # No records came: a changed replay position alone does not need a row.
            return old
        return Position(mark.position, replay_from, closed)

    def _counters_events(self, rows: CounterBatch, clock_s: float | None) -> list[CountersEvent]:
        """Return events that report up to which time the counters of each fabric are complete."""
        if rows.routers is None or clock_s is None:
            return []
        news: list[CountersEvent] = []
        through = int(clock_s)
        for fabric_id in sorted(set(rows.routers.fabric_id.tolist())):
            here = rows.routers.fabric_id == fabric_id
            payload: CountersEvent = {
                "fabric_id": fabric_id,
                "through": datetime.fromtimestamp(max(through, self._said_through.get(fabric_id, 0)), UTC).isoformat(),
                "routers": len(set(rows.routers.device[here].tolist())),
            }
            if self.ledger.ports_closed_s >= 0:
                payload["ports_through"] = datetime.fromtimestamp(self.ledger.ports_closed_s + 10, UTC).isoformat()
            oldest = int(rows.routers.ts_s[here].min())
            if oldest < self._said_through.get(fabric_id, 0):
                payload["late_from"] = datetime.fromtimestamp(oldest, UTC).isoformat()
            self._said_through[fabric_id] = max(through, self._said_through.get(fabric_id, 0))
            news.append(payload)
        return news
