"""The one log interface: append, offsets, consumer groups; Kafka and a PostgreSQL table are behind it.

Delivery to a reader is at least once and in order within a partition. Positions are the reader's: it stores them with what it made of
the records, and says in `on_assign` where to begin. Producers and consumers belong to one thread each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Self

from flitwatch_domain.errors import BadRequest

#: A record's value may be this long; more is refused by `append`. Both backends are set up for it.
MAX_RECORD_BYTES = 16 << 20
#: Partitions of a topic that nobody sized: enough for as many writers, few enough that batches stay large.
DEFAULT_PARTITIONS = 4
APPEND_TIMEOUT_S = 30.0

Headers = Sequence[tuple[str, bytes]]


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """One record as it is in the log; `timestamp_ms` is milliseconds since 1970, -1 unknown."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes
    headers: Headers


OnAssign = Callable[[list[TopicPartition]], Mapping[TopicPartition, int] | None]
OnRevoke = Callable[[list[TopicPartition]], None]
Start = Literal["earliest", "latest"]


class _Closing(ABC):
    @abstractmethod
    def close(self) -> None:
        """Let go of connections; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Producer(_Closing):
    """Appends records; each is in the log once after `flush`, also across a lost connection."""

    @abstractmethod
    def append(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Take a record over; it is durable after the next `flush` returns.

        Records of one key go to one partition (CRC-32 of the key, as librdkafka does); without a key the producer chooses.
        A topic that does not exist is created.

        Raises
        ------
        BadInput
            The value is longer than `MAX_RECORD_BYTES`; nothing was taken over.
        Unavailable
            The buffer stayed full for `APPEND_TIMEOUT_S`; nothing was taken over.
        """

    @abstractmethod
    def flush(self, timeout_s: float = 30.0) -> None:
        """Return when everything that was appended is durable.

        Raises
        ------
        Unavailable
            It is not yet after `timeout_s`. What is missing is still held and in order: flush again.
        """


class Consumer(_Closing):
    """A member of a consumer group; the group's members share the partitions."""

    @abstractmethod
    def poll(self, max_records: int = 10_000, timeout_s: float = 1.0) -> list[Record]:
        """Return what has come, at most `max_records`; wait up to `timeout_s` for the first.

        Raises
        ------
        Unavailable
            The log does not answer. Poll again later: reading goes on where it stopped.
        """

    @abstractmethod
    def assignment(self) -> list[TopicPartition]:
        """The partitions that are this member's now, sorted."""

    @abstractmethod
    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Go on reading an assigned partition at `offset`."""

    @abstractmethod
    def pause(self, places: Collection[TopicPartition]) -> None:
        """Read none of these partitions until the next call says otherwise, and all others; what was fetched of them may still come.

        A partition that is taken away is no longer paused when it comes back.
        """

    @abstractmethod
    def position(self, topic: str, partition: int) -> int:
        """The offset after the last record that `poll` returned of an assigned partition (before any: where it begins)."""

    @abstractmethod
    def begin_offsets(self) -> dict[TopicPartition, int]:
        """The oldest offset still in the log, for each assigned partition."""

    @abstractmethod
    def end_offsets(self) -> dict[TopicPartition, int]:
        """The next offset to be written, for each assigned partition."""

    def seen_end_offsets(self) -> dict[TopicPartition, int]:
        """The same as it was said with the last records that came; a backend that cannot know it so asks."""
        return self.end_offsets()


class Log(_Closing):
    """A log to append to and read from."""

    url: str

    @abstractmethod
    def identity(self) -> str:
        """Return what distinguishes this log from any other: offsets mean nothing in another log. Unavailable if it does not answer."""

    @abstractmethod
    def producer(self, client: str = "flitwatch") -> Producer:
        """Open a producer."""

    @abstractmethod
    def consumer(
        self,
        group: str,
        topics: Sequence[str] = (),
        pattern: str | None = None,
        start: Start = "earliest",
        on_assign: OnAssign | None = None,
        on_revoke: OnRevoke | None = None,
    ) -> Consumer:
        """Join a consumer group.

        Parameters
        ----------
        group : str
        topics : sequence of str
            Topics by name; they need not exist yet.
        pattern : str, optional
            A regular expression that begins with `^`; topics that appear later are found within seconds.
        start : {"earliest", "latest"}
            Where partitions begin that `on_assign` does not name.
        on_assign : callable, optional
            Called within `poll` with partitions that became this member's; returns where to begin. An offset that is trimmed already
            means the oldest that is there. What it raises, `poll` raises, and the next `poll` calls it again.
        on_revoke : callable, optional
            Called within `poll` or `close` before partitions go to another member, and after they were lost with a connection.
        """

    @abstractmethod
    def topics(self) -> dict[str, int]:
        """Topics and their numbers of partitions."""

    @abstractmethod
    def create_topic(self, name: str, partitions: int | None = None) -> None:
        """Create a topic unless it exists; an existing one keeps its number of partitions."""

    @abstractmethod
    def end_offsets(self, topic: str) -> list[int]:
        """The next offset to be written, by partition.

        Raises
        ------
        NotFound
            There is no such topic.
        """


def check_subscription(topics: Sequence[str], pattern: str | None) -> None:
    """Refuse a subscription to nothing, or a pattern that is not anchored."""
    if not topics and pattern is None:
        raise BadRequest("a consumer needs topics or a pattern")
    if pattern is not None and not pattern.startswith("^"):
        raise BadRequest(f"pattern {pattern!r} does not begin with ^")
