"""One order over the partitions of a topic, for a backlog.

A producer spreads the samples of a node over all partitions. Read one after the other, as a log hands out a backlog, neighbouring samples
would be minutes apart, and the later partitions' too late to be counted. So old records wait until every partition of their topic has come
as far, by the times at which they were appended, or holds no more. They wait outside of the writer's memory: a position never covers a
record that was not handed on.
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

#: Records appended no longer ago (or ahead, by this clock) go straight on: by how much partitions differ then is within the 16 samples that the deltas put
#: right, also for sets sampled ten times a second.
LIVE_S = 1.0
#: Records that wait may have so many bytes; then the oldest go on unmerged.
MOST_BYTES = 256 << 20
#: Nothing waits longer, or than it had waited in the log: a producer whose clock is ahead must not hold its partition up.
LONGEST_S = 5.0
#: Where all producers are ahead, it is this clock that is behind: nobody knows how long a record waited in the log, and it may wait here so long.
LONGEST_BEHIND_S = 60.0
#: A partition of which so much waits is not read until most of that was handed on: the others catch up instead.
AHEAD_BYTES, CAUGHT_UP_BYTES = 16 << 20, 2 << 20
#: How often it is asked which partitions hold more.
ASK_S = 0.1


@dataclass
class _Partition:
    """Records that wait, each with the time it is ordered by (never before the one ahead) and until when it waits at most."""

    records: deque[tuple[int, float, Record]] = field(default_factory=deque)
    reached_ms: int = -1
    bytes: int = 0
    ahead: bool = False


class Merger:
    """Holds records of a backlog until they can be handed on in the order of their times.

    Parameters
    ----------
    unread : callable
        The partitions that hold more than was read of them.
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
        """Return the partitions that were read so much further than the others that these should be read first."""
        places = set()
        for topic, partitions in self._topics.items():
            for number, partition in partitions.items():
                partition.ahead = partition.bytes > (CAUGHT_UP_BYTES if partition.ahead else AHEAD_BYTES)
                if partition.ahead:
                    places.add(TopicPartition(topic, number))
        return places

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """Forget what waits of these partitions: they are read again."""
        for topic, partition in places:
            gone = self._topics.get(topic, {}).pop(partition, None)
            if gone is not None:
                self._bytes -= gone.bytes
                if not self._topics[topic]:
                    del self._topics[topic]

    def merge(self, records: Sequence[Record]) -> list[Record]:
        """Take records as they were read; return those whose turn has come."""
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
            # Records are in hand, which the log will not hand out again: what was known before serves until it answers.
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
        # What is still to come of a partition is no older than what came last of it.
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
        # Stable: records of one partition keep their order.
        out.sort(key=itemgetter(0))
        return [record for _, record in out]


def _record_bytes(record: Record) -> int:
    return len(record.value) + 64
