"""Where a writer stands in each partition, by slice where a topic is divided."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from flitwatch_db.ingest.slices import WHOLE, Slot
from flitwatch_db.ingest.store import Position
from flitwatch_stream.log import TopicPartition


@dataclass
class Mark:
    """One partition, or one slice's records in it.

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
        Records from `position` on were read and not taken, because its slice is being replayed in another partition: they are read again.
    """

    position: int
    committed: Position | None
    replay_until: int
    fresh: bool = True
    passed: bool = False

    @property
    def replaying(self) -> bool:
        """Whether memory is still being rebuilt."""
        return self.position < self.replay_until


class Marks(dict[Slot, Mark]):
    """All partitions of a writer."""

    def begin(
        self,
        places: Iterable[TopicPartition],
        slices: Mapping[str, Collection[int]],
        stored: Mapping[Slot, Position],
    ) -> dict[TopicPartition, int]:
        """Where to read on; a slot that is new here begins at its `replay_from`.

        `slices` are those of the divided topics. A partition begins where its last slice does, or at its beginning where one stands nowhere yet.
        """
        starts = {}
        for place in places:
            slots = [Slot(*place, part) for part in slices.get(place.topic, (WHOLE,))]
            for slot in slots:
                if slot not in self and slot in stored:
                    position = stored[slot]
                    self[slot] = Mark(position.replay_from, position, position.position)
            if all(slot in self for slot in slots):
                starts[place] = min(self[slot].position for slot in slots)
        return starts

    def of(self, topic: str) -> dict[Slot, Mark]:
        """The partitions of one topic."""
        return {slot: mark for slot, mark in self.items() if slot.topic == topic}

    @property
    def replaying(self) -> bool:
        """Whether any partition is being replayed."""
        return any(mark.replaying for mark in self.values())

    def replayed(self, topic: str) -> set[int]:
        """The slices of a topic that are being replayed in any partition."""
        return {slot.slice for slot, mark in self.items() if slot.topic == topic and mark.replaying}

    def turn_back(self) -> bool:
        """Whether records that were passed can be taken now; they are to be read again."""
        passed = [slot for slot, mark in self.items() if mark.passed]
        replayed = {topic: self.replayed(topic) for topic in {slot.topic for slot in passed}}
        ready = [slot for slot in passed if slot.slice not in replayed[slot.topic]]
        for slot in ready:
            self[slot].passed = False
        return bool(ready)

    def closed_s(self, topic: str, part: int = WHOLE) -> int:
        """Up to which bucket the ports of the topic, or of a slice of it, are in the database; -1: none."""
        times = [
            mark.committed.closed_through
            for slot, mark in self.of(topic).items()
            if slot.slice == part and mark.committed and mark.committed.closed_through
        ]
        return int(max(times).timestamp()) if times else -1

    def level(self, topic: str, total: int) -> bool:
        """Whether all `total` slices of a topic stand at the same record in every partition; also where nothing of the topic is in memory yet."""
        heights: dict[int, list[int]] = {}
        for slot, mark in self.of(topic).items():
            if mark.replaying or mark.fresh:
                return False
            heights.setdefault(slot.partition, []).append(mark.position)
        # Of slices that were just taken, memory knows nothing before they are read.
        return all(len(found) == total and len(set(found)) == 1 for found in heights.values())

    def written(self, topic: str) -> bool:
        """Whether the database stands where the topic's slices do."""
        return all(m.committed is not None and m.committed.position == m.position for m in self.of(topic).values())

    def unite(self, topic: str) -> None:
        """Keep one mark a partition of a topic whose slices are level."""
        for slot, mark in self.of(topic).items():
            del self[slot]
            whole = self.setdefault(Slot(topic, slot.partition), mark)
            if mark.committed is not None and whole.committed is not None:
                replay_from = min(whole.committed.replay_from, mark.committed.replay_from)
                whole.committed = replace(whole.committed, replay_from=replay_from)


def moment(epoch_s: int) -> datetime | None:
    """A bucket's time as the database takes it; None below zero."""
    return datetime.fromtimestamp(epoch_s, UTC) if epoch_s >= 0 else None
