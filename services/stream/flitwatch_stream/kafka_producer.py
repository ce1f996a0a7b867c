"""Appending to Kafka: idempotent, acknowledged by all in-sync replicas, compressed by lz4."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as RdProducer

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_stream.kafka_client import new_client, unavailable
from flitwatch_stream.log import APPEND_TIMEOUT_S, MAX_RECORD_BYTES, Log, Producer

#: What a record may carry beside its value: key, headers, the batch's own head.
OVERHEAD_BYTES = 64 << 10
#: A broker that has just started may say for a moment that a topic is not there: librdkafka then gives up what it holds of it.
_NOT_THERE = {KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART}
_PURGED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}
#: How long to wait before a topic that is not there is tried again.
_AGAIN_S = 0.2


class _Held(NamedTuple):
    """A record that librdkafka is to be given again; `partition` -1: it chooses."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int
    timestamp_ms: int
    headers: Any


class KafkaProducer(Producer):
    """See `flitwatch_stream.log.Producer`.

    Where a broker forgets a topic for a moment, everything that is not acknowledged is sent again, in its order, by a new client. What was on its way just then may be
    in the log twice.
    """

    def __init__(self, log: Log, brokers: str, client: str) -> None:
        self._log = log
        self._brokers = brokers
        self._client = client
        self._topics: dict[str, int] = {}
        self._refused: list[str] = []
        self._number = 0
        #: What librdkafka gave up, by its number.
        self._given_up: dict[int, _Held] = {}
        #: What goes to librdkafka before anything else.
        self._held: deque[_Held] = deque()
        self._producer = self._open()

    def _open(self) -> Any:
        return new_client(
            RdProducer,
            self._brokers,
            {
                "client.id": self._client,
                "acks": "all",
                "enable.idempotence": True,
                # A broker that has just started, or just made the topic, may refuse a producer's first batch and take its second, because it
                # knows no sequence of this producer yet (KAFKA-15591). Sent again, the first comes after the second, and the records of a
                # collector count as repeated where they are not in order.
                "max.in.flight.requests.per.connection": 1,
                # A record stays in the queue until the broker has it: the caller's time limit is that of flush, and nothing is given up
                # behind its back.
                "message.timeout.ms": 0,
                "compression.type": "lz4",
                "linger.ms": 20,
                "batch.size": 1 << 20,
                "message.max.bytes": MAX_RECORD_BYTES + OVERHEAD_BYTES,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 256 << 10,
                # CRC-32 of the key, as the table backend does; without a key a partition is kept for one batch.
                "partitioner": "consistent_random",
                "sticky.partitioning.linger.ms": 100,
            },
        )

    def append(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        if len(value) > MAX_RECORD_BYTES:
            raise BadInput(f"a record of {len(value)} bytes for {topic} exceeds {MAX_RECORD_BYTES}")
        partitions = self._topics.get(topic) or self._find_topic(topic)
        if partition is not None and not 0 <= partition < partitions:
            raise BadRequest(f"topic {topic} has partitions 0 to {partitions - 1}, not {partition}")
        deadline = time.monotonic() + APPEND_TIMEOUT_S
        stamp = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
        record = _Held(topic, value, key, -1 if partition is None else partition, stamp, list(headers))
        while True:
            try:
                self._hand_on()
                self._produce(record)
                break
            except BufferError:
                if time.monotonic() > deadline:
                    raise unavailable(self._brokers, "the producer's buffer stays full") from None
                self._producer.poll(0.1)
            except KafkaException as problem:
                if problem.args[0].code() not in _NOT_THERE:
                    raise BadInput(f"a record for {topic} cannot be sent: {problem.args[0].str()}") from None
                if time.monotonic() > deadline:
                    raise unavailable(self._brokers, f"topic {topic} is not there") from None
                time.sleep(_AGAIN_S)
                self._begin_anew()
        self._producer.poll(0)

    def _produce(self, record: _Held) -> None:
        number, self._number = self._number, self._number + 1
        self._producer.produce(
            record.topic,
            record.value,
            record.key,
            partition=record.partition,
            timestamp=record.timestamp_ms,
            headers=record.headers,
            on_delivery=partial(self._delivered, number),
        )

    def _hand_on(self) -> None:
        """Give librdkafka again what it gave up; errors as of its `produce`."""
        if self._given_up:
            self._begin_anew()
        while self._held:
            self._produce(self._held[0])
            self._held.popleft()

    def _begin_anew(self) -> None:
        """Take everything back that is not acknowledged, and open another client: to this one the topic is gone, and its sequence has a hole."""
        gone, self._producer = self._producer, self._open()
        gone.purge()
        while len(gone):
            gone.poll(0.1)
        self._held.extendleft(record for _, record in sorted(self._given_up.items(), reverse=True))
        self._given_up.clear()

    def _find_topic(self, topic: str) -> int:
        deadline = time.monotonic() + APPEND_TIMEOUT_S
        while True:
            try:
                self._log.create_topic(topic)
                partitions = self._log.topics().get(topic)
                if partitions:
                    self._topics[topic] = partitions
                    return partitions
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
            # The broker answers before its metadata has the new topic.
            if time.monotonic() > deadline:
                raise unavailable(self._brokers, f"topic {topic} did not appear")
            time.sleep(0.05)

    def _delivered(self, number: int, problem: KafkaError | None, message: Message) -> None:
        if problem is None:
            return
        if problem.code() in _NOT_THERE | _PURGED:
            chosen = message.partition()
            self._given_up[number] = _Held(
                str(message.topic()),
                message.value(),
                message.key(),
                -1 if chosen is None else max(-1, chosen),
                message.timestamp()[1],
                message.headers() or [],
            )
        else:
            self._refused.append(f"{message.topic()}: {problem.str()}")

    def flush(self, timeout_s: float = 30.0) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._hand_on()
            except BufferError:
                self._producer.poll(0.1)
            left = self._producer.flush(max(0.0, deadline - time.monotonic()))
            if self._refused:
                refused, self._refused = self._refused, []
                raise BadInput(
                    f"Kafka refused {len(refused)} records, first {refused[0]}",
                    advice=f"Set the broker's and the topic's largest message to {MAX_RECORD_BYTES + OVERHEAD_BYTES} bytes.",
                )
            left += len(self._held) + len(self._given_up)
            if not left:
                return
            if time.monotonic() >= deadline:
                raise unavailable(self._brokers, f"{left} records are not acknowledged after {timeout_s:g} s")
            time.sleep(_AGAIN_S)

    def close(self) -> None:
        if len(self._producer) or self._held or self._given_up:
            self.flush()
