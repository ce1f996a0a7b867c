"""Kafka consumer: the group divides the partitions, and the reader stores the positions."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException
from confluent_kafka import Consumer as RdConsumer
from confluent_kafka import TopicPartition as RdTopicPartition

from flitwatch_domain.errors import BadRequest
from flitwatch_stream.kafka_client import fetch_watermarks, make_error_watcher, make_unavailable, new_client
from flitwatch_stream.log import MAX_RECORD_BYTES, Consumer, Record, Subscription, TopicPartition

#: Delay after "all brokers are down" before probing a broker.
SUSPECT_S = 3.0


class KafkaConsumer(Consumer):
    """Kafka consumer; see `flitwatch_stream.log.Consumer`."""

    def __init__(self, brokers: str, subscription: Subscription) -> None:
        self._brokers = brokers
        self._start = subscription.start
        self._on_assign = subscription.on_assign
        self._on_revoke = subscription.on_revoke
        self._positions: dict[TopicPartition, int] = {}
        self._left_at: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._down_since: float | None = None
        # Error of a callback, and the partitions whose start it delays.
        self._failure: BaseException | None = None
        self._waiting: set[TopicPartition] = set()
        self._note = make_error_watcher(brokers)
        self._consumer: Any = new_client(
            RdConsumer,
            brokers,
            {
                "group.id": subscription.group,
                "client.id": f"flitwatch-{subscription.group}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                # When a member joins or a topic appears, other partitions keep their owners.
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 1_000,
                "topic.metadata.refresh.interval.ms": 2_000,
                "topic.metadata.refresh.fast.interval.ms": 250,
                "allow.auto.create.topics": False,
                # Large, slightly delayed fetches: a few wake-ups per second carry 13,000 records.
                "fetch.min.bytes": 64 << 10,
                "fetch.wait.max.ms": 100,
                "max.partition.fetch.bytes": 4 << 20,
                "fetch.max.bytes": 32 << 20,
                "fetch.message.max.bytes": 4 << 20,
                "message.max.bytes": MAX_RECORD_BYTES + (64 << 10),
                "queued.min.messages": 20_000,
                "queued.max.messages.kbytes": 32 << 10,
                # Check a full queue again soon: the default of one second is longer than emptying it takes.
                "fetch.queue.backoff.ms": 20,
                "error_cb": self._on_error,
            },
        )
        names = [*subscription.topics, *([] if subscription.pattern is None else [subscription.pattern])]
        try:
            self._consumer.subscribe(
                names, on_assign=self._handle_assigned, on_revoke=self._handle_revoked, on_lost=self._handle_revoked
            )
        except KafkaException as problem:
            self._consumer.close()
            raise BadRequest(
                f"the topics {names} cannot be subscribed to: {problem.args[0].str()}",
                advice="Write the pattern as a POSIX extended regular expression.",
            ) from None

    def _on_error(self, problem: KafkaError) -> None:
        self._note(problem)
        if problem.code() == KafkaError._ALL_BROKERS_DOWN and self._down_since is None:
            self._down_since = time.monotonic()

    def poll(self, max_records: int = 10_000, timeout_s: float = 1.0) -> list[Record]:
        self._raise_failure()
        if self._waiting:
            self._begin(sorted(self._waiting))
        messages: list[Any] = []
        try:
            # The first call waits for one record, the second takes the queued ones: a single call would wait until all have arrived.
            messages += self._consumer.consume(1, timeout_s)
            if messages and max_records > 1:
                messages += self._consumer.consume(max_records - 1, 0.005)
        except KafkaException as problem:
            self._failure = make_unavailable(self._brokers, problem)
        # librdkafka will not return these messages again, so the next poll raises the error.
        if not messages:
            self._raise_failure()
        records = self._to_records(messages)
        if records:
            self._down_since = None
        elif self._down_since is not None and time.monotonic() - self._down_since > SUSPECT_S:
            self._ask_broker()
        return records

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _to_records(self, messages: list[Any]) -> list[Record]:
        records = []
        positions = self._positions
        for message in messages:
            problem = message.error()
            if problem is not None:
                if problem.fatal():
                    self._failure = make_unavailable(self._brokers, problem.str())
                continue
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            at = TopicPartition(topic, partition)
            if at not in positions:
                # Revoked while queued: the partition's next owner reads it.
                continue
            if offset < positions[at]:
                # Fetched again after a pause.
                continue
            positions[at] = offset + 1
            # confluent-kafka returns None as the value of a tombstone.
            records.append(
                Record(
                    topic,
                    partition,
                    offset,
                    message.timestamp()[1],
                    message.key(),
                    message.value() or b"",
                    message.headers() or [],
                )
            )
        return records

    def _ask_broker(self) -> None:
        try:
            self._consumer.list_topics(timeout=1.0)
            self._down_since = None
        except KafkaException as problem:
            raise make_unavailable(self._brokers, problem) from None

    def _handle_assigned(self, consumer: Any, partitions: list[RdTopicPartition]) -> None:
        places = sorted(TopicPartition(p.topic, p.partition) for p in partitions)
        # Tells librdkafka that the callback has assigned partitions; otherwise it would start all of them itself.
        consumer.incremental_assign([])
        self._waiting.update(places)
        try:
            self._begin(places)
        except BaseException as problem:
            # A partition with an unknown start is not read. One poll raises the error, and the next one retries.
            self._failure = problem

    def _begin(self, places: list[TopicPartition]) -> None:
        """Ask for start offsets and begin there."""
        begins = dict((self._on_assign(places) if self._on_assign and places else None) or {})
        default = OFFSET_BEGINNING if self._start == "earliest" else OFFSET_END
        starts = {at: begins.get(at, self._left_at.pop(at, default)) for at in places}
        assigned = [RdTopicPartition(*at, offset) for at, offset in starts.items()]
        self._consumer.incremental_assign(assigned)
        # A partition that was paused when revoked is still paused when reassigned.
        self._consumer.resume(assigned)
        self._positions |= starts
        self._waiting.difference_update(places)

    def _handle_revoked(self, consumer: Any, partitions: list[RdTopicPartition]) -> None:
        places = sorted(TopicPartition(p.topic, p.partition) for p in partitions)
        self._waiting.difference_update(places)
        gone = [at for at in places if at in self._positions]
        try:
            if self._on_revoke and gone:
                self._on_revoke(gone)
        except BaseException as problem:
            self._failure = problem
        self._paused.difference_update(gone)
        for at in gone:
            position = self._positions.pop(at)
            if position >= 0:
                self._left_at[at] = position
        consumer.incremental_unassign([RdTopicPartition(*at) for at in gone])

    def assignment(self) -> list[TopicPartition]:
        return sorted(self._positions)

    def _check_assigned(self, topic: str, partition: int) -> TopicPartition:
        at = TopicPartition(topic, partition)
        if at not in self._positions:
            raise BadRequest(f"partition {partition} of {topic} is not assigned to this consumer")
        return at

    def seek(self, topic: str, partition: int, offset: int) -> None:
        at = self._check_assigned(topic, partition)
        # Reassign instead of seeking: librdkafka refuses to seek until the first fetch has begun.
        self._consumer.incremental_unassign([RdTopicPartition(topic, partition)])
        self._consumer.incremental_assign([RdTopicPartition(topic, partition, offset)])
        self._positions[at] = offset

    def pause(self, places: Collection[TopicPartition]) -> None:
        paused_places = {at for at in places if at in self._positions}
        stop, go_on = paused_places - self._paused, (self._paused & self._positions.keys()) - paused_places
        if stop:
            self._consumer.pause([RdTopicPartition(*at) for at in sorted(stop)])
        if go_on:
            self._consumer.resume([RdTopicPartition(*at) for at in sorted(go_on)])
        self._paused = paused_places

    def position(self, topic: str, partition: int) -> int:
        at = self._check_assigned(topic, partition)
        position = self._positions[at]
        if position >= 0:
            return position
        begin, end = fetch_watermarks(self._consumer, self._brokers, topic, partition)
        return begin if position == OFFSET_BEGINNING else end

    def begin_offsets(self) -> dict[TopicPartition, int]:
        return {at: fetch_watermarks(self._consumer, self._brokers, *at)[0] for at in self.assignment()}

    def end_offsets(self) -> dict[TopicPartition, int]:
        return {at: fetch_watermarks(self._consumer, self._brokers, *at)[1] for at in self.assignment()}

    def seen_end_offsets(self) -> dict[TopicPartition, int]:
        return {at: fetch_watermarks(self._consumer, self._brokers, *at, seen=True)[1] for at in self.assignment()}

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
            self._positions = {}
