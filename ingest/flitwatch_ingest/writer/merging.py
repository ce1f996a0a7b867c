"""Merging of a backlog's records over the partitions of a topic.

A producer spreads the samples of a node over all partitions. A log returns a backlog partition by partition, so neighbouring samples would be
minutes apart, and those of later partitions too late to be counted. Old records therefore wait until every partition of their topic has reached
their append time or is empty. They wait outside of the writer's memory: a position never covers a record that was not passed on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter

from flitwatch_domain.errors import Unavailable
from flitwatch_stream.log import Record, TopicPartition

#: Records appended within this time (before or after this clock) are not delayed. Partitions then differ by less than the 16 samples that the deltas
#: can reorder, even for sets sampled ten times per second.
LIVE_S = 1.0
#: Limit of bytes in waiting records; beyond it, the oldest are passed on unmerged.
MOST_BYTES = 256 << 20
#: Longest wait, or the time that the record spent in the log if that is longer. A producer with a fast clock must not delay its partition.
LONGEST_S = 5.0
#: Longest wait if all producers are ahead: then this clock is slow, and the time that records spent in the log is unknown.
LONGEST_BEHIND_S = 60.0
#: A partition with this many waiting bytes is paused until most are passed on, so that the others catch up.
AHEAD_BYTES, CAUGHT_UP_BYTES = 16 << 20, 2 << 20
#: Interval of queries for partitions with unread records.
ASK_S = 0.1


@dataclass
class _Partition:
    """Waiting records, each with its sort time (never before its predecessor's) and the end of its longest wait."""

    records: deque[tuple[int, float, Record]] = field(default_factory=deque)
    reached_ms: int = -1
    bytes: int = 0
    ahead: bool = False


class Merger:
    """Buffer of a backlog's records until they can be passed on in order of time.

    Parameters
    ----------
    unread : callable
        Returns the partitions with unread records.
    """

    def __init__(self, unread: Callable[[], set[TopicPartition]]) -> None:
        self._unread = unread
        self._topics: dict[str, dict[int, _Partition]] = {}
        self._bytes = 0
        self._asked_at = -ASK_S
        self._more: set[TopicPartition] = set()

    @property
    def empty(self) -> bool:
        """Return whether no records are waiting."""
        return not self._topics

    def ahead(self) -> set[TopicPartition]:
        """Return the partitions that are so far ahead that the others should be read first."""
        places = set()
        for topic, partitions in self._topics.items():
            for number, partition in partitions.items():
                partition.ahead = partition.bytes > (CAUGHT_UP_BYTES if partition.ahead else AHEAD_BYTES)
                if partition.ahead:
                    places.add(TopicPartition(topic, number))
        return places

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """Drop the waiting records of partitions that are read again."""
        for topic, partition in places:
            gone = self._topics.get(topic, {}).pop(partition, None)
            if gone is not None:
                self._bytes -= gone.bytes
                if not self._topics[topic]:
                    del self._topics[topic]

    def merge(self, records: Sequence[Record]) -> list[Record]:
        """Add records in reading order; return those that are due."""
        wall_ms = time.time() * 1000
        from_ms, to_ms = wall_ms - LIVE_S * 1000, wall_ms + LIVE_S * 1000
        old = {record.topic for record in records if not from_ms <= record.timestamp_ms <= to_ms} | self._topics.keys()
        if not old:
            return list(records)
        earliest_ms: dict[str, int] = {}
        for record in records:
            earliest_ms[record.topic] = min(earliest_ms.get(record.topic, record.timestamp_ms), record.timestamp_ms)
        now, out = time.monotonic(), []
        for record in records:
            if record.topic in old:
                behind_s = min(earliest_ms[record.topic] - wall_ms, LONGEST_BEHIND_S * 1000) / 1000
                self._hold_record(record, now, max(LONGEST_S, wall_ms / 1000 - record.timestamp_ms / 1000, behind_s))
            else:
                out.append(record)
        if now - self._asked_at >= ASK_S:
            self._asked_at = now
            # The log will not return the present records again: use the previous answer until it responds.
            with suppress(Unavailable):
                self._more = self._unread()
        for topic in list(self._topics):
            out += self._release_records(topic, now)
        return out

    def _hold_record(self, record: Record, now: float, longest_s: float) -> None:
        partition = self._topics.setdefault(record.topic, {}).setdefault(record.partition, _Partition())
        partition.reached_ms = max(partition.reached_ms, record.timestamp_ms)
        partition.records.append((partition.reached_ms, now + longest_s, record))
        partition.bytes += _record_bytes(record)
        self._bytes += _record_bytes(record)

    def _release_records(self, topic: str, now: float) -> list[Record]:
        partitions = self._topics[topic]
        more = [place.partition for place in self._more if place.topic == topic]
        # Future records of a partition are not older than its last one.
        horizon = min((partitions[p].reached_ms if p in partitions else -1 for p in more), default=None)
        out: list[tuple[int, Record]] = []
        for partition in partitions.values():
            queue = partition.records
            while queue and (
                horizon is None or queue[0][0] <= horizon or now > queue[0][1] or self._bytes > MOST_BYTES
            ):
                time_ms, _, record = queue.popleft()
                partition.bytes -= _record_bytes(record)
                self._bytes -= _record_bytes(record)
                out.append((time_ms, record))
        if not any(partition.records for partition in partitions.values()):
            del self._topics[topic]
        # Stable sort: records of one partition keep their order.
        out.sort(key=itemgetter(0))
        return [record for _, record in out]


def _record_bytes(record: Record) -> int:
    return len(record.value) + 64
