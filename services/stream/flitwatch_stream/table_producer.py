"""Table producer: batches of records by binary COPY, one transaction per flush, retried safely after a lost connection."""

from __future__ import annotations

import struct
import time
import uuid
import zlib
from collections.abc import Iterable
from typing import Any

import psycopg

from flitwatch_domain.data_disk import LOG_PART
from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_stream import frames
from flitwatch_stream.log import APPEND_TIMEOUT_S, DEFAULT_PARTITIONS, MAX_RECORD_BYTES, Producer, TopicPartition
from flitwatch_stream.table_connection import CHANNEL, disk_of, is_lasting, make_unavailable, open_connection

#: Approximate row size: large enough to spread the cost per row, small enough to read a few at a time.
BATCH_BYTES = 512 << 10
#: Buffered bytes at which `append` writes without a flush.
BUFFER_BYTES = 8 << 20
RETRY_S = 0.2

_ROW = struct.Struct(">hiiiiiiiqiiihi")


class TableProducer(Producer):
    """Table producer; see `flitwatch_stream.log.Producer`."""

    def __init__(self, url: str, client: str) -> None:
        self._url = url
        self._client = client
        self._disk = disk_of(url)
        self._conn: psycopg.Connection[Any] | None = None
        self._topics: dict[str, tuple[int, int]] = {}
        self._sticky: dict[str, tuple[int, int]] = {}
        self._open: dict[TopicPartition, list[bytes]] = {}
        self._held_bytes = 0
        # Batch being written, kept separate so that a retry writes the same records under the same number.
        self._writing: dict[TopicPartition, list[bytes]] = {}
        self._id = uuid.uuid4()
        self._sequence = 0

    def append(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        if len(value) > MAX_RECORD_BYTES:
            raise BadInput(f"a record of {len(value)} bytes for {topic} exceeds {MAX_RECORD_BYTES}")
        if self._held_bytes >= BUFFER_BYTES:
            self.flush(APPEND_TIMEOUT_S)
        topic_entry = self._topics.get(topic) or self._find_topic(topic)
        if partition is None:
            partition = (
                zlib.crc32(key) % topic_entry[1]
                if key is not None
                else self._pick_partition(topic, topic_entry[1], len(value))
            )
        elif not 0 <= partition < topic_entry[1]:
            raise BadRequest(f"topic {topic} has partitions 0 to {topic_entry[1] - 1}, not {partition}")
        stamp = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        frame = frames.encode_record(stamp, key, value, headers)
        self._open.setdefault(TopicPartition(topic, partition), []).append(frame)
        self._held_bytes += len(frame)

    def _pick_partition(self, topic: str, partitions: int, size: int) -> int:
        """Choose a partition for a record without a key: fill one partition's row, then use the next."""
        partition, filled = self._sticky.get(topic, (0, 0))
        if filled + size > BATCH_BYTES:
            partition, filled = (partition + 1) % partitions, 0
        self._sticky[topic] = (partition, filled + size)
        return partition

    def _ensure_connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self._conn = open_connection(self._url, f"{self._client} producer")
        return self._conn

    def _find_topic(self, topic: str) -> tuple[int, int]:
        deadline = time.monotonic() + APPEND_TIMEOUT_S
        while True:
            try:
                conn = self._ensure_connection()
                conn.execute("SELECT ensure_topic(%s, %s)", [topic, DEFAULT_PARTITIONS])
                row: tuple[int, int] | None = conn.execute(
                    "SELECT topic_id, partitions FROM topic WHERE name = %s", [topic]
                ).fetchone()
                assert row is not None
                self._topics[topic] = row
                return row
            except (psycopg.Error, Unavailable) as problem:
                self._wait_or_give_up(problem, deadline)

    def flush(self, timeout_s: float = 30.0) -> None:
        deadline = time.monotonic() + timeout_s
        while self._writing or self._open:
            if not self._writing:
                self._writing, self._open = self._open, {}
                self._held_bytes = 0
                self._sequence += 1
            try:
                self._disk.check(LOG_PART)
                self._write_batches(self._ensure_connection())
                self._writing = {}
            except (psycopg.Error, Unavailable) as problem:
                self._wait_or_give_up(problem, deadline)

    def _wait_or_give_up(self, problem: psycopg.Error | Unavailable, deadline: float) -> None:
        self._close_connection()
        if is_lasting(problem) or time.monotonic() + RETRY_S > deadline:
            raise (make_unavailable(problem) if isinstance(problem, psycopg.Error) else problem) from None
        time.sleep(RETRY_S)

    def _write_batches(self, conn: psycopg.Connection[Any]) -> None:
        counts = {
            (*self._topics[place.topic][:1], place.partition): (place, batch) for place, batch in self._writing.items()
        }
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute(
                "SELECT topic_id, partition, base_offset, segment FROM reserve(%s, %s, %s, %s, %s)",
                [
                    self._id,
                    self._sequence,
                    [topic_id for topic_id, _ in counts],
                    [partition for _, partition in counts],
                    [len(batch) for _, batch in counts.values()],
                ],
            )
            places = cursor.fetchall()
            if not places:
                # The connection was lost after the commit of this batch, before its confirmation.
                return
            with cursor.copy(
                "COPY batch (segment, topic_id, partition, base_offset, records, encoding, payload) FROM STDIN (FORMAT binary)"
            ) as copy:
                copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
                for topic_id, partition, offset, segment in places:
                    _copy_rows(copy, segment, topic_id, partition, offset, counts[topic_id, partition][1])
                copy.write(b"\xff\xff")
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])

    def _close_connection(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def close(self) -> None:
        try:
            if self._open or self._writing:
                self.flush()
        finally:
            self._close_connection()


def _copy_rows(copy: psycopg.Copy, segment: int, topic_id: int, partition: int, offset: int, held: list[bytes]) -> None:
    first = 0
    while first < len(held):
        last, size = first, 0
        while last < len(held) and (last == first or size + len(held[last]) <= BATCH_BYTES):
            size += len(held[last])
            last += 1
        encoding, payload = frames.pack_batch(b"".join(held[first:last]))
        place = (4, segment, 4, topic_id, 4, partition, 8, offset + first)
        copy.write(_ROW.pack(7, *place, 4, last - first, 2, encoding, len(payload)) + payload)
        first = last
