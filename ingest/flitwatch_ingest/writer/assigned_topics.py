"""The topics, or the slices of their devices, that are this writer's, and the reader that reads them.

LDMS spreads a node's samples over all partitions of a topic. So what writers share are slices of its devices: the log's consumer group gives each writer
partitions, and whoever is given a partition has the slices of its number. Locks in the database (`flitwatch_db.ingest.topic_leases`) see to it that no slice
has two owners meanwhile. A writer reads all partitions of a topic of which it has a slice, and takes its devices' records. A topic that one writer has alone
is whole: nobody looks at its devices.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from flitwatch_db.ingest.slices import SLICES
from flitwatch_db.ingest.topic_leases import TopicLeases
from flitwatch_domain.errors import FlitwatchError
from flitwatch_ingest.writer.merging import Merger
from flitwatch_stream import topics
from flitwatch_stream.log import Consumer, Log, OnAssign, Record, TopicPartition

#: How often it is looked for new topics and for writers that came or went.
LOOK_S = 1.0
#: While records wait for other partitions, reading waits no longer for more.
_MERGING_S = 0.02
#: A topic that waits for the schema registry is tried again after this time.
BLOCKED_S = 5.0
OURS = (topics.JOBS, topics.RUNS, topics.REJECTED, topics.SAMPLES)


class Share(NamedTuple):
    """What one writer has of a topic that is divided into `total` slices; 0: the topic is whole, and this writer's alone."""

    total: int = 0
    slices: frozenset[int] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether the topic is not divided."""
        return self.total == 0


class Divisions(Protocol):
    """Which topics are divided, as the database keeps it."""

    def read(self) -> Mapping[str, int]:
        """Into how many slices each divided topic is."""
        ...

    def divide(self, topic: str) -> int:
        """Divide a topic that this writer alone has; return into how many slices."""
        ...

    def unite(self, topic: str, total: int) -> bool:
        """Make a topic whole all `total` slices of which are this writer's; False where they do not stand at the same records yet."""
        ...


