"""Positions of a writer, by partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from flitwatch_db.ingest.store import Position
from flitwatch_stream.log import TopicPartition


@dataclass
class Mark:
    """Position of a writer in one partition.

    Attributes
    ----------
    position : int
        The next record to process.
    committed : Position or None
        Position in the database; None: no row yet.
    replay_until : int
        Records before this one are in the database and only rebuild memory.
    fresh : bool
        Nothing was read since the assignment.
    passed : bool
        Records from `position` on were read but not processed, because another partition of the topic is being replayed. They are read again.
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
    def begin(
        self, places: Iterable[TopicPartition], stored: dict[tuple[str, int], Position]
    ) -> dict[TopicPartition, int]:
        """Return the start offsets; a newly assigned partition begins at its `replay_from`."""
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
        return {place: mark for place, mark in self.items() if place.topic == topic}

    def replaying(self, topic: str | None = None) -> bool:
        """Return whether any partition (of a topic) is being replayed."""
        return any(mark.replaying for place, mark in self.items() if topic is None or place.topic == topic)

    def turn_back(self) -> bool:
        """Return whether skipped records can be processed now and must be read again."""
        ready = [mark for place, mark in self.items() if mark.passed and not self.replaying(place.topic)]
        for mark in ready:
            mark.passed = False
        return bool(ready)

    def closed_s(self, topic: str) -> int:
        """Return the last bucket of the topic's ports in the database; -1: none."""
        times = [
            m.committed.closed_through for m in self.of(topic).values() if m.committed and m.committed.closed_through
        ]
        return int(max(times).timestamp()) if times else -1


def bucket_time(epoch_s: int) -> datetime | None:
    """Return a bucket's time in the database's form; None for negative seconds."""
    return datetime.fromtimestamp(epoch_s, UTC) if epoch_s >= 0 else None
