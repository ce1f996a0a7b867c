"""Positions of a writer in each partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from flitwatch_db.ingest.store import Position
from flitwatch_stream.log import TopicPartition


@dataclass
class Mark:
    """One partition.

    Attributes
    ----------
    position : int
        The next record to take.
    committed : Position or None
        What the database says; None: no row yet.
    replay_until : int
        Records before this one are in the database: they only rebuild what is in memory.
    fresh : bool
        Nothing was read since it was assigned.
    passed : bool
        Records from `position` on were read and not taken, because another partition of the topic is being replayed: they are read again.
    """

    position: int
    committed: Position | None
    replay_until: int
    fresh: bool = True
    passed: bool = False

    @property
    def replaying(self) -> bool:
        """Return whether memory is still being rebuilt."""
        return self.position < self.replay_until


class Marks(dict[TopicPartition, Mark]):
    """All partitions of a writer."""

    def begin(
        self, places: Iterable[TopicPartition], stored: dict[tuple[str, int], Position]
    ) -> dict[TopicPartition, int]:
        """Return the offsets to continue from; a partition that is new here begins at its `replay_from`."""
        starts = {}
        for place in places:
            if place not in self:
                position = stored.get((place.topic, place.partition))
                if position is None:
                    continue
                self[place] = Mark(position.replay_from, position, position.position)
            starts[place] = self[place].position
        return starts

    def of(self, topic: str) -> dict[TopicPartition, Mark]:
        """Return the partitions of one topic."""
        return {place: mark for place, mark in self.items() if place.topic == topic}

    def replaying(self, topic: str | None = None) -> bool:
        """Return whether any partition (of a topic) is being replayed."""
        return any(mark.replaying for place, mark in self.items() if topic is None or place.topic == topic)

    def turn_back(self) -> bool:
        """Return whether records that were passed can be taken now; they are to be read again."""
        ready = [mark for place, mark in self.items() if mark.passed and not self.replaying(place.topic)]
        for mark in ready:
            mark.passed = False
        return bool(ready)

    def closed_s(self, topic: str) -> int:
        """Up to which bucket the topic's ports are in the database; -1: none."""
        times = [
            m.committed.closed_through for m in self.of(topic).values() if m.committed and m.committed.closed_through
        ]
        return int(max(times).timestamp()) if times else -1


def bucket_time(epoch_s: int) -> datetime | None:
    """Return a bucket's time as the database takes it; None below zero."""
    return datetime.fromtimestamp(epoch_s, UTC) if epoch_s >= 0 else None