class AssignedTopics:
    """Which topics to read, and reading them.

    Parameters
    ----------
    log : Log
    open_leases : callable
        Gives the claims on the log's topics, once the log has said which one it is.
    divisions : Divisions
    group : str
    pattern : str
        Which topics are LDMS rows.
    on_assign : callable
        Where to begin; see `flitwatch_stream.log.Log.consumer`.
    let_go : callable
        Writes what is held of these topics and forgets them; they, or slices of them, are another writer's then.
    opportunistic : bool
        Joins no group and takes what nobody has: for one-shot imports beside a running writer.
    """

    def __init__(
        self,
        log: Log,
        open_leases: Callable[[], TopicLeases],
        divisions: Divisions,
        group: str,
        pattern: str,
        on_assign: OnAssign,
        let_go: Callable[[set[str]], None],
        opportunistic: bool = False,
    ) -> None:
        self._log = log
        self._open_leases = open_leases
        self._claims: TopicLeases | None = None
        self._divisions = divisions
        self._group = group
        self._subscription = topics.writer_pattern(pattern)
        self._pattern = re.compile(pattern)
        self._on_assign = on_assign
        self._let_go = let_go
        self._opportunistic = opportunistic
        self._member: Consumer | None = None
        self._consumer: Consumer | None = None
        self._merger = Merger(self._unread_as_seen)
        self._reading: dict[str, Share] = {}
        self._blocked: dict[str, float] = {}
        self._looked_at = -LOOK_S
        self._shares: dict[str, Share] = {}
        self._sizes: dict[str, int] = {}

    @property
    def mine(self) -> set[str]:
        """The topics of which this writer has something."""
        return set(self._shares)

    @property
    def reading(self) -> set[str]:
        """The topics that are being read."""
        return set(self._reading)

    def share(self, topic: str) -> Share:
        """What this writer reads of a topic."""
        # What it has is read from the next reader on: records of slices that were just taken are not to be counted from where others are read.
        return self._reading.get(topic, Share())

    @property
    def sharing(self) -> float:
        """How many writers like this one share the topic of which it has the smallest part; 1 where it shares none."""
        return max((share.total / len(share.slices) for share in self._shares.values() if share.slices), default=1.0)

    def poll(self, most: int, timeout_s: float) -> list[Record]:
        """Records of the topics that are this writer's, those of a backlog in the order of their times."""
        self._look()
        if self._consumer is None:
            time.sleep(timeout_s)
            return []
        records = self._merger.merge(self._consumer.poll(most, timeout_s if self._merger.empty else _MERGING_S))
        self._consumer.pause(self._merger.ahead())
        return records

    def block(self, topic: str) -> None:
        """Leave a topic alone for a while; it is read again from where `on_assign` says."""
        self._blocked[topic] = time.monotonic() + BLOCKED_S
        self._read()

    def reopen(self) -> None:
        """Read everything again from where `on_assign` says."""
        self._close_consumer()
        self._looked_at = -LOOK_S

    def ends(self) -> dict[tuple[str, int], int]:
        """The next offset to be written, for every partition that matches."""
        names = [name for name in self._log.topics() if self._wanted(name)]
        return {(name, p): end for name in names for p, end in enumerate(self._log.end_offsets(name))}

    @property
    def places(self) -> set[TopicPartition]:
        """The partitions that are being read."""
        return set() if self._consumer is None else set(self._consumer.assignment())

    def caught_up(self) -> bool:
        """Whether everything that the log has of the topics that are read was read."""
        # A reader that was just opened has not found all partitions yet.
        known = {TopicPartition(topic, p) for topic in self._reading for p in range(self._sizes.get(topic, 0))}
        return self._merger.empty and known <= self.places and not self._unread()

    def _unread(self) -> set[TopicPartition]:
        if self._consumer is None:
            return set()
        return self._before(self._consumer.end_offsets())

    def _unread_as_seen(self) -> set[TopicPartition]:
        # Asked for often: a broker that is asked anew for every partition costs the writer more than its records do.
        return set() if self._consumer is None else self._before(self._consumer.seen_end_offsets())

    def _before(self, ends: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        consumer = self._consumer
        return set() if consumer is None else {place for place, end in ends.items() if consumer.position(*place) < end}

    def _begin(self, places: list[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        self._merger.drop(places)
        return self._on_assign(places)

    @property
    def _leases(self) -> TopicLeases:
        if self._claims is None:
            self._claims = self._open_leases()
        return self._claims

    def close(self) -> None:
        """Stop reading and leave the group; the locks go."""
        self._close_consumer()
        member, self._member = self._member, None
        if member is not None:
            member.close()
        if self._claims is not None:
            self._claims.close()
        self._shares = {}

    def _wanted(self, name: str) -> bool:
        return name in OURS or self._pattern.search(name) is not None

    # --- who has what --------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < LOOK_S and not any(until <= now for until in self._blocked.values()):
            return
        self._looked_at = now
        self._sizes = {name: count for name, count in self._log.topics().items() if self._wanted(name)}
        wished = self._wished(self._sizes)
        self._leases.check()
        # The locks went with their connection, and may be another's by now.
        for topic in [topic for topic, share in self._shares.items() if not self._locked(topic, share)]:
            self._leave(topic)
        for topic in sorted(self._shares.keys() - wished.keys()):
            self._leave(topic)
        divided = self._divisions.read() if wished else {}
        # Of a transaction whose answer was lost only the database knows whether it divided a topic, or made it whole.
        for topic in [topic for topic, share in self._shares.items() if divided.get(topic, 0) != share.total]:
            self._leave(topic)
        for topic, slices in sorted(wished.items()):
            share = self._shares.get(topic)
            if share is None:
                self._enter(topic, slices, divided)
            elif share.whole and slices is not None:
                # Another writer is to have a part.
                self._forgo(topic)
                self._part(topic, slices, None)
            elif not share.whole:
                self._match(topic, slices)
        self._read()

    def _wished(self, sizes: Mapping[str, int]) -> dict[str, frozenset[int] | None]:
        """The slices of each topic that are to be this writer's; None: all of them."""
        places = self._given()
        if places is None:
            return dict.fromkeys(sizes)
        wished: dict[str, frozenset[int] | None] = {}
        for topic, size in sizes.items():
            given = [p for p in range(size) if TopicPartition(topic, p) in places]
            if topic in OURS:
                # Jobs and runs are few, and depend on one another: whoever has the first partition has the topic.
                if 0 in given:
                    wished[topic] = None
            elif len(given) == size:
                wished[topic] = None
            elif slices := frozenset(s for s in range(SLICES) if s % size in given):
                wished[topic] = slices
        return wished

    def _given(self) -> Collection[TopicPartition] | None:
        """The partitions that the group gives this writer; None while it has not said."""
        if self._opportunistic:
            return None
        if self._member is None:
            self._member = self._log.consumer(self._group, pattern=self._subscription, start="latest")
        member = self._member
        # A log that does not answer shows where it is read. What a poll brings in spite of the pause is read there, too.
        with suppress(FlitwatchError):
            member.poll(1, 0.0)
            member.pause(member.assignment())
        return member.assignment() if member.settled else None

    def _locked(self, topic: str, share: Share) -> bool:
        if share.whole:
            return topic in self._leases.held
        return topic in self._leases.shared and {_name(topic, s) for s in share.slices} <= self._leases.held

    def _enter(self, topic: str, slices: frozenset[int] | None, divided: Mapping[str, int]) -> None:
        """Take a topic, or some of it, of which this writer has nothing."""
        if topic in divided:
            # Nobody shares a topic that another writer is making whole.
            if self._leases.share(topic):
                self._part(topic, slices, self._divisions.read().get(topic))
        elif self._leases.take({topic}):
            count = self._divisions.read().get(topic)
            if count is None and slices is None:
                self._shares[topic] = Share()
            else:
                self._part(topic, slices, count)

    def _part(self, topic: str, slices: frozenset[int] | None, count: int | None) -> None:
        """Take slices of a topic that was whole until now, or that is shared already."""
        if topic in self._leases.held:
            count = count or self._divisions.divide(topic)
            self._leases.share(topic)
            self._leases.release({topic})
        elif count is None:
            # It was made whole meanwhile.
            self._leases.unshare(topic)
            return
        self._shares[topic] = Share(count)
        self._match(topic, slices)

    def _match(self, topic: str, slices: frozenset[int] | None) -> None:
        """Give slices up that are to be another's, and take those that nobody has any more."""
        total, had = self._shares[topic]
        wanted = frozenset(range(total)) if slices is None else frozenset(s for s in slices if s < total)
        if had - wanted:
            self._forgo(topic)
            self._leases.release({_name(topic, s) for s in had - wanted})
        taken = self._leases.take({_name(topic, s) for s in wanted - had})
        have = (had & wanted) | {s for s in wanted - had if _name(topic, s) in taken}
        self._shares[topic] = Share(total, frozenset(have))
        if len(have) == total and not self._opportunistic:
            self._unite(topic)

    def _unite(self, topic: str) -> None:
        if not self._leases.take({topic}):
            return
        total, slices = self._shares[topic]
        if not self._divisions.unite(topic, total):
            self._leases.release({topic})
            return
        self._leases.unshare(topic)
        self._leases.release({_name(topic, s) for s in slices})
        self._shares[topic] = Share()

    def _forgo(self, topic: str) -> None:
        """Write what is held of a topic and forget it; the locks stay."""
        self._close_consumer()
        self._let_go({topic})

    def _leave(self, topic: str) -> None:
        """Let others have a topic."""
        self._forgo(topic)
        share = self._shares.pop(topic)
        self._leases.release({topic} | {_name(topic, s) for s in share.slices})
        self._leases.unshare(topic)

    # --- reading -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        now = time.monotonic()
        self._blocked = {topic: until for topic, until in self._blocked.items() if until > now}
        wanted = {
            topic: share
            for topic, share in self._shares.items()
            if topic not in self._blocked and (share.whole or share.slices)
        }
        if wanted == self._reading and (self._consumer is not None or not wanted):
            return
        self._close_consumer()
        if wanted:
            self._consumer = self._log.consumer(None, topics=sorted(wanted), on_assign=self._begin)
        self._reading = wanted

    def _close_consumer(self) -> None:
        consumer, self._consumer, self._reading = self._consumer, None, {}
        self._merger = Merger(self._unread_as_seen)
        if consumer is not None:
            consumer.close()


def _name(topic: str, part: int) -> str:
    """What a slice is locked by."""
    return f"{topic} slice {part}"
