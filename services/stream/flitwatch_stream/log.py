"""Log interface for append, offsets and consumer groups. Its backends are Kafka and a PostgreSQL table.

Delivery to a reader is at least once and in order within a partition. Readers own their positions: a reader stores them with its results and returns
the start offsets from `on_assign`. Each producer and consumer must be used by one thread only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Self

from flitwatch_domain.errors import BadRequest

#: Maximum length of a record's value; `append` refuses longer ones. Both backends are configured for it.
MAX_RECORD_BYTES = 16 << 20
#: Default number of partitions of a topic: enough for as many writers, few enough for large batches.
DEFAULT_PARTITIONS = 4
APPEND_TIMEOUT_S = 30.0

Headers = Sequence[tuple[str, bytes]]


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Record(NamedTuple):
    """Record of the log. `timestamp_ms` is milliseconds since 1970, or -1 if unknown."""

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


class Subscription(NamedTuple):
    """Membership in a consumer group; see `Log.consumer`."""

    group: str
    topics: Sequence[str]
    pattern: str | None
    start: Start
    on_assign: OnAssign | None
    on_revoke: OnRevoke | None


class _Closing(ABC):
    @abstractmethod
    def close(self) -> None:
        """Close connections. Can be called more than once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Producer(_Closing):
    """Appends records. After `flush`, each is in the log exactly once, even if the connection was lost."""

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
        """Accept a record. It is durable after the next `flush` returns.

        Records of one key go to one partition (CRC-32 of the key, as librdkafka does); without a key the producer chooses.
        A topic that does not exist is created. Raise BadInput if the value is longer than `MAX_RECORD_BYTES`, and Unavailable if the buffer stayed full
        for `APPEND_TIMEOUT_S`; the record was then not accepted.
        """

    @abstractmethod
    def flush(self, timeout_s: float = 30.0) -> None:
        """Wait until all appended records are durable. Raise Unavailable if some records are not durable after `timeout_s`. They are still buffered
        in order: flush again."""


class Consumer(_Closing):
    """Member of a consumer group. The members share the partitions."""

    @abstractmethod
    def poll(self, max_records: int = 10_000, timeout_s: float = 1.0) -> list[Record]:
        """Return available records, at most `max_records`. Wait up to `timeout_s` for the first. Raise Unavailable if the log does not answer. Poll
        again later: reading continues where it stopped."""

    @abstractmethod
    def assignment(self) -> list[TopicPartition]:
        """Return the partitions currently assigned to this member, sorted."""

    @abstractmethod
    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Continue reading an assigned partition at `offset`."""

    @abstractmethod
    def pause(self, places: Collection[TopicPartition]) -> None:
        """Pause exactly these partitions until the next call, and read all others. Records fetched before can still be returned.

        A partition that is revoked and assigned again is no longer paused.
        """

    @abstractmethod
    def position(self, topic: str, partition: int) -> int:
        """Return the offset after the last record that `poll` returned from an assigned partition, or its start offset."""

    @abstractmethod
    def begin_offsets(self) -> dict[TopicPartition, int]:
        """Return the oldest offset still in the log, for each assigned partition."""

    @abstractmethod
    def end_offsets(self) -> dict[TopicPartition, int]:
        """Return the next offset to be written, for each assigned partition."""

    def seen_end_offsets(self) -> dict[TopicPartition, int]:
        """Return the end offsets reported with the last fetched records. A backend that does not report them queries the log."""
        return self.end_offsets()


class Log(_Closing):
    url: str

    @abstractmethod
    def identity(self) -> str:
        """Return an identifier that distinguishes this log from any other: offsets are valid only within one log. Raise Unavailable if it does not
        answer."""

    @abstractmethod
    def producer(self, client: str = "flitwatch") -> Producer:
        """Open a producer."""

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
        topics : sequence of str
            Topic names; the topics need not exist yet.
        pattern : str, optional
            A regular expression that begins with `^`; topics that appear later are found within seconds.
        start : {"earliest", "latest"}
            Start of partitions that `on_assign` does not name.
        on_assign : callable, optional
            Called within `poll` with newly assigned partitions; returns their start offsets. A trimmed offset means the oldest available one. `poll`
            raises its exceptions, and the next `poll` calls it again.
        on_revoke : callable, optional
            Called within `poll` or `close` before partitions move to another member, and after a lost connection.
        """
        if not topics and pattern is None:
            raise BadRequest("a consumer needs topics or a pattern")
        if pattern is not None and not pattern.startswith("^"):
            raise BadRequest(f"pattern {pattern!r} does not begin with ^")
        return self._join_group(Subscription(group, topics, pattern, start, on_assign, on_revoke))

    @abstractmethod
    def _join_group(self, subscription: Subscription) -> Consumer: ...

    @abstractmethod
    def topics(self) -> dict[str, int]:
        """Return the topics and their numbers of partitions."""

    @abstractmethod
    def create_topic(self, name: str, partitions: int | None = None) -> None:
        """Create a topic unless it exists; an existing one keeps its number of partitions."""

    @abstractmethod
    def end_offsets(self, topic: str) -> list[int]:
        """Return the next offset to be written, by partition. Raise NotFound if the topic does not exist."""
