"""The topics of this writer, and the consumer that reads them.

LDMS spreads a node's samples over all partitions of a topic, so each topic belongs to one writer as a whole. Locks in the database assign topics to
writers (`flitwatch_db.ingest.topic_leases`), and the consumer reads the topics by name in a group of its own.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping

from flitwatch_db.ingest.topic_leases import TopicLeases
from flitwatch_domain.errors import Conflict
from flitwatch_ingest.writer.merging import Merger
from flitwatch_stream import topics
from flitwatch_stream.log import Consumer, Log, OnAssign, Record, TopicPartition

#: Interval of checks for new topics and for changes of the set of writers.
LOOK_S = 1.0
#: Poll timeout while records wait for other partitions.
_MERGING_S = 0.02
#: Retry interval of a topic that waits for the schema registry.
BLOCKED_S = 5.0
OURS = (topics.JOBS, topics.RUNS, topics.REJECTED, topics.SAMPLES)


class AssignedTopics:
    """Topics of a writer, and the consumer that reads them.

    Parameters
    ----------
    open_leases : callable
        Opens the leases on the log's topics once the log has identified itself.
    pattern : str
        Pattern of topics with LDMS rows.
    on_assign : callable
        Returns the start offsets; see `flitwatch_stream.log.Log.consumer`.
    let_go : callable
        Writes the pending rows of topics and drops them, before another writer takes them over.
    """

    def __init__(
        self,
        log: Log,
        open_leases: Callable[[], TopicLeases],
        group: str,
        pattern: str,
        on_assign: OnAssign,
        let_go: Callable[[set[str]], None],
    ) -> None:
        self._log = log
        self._open_leases = open_leases
        self._claims: TopicLeases | None = None
        self._group = group
        self._pattern = re.compile(pattern)
        self._on_assign = on_assign
        self._let_go = let_go
        self._consumer: Consumer | None = None
        self._merger = Merger(self._unread_as_seen)
        self._reading: frozenset[str] = frozenset()
        self._blocked: dict[str, float] = {}
        self._looked_at = -LOOK_S
        self._sizes: dict[str, int] = {}
        self.mine: set[str] = set()
        self._read_under: dict[str, int] = {}

    @property
    def reading(self) -> frozenset[str]:
        """The topics being read."""
        return self._reading

    def poll(self, most: int, timeout_s: float) -> list[Record]:
        """Return records of this writer's topics; records of a backlog are in order of time."""
        self._refresh_share()
        if self._consumer is None:
            time.sleep(timeout_s)
            return []
        records = self._merger.merge(self._consumer.poll(most, timeout_s if self._merger.empty else _MERGING_S))
        self._consumer.pause(self._merger.ahead())
        return records

    def epochs(self, topics: Iterable[str]) -> dict[str, int]:
        """Return the lease epochs under which topics were read."""
        return {topic: self._read_under[topic] for topic in topics if topic in self._read_under}

    def block(self, topic: str) -> None:
        """Pause a topic for a while; reading resumes at the offset from `on_assign`."""
        self._blocked[topic] = time.monotonic() + BLOCKED_S
        self._open_reader()

    def reopen(self) -> None:
        """Reread everything from the offsets of `on_assign`."""
        self._close_consumer()
        self.look_again()

    def look_again(self) -> None:
        """Look for new topics with the next poll."""
        self._looked_at = -LOOK_S

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the next offset to be written of every matching partition."""
        names = [name for name in self._log.topics() if self._is_wanted(name)]
        return {(name, p): end for name in names for p, end in enumerate(self._log.end_offsets(name))}

    @property
    def places(self) -> set[TopicPartition]:
        """Return the partitions being read."""
        return set() if self._consumer is None else set(self._consumer.assignment())

    def caught_up(self) -> bool:
        """Return whether all records in the log of the topics being read have been read."""
        # A newly opened reader has not found all partitions yet.
        partitions = {TopicPartition(topic, p) for topic in self._reading for p in range(self._sizes.get(topic, 0))}
        return self._merger.empty and partitions <= self.places and not self._unread_partitions()

    def _unread_partitions(self) -> set[TopicPartition]:
        if self._consumer is None:
            return set()
        return self._partitions_before(self._consumer.end_offsets())

    def _unread_as_seen(self) -> set[TopicPartition]:
        # Called often: asking the broker for every partition would cost more than processing the records.
        return set() if self._consumer is None else self._partitions_before(self._consumer.seen_end_offsets())

    def _partitions_before(self, ends: Mapping[TopicPartition, int]) -> set[TopicPartition]:
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
        """Stop reading and release the locks."""
        self._close_consumer()
        if self._claims is not None:
            self._claims.close()

    def _is_wanted(self, name: str) -> bool:
        return name in OURS or self._pattern.search(name) is not None

    def _refresh_share(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < LOOK_S and not any(until <= now for until in self._blocked.values()):
            return
        self._looked_at = now
        self._sizes = {name: count for name, count in self._log.topics().items() if self._is_wanted(name)}
        share = self._leases.divide(set(self._sizes))
        beyond = self.mine - share
        if beyond:
            self._close_consumer()
            self._let_go(beyond)
            self._leases.release(beyond)
        claims = self._leases.take(share)
        # Do not use earlier epochs: an earlier check may have incremented some and then lost its connection.
        now_under = self._leases.epochs(self.mine - beyond)
        if lost_topics := [name for name, epoch in now_under.items() if epoch != self._read_under.get(name, epoch)]:
            # The pending rows may have been written by now.
            self._read_under = {}
            raise Conflict(f"another writer had {', '.join(sorted(lost_topics))} meanwhile")
        if not self.mine - beyond <= claims:
            # The locks were lost with their connection, and another writer may hold them by now.
            self._close_consumer()
            self._let_go(self.mine - beyond - claims)
        self.mine = claims
        self._read_under = self._leases.epochs(claims)
        self._open_reader()

    def _open_reader(self) -> None:
        now = time.monotonic()
        self._blocked = {topic: until for topic, until in self._blocked.items() if until > now}
        topics_to_read = frozenset(self.mine - self._blocked.keys())
        if topics_to_read == self._reading and (self._consumer is not None or not topics_to_read):
            return
        self._close_consumer()
        if topics_to_read:
            group = f"{self._group}-{uuid.uuid4().hex[:12]}"
            self._consumer = self._log.consumer(group, topics=sorted(topics_to_read), on_assign=self._begin)
        self._reading = topics_to_read

    def _close_consumer(self) -> None:
        consumer, self._consumer, self._reading = self._consumer, None, frozenset()
        self._merger = Merger(self._unread_as_seen)
        if consumer is not None:
            consumer.close()
