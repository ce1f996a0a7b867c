"""Table consumer: a consumer group's members share the partitions through advisory locks.

A lock ends with its connection, so a killed member frees its partitions at once, without a lease timeout. Each member computes the same division from
the sorted member list, then locks or releases its part without negotiation.
"""

from __future__ import annotations

import re
import time
import zlib
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import psycopg

from flitwatch_domain.errors import BadRequest, Unavailable
from flitwatch_stream import frames
from flitwatch_stream.log import Consumer, Record, Subscription, TopicPartition
from flitwatch_stream.table_connection import CHANNEL, is_lasting, make_unavailable, open_connection

#: Interval at which a member checks for new topics and changed membership.
REBALANCE_S = 1.0
RETRY_S = 0.2
#: Rows (of about half a megabyte) buffered per reader; shared among its partitions.
PREFETCH_ROWS = 16


@dataclass
class _Place:
    """Read position in a partition: `position` is the next record to return, `fetch_from` the next one to fetch."""

    topic_id: int
    position: int
    fetch_from: int
    segment: int = 0


class TableConsumer(Consumer):
    """Table consumer; see `flitwatch_stream.log.Consumer`."""

    def __init__(self, url: str, subscription: Subscription) -> None:
        self._url = url
        self._group = subscription.group
        self._wanted = frozenset(subscription.topics)
        self._pattern = None if subscription.pattern is None else re.compile(subscription.pattern)
        self._start = subscription.start
        self._on_assign = subscription.on_assign
        self._on_revoke = subscription.on_revoke
        # Advisory locks have two numbers: the first identifies the group and the purpose, the second a member or a partition.
        self._member_class = _lock_class(f"member {subscription.group}")
        self._partition_class = _lock_class(f"partition {subscription.group}")
        self._conn: psycopg.Connection[Any] | None = None
        self._places: dict[TopicPartition, _Place] = {}
        self._left_at: dict[TopicPartition, int] = {}
        self._ready: deque[Record] = deque()
        self._paused: frozenset[TopicPartition] = frozenset()
        self._balanced_at = -REBALANCE_S

    def poll(self, max_records: int = 10_000, timeout_s: float = 1.0) -> list[Record]:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._rebalance_if_due()
                if not self._ready:
                    self._fetch_batches()
                records = self._take_ready(max_records)
                remaining_s = deadline - time.monotonic()
                if records or remaining_s <= 0:
                    return records
                self._wait_for_notice(min(remaining_s, REBALANCE_S))
            except (psycopg.Error, Unavailable) as problem:
                self._drop_assignments()
                if is_lasting(problem) or time.monotonic() + RETRY_S > deadline:
                    raise (make_unavailable(problem) if isinstance(problem, psycopg.Error) else problem) from None
                time.sleep(RETRY_S)

    def _take_ready(self, max_records: int) -> list[Record]:
        ready = self._ready
        records = [ready.popleft() for _ in range(min(max_records, len(ready)))]
        for record in records:
            self._places[TopicPartition(record.topic, record.partition)].position = record.offset + 1
        return records

    def _ensure_connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            conn = open_connection(self._url, f"flitwatch consumer {self._group}")
            conn.execute("SELECT pg_advisory_lock(%s, pg_backend_pid())", [self._member_class])
            conn.execute(f"LISTEN {CHANNEL}".encode())
            self._conn = conn
            self._balanced_at = -REBALANCE_S
        return self._conn

    def _wait_for_notice(self, seconds: float) -> None:
        for _ in self._ensure_connection().notifies(timeout=seconds, stop_after=1):
            pass

    def _fetch_batches(self) -> None:
        active_places = {at: place for at, place in self._places.items() if at not in self._paused}
        if not active_places:
            return
        names = {(place.topic_id, at.partition): at for at, place in active_places.items()}
        rows = self._ensure_connection().execute(
            "SELECT w.topic_id, w.partition, b.base_offset, b.records, b.segment, b.encoding, b.payload"
            " FROM unnest(%s::int[], %s::int[], %s::bigint[], %s::int[]) AS w (topic_id, partition, from_offset, segment)"
            " CROSS JOIN LATERAL (SELECT * FROM batch b WHERE b.topic_id = w.topic_id AND b.partition = w.partition"
            " AND b.base_offset >= w.from_offset AND b.segment >= w.segment ORDER BY b.base_offset LIMIT %s) AS b",
            [
                [place.topic_id for place in active_places.values()],
                [at.partition for at in active_places],
                [place.fetch_from for place in active_places.values()],
                [place.segment for place in active_places.values()],
                max(1, PREFETCH_ROWS // len(active_places)),
            ],
            binary=True,
        )
        for topic_id, partition, base_offset, count, segment, encoding, payload in rows:
            at = names[topic_id, partition]
            place = self._places[at]
            records = frames.read_batch(at.topic, partition, base_offset, count, encoding, payload)
            self._ready.extend(records[max(0, place.position - base_offset) :])
            place.fetch_from, place.segment = base_offset + count, segment

    def _rebalance_if_due(self) -> None:
        conn = self._ensure_connection()
        if time.monotonic() - self._balanced_at < REBALANCE_S:
            return
        self._balanced_at = time.monotonic()
        mine = self._compute_share(conn)
        self._revoke_partitions([at for at in self._places if at not in mine])
        topic_ids = {}
        for at, topic_id in mine.items():
            if at not in self._places and self._lock_partition(conn, topic_id, at.partition):
                topic_ids[at] = topic_id
        if topic_ids:
            self._assign_partitions(conn, topic_ids)

    def _compute_share(self, conn: psycopg.Connection[Any]) -> dict[TopicPartition, int]:
        members = [
            row[0]
            for row in conn.execute(
                "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = %s AND objsubid = 2"
                " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1",
                [self._member_class & 0xFFFFFFFF],
            )
        ]
        topics = conn.execute("SELECT name, topic_id, partitions FROM topic ORDER BY name").fetchall()
        partitions = [
            (TopicPartition(name, p), topic_id)
            for name, topic_id, count in topics
            if self._is_subscribed(name)
            for p in range(count)
        ]
        rank = members.index(conn.info.backend_pid)
        return dict(partitions[rank :: len(members)])

    def _is_subscribed(self, name: str) -> bool:
        return name in self._wanted or (self._pattern is not None and self._pattern.search(name) is not None)

    def _lock_partition(self, conn: psycopg.Connection[Any], topic_id: int, partition: int) -> bool:
        row = conn.execute(
            "SELECT pg_try_advisory_lock(%s, %s)", [self._partition_class, topic_id * 1024 + partition]
        ).fetchone()
        return row is not None and row[0]

    def _assign_partitions(self, conn: psycopg.Connection[Any], taken: dict[TopicPartition, int]) -> None:
        try:
            begins = dict((self._on_assign(sorted(taken)) if self._on_assign else None) or {})
            for at, topic_id in taken.items():
                row = conn.execute(
                    "SELECT first_offset, next_offset FROM partition WHERE topic_id = %s AND partition = %s",
                    [topic_id, at.partition],
                ).fetchone()
                assert row is not None
                default = self._left_at.pop(at, row[0] if self._start == "earliest" else row[1])
                self._seek_partition(conn, at, topic_id, max(begins.get(at, default), row[0]))
        except BaseException:
            # A partition with an unknown start must not be read: release all of them and let the next poll retry.
            self._drop_assignments()
            raise

    def _seek_partition(self, conn: psycopg.Connection[Any], at: TopicPartition, topic_id: int, offset: int) -> None:
        """Begin at `offset`: find the row that contains it."""
        row = conn.execute(
            "SELECT base_offset, segment FROM batch WHERE topic_id = %s AND partition = %s AND base_offset <= %s"
            " ORDER BY base_offset DESC LIMIT 1",
            [topic_id, at.partition, offset],
        ).fetchone()
        self._places[at] = _Place(topic_id, offset, *(row or (offset, 0)))

    def _revoke_partitions(self, gone: list[TopicPartition]) -> None:
        if not gone:
            return
        self._ready = deque(r for r in self._ready if TopicPartition(r.topic, r.partition) not in gone)
        if self._on_revoke:
            self._on_revoke(sorted(gone))
        self._paused -= frozenset(gone)
        conn = self._ensure_connection()
        for at in gone:
            place = self._places.pop(at)
            conn.execute(
                "SELECT pg_advisory_unlock(%s, %s)", [self._partition_class, place.topic_id * 1024 + at.partition]
            )

    def _drop_assignments(self) -> None:
        """Drop all assignments: the connection and its locks are lost, so another member may already read these partitions."""
        self._close_connection()
        lost, self._places = self._places, {}
        self._paused = frozenset()
        self._ready.clear()
        self._left_at |= {at: place.position for at, place in lost.items()}
        if lost and self._on_revoke:
            self._on_revoke(sorted(lost))

    def _close_connection(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def assignment(self) -> list[TopicPartition]:
        return sorted(self._places)

    def _find_assigned(self, topic: str, partition: int) -> tuple[TopicPartition, _Place]:
        at = TopicPartition(topic, partition)
        if at not in self._places:
            raise BadRequest(f"partition {partition} of {topic} is not assigned to this consumer")
        return at, self._places[at]

    def seek(self, topic: str, partition: int, offset: int) -> None:
        at, place = self._find_assigned(topic, partition)
        self._ready = deque(r for r in self._ready if (r.topic, r.partition) != at)
        try:
            first = self._load_offsets("first_offset")[at]
            self._seek_partition(self._ensure_connection(), at, place.topic_id, max(offset, first))
        except psycopg.Error as problem:
            raise make_unavailable(problem) from None

    def pause(self, places: Collection[TopicPartition]) -> None:
        self._paused = frozenset(places)

    def position(self, topic: str, partition: int) -> int:
        return self._find_assigned(topic, partition)[1].position

    def begin_offsets(self) -> dict[TopicPartition, int]:
        return self._load_offsets("first_offset")

    def end_offsets(self) -> dict[TopicPartition, int]:
        return self._load_offsets("next_offset")

    def _load_offsets(self, column: str) -> dict[TopicPartition, int]:
        try:
            rows = self._ensure_connection().execute(
                "SELECT name, partition, first_offset, next_offset FROM partition JOIN topic USING (topic_id)"
            )
            which = 2 if column == "first_offset" else 3
            offsets = {TopicPartition(row[0], row[1]): row[which] for row in rows}
        except psycopg.Error as problem:
            raise make_unavailable(problem) from None
        return {at: offsets[at] for at in sorted(self._places)}

    def close(self) -> None:
        if self._conn is not None and self._places:
            try:
                if self._on_revoke:
                    self._on_revoke(sorted(self._places))
            finally:
                self._places = {}
                self._close_connection()
        self._close_connection()


def _lock_class(text: str) -> int:
    """Return a signed 32-bit number derived from the text."""
    return zlib.crc32(text.encode()) - (1 << 31)
