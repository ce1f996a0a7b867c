"""Kafka producer: idempotent, acknowledged by all in-sync replicas, lz4-compressed."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as RdProducer

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_stream.kafka_client import make_unavailable, new_client
from flitwatch_stream.log import APPEND_TIMEOUT_S, MAX_RECORD_BYTES, Log, Producer

#: Maximum size of a record apart from its value: key, headers and batch header.
OVERHEAD_BYTES = 64 << 10


class KafkaProducer(Producer):
    """Kafka producer; see `flitwatch_stream.log.Producer`."""

    def __init__(self, log: Log, brokers: str, client: str) -> None:
        self._log = log
        self._brokers = brokers
        self._topics: dict[str, int] = {}
        self._refused: list[str] = []
        self._producer = new_client(
            RdProducer,
            brokers,
            {
                "client.id": client,
                "acks": "all",
                "enable.idempotence": True,
                # Right after a broker start or topic creation, a broker can refuse a producer's first batch and accept its second, because it has no
                # sequence of this producer yet (KAFKA-15591). The retried first batch would then follow the second, and a collector's records that
                # are out of order count as duplicates.
                "max.in.flight.requests.per.connection": 1,
                # A record stays in the queue until the broker has it. Only the timeout of `flush` applies, and no record is dropped silently.
                "message.timeout.ms": 0,
                "compression.type": "lz4",
                "linger.ms": 20,
                "batch.size": 1 << 20,
                "message.max.bytes": MAX_RECORD_BYTES + OVERHEAD_BYTES,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 256 << 10,
                # CRC-32 of the key, as in the table backend. Without a key, each batch goes to one partition.
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
        while True:
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    partition=-1 if partition is None else partition,
                    timestamp=stamp,
                    headers=list(headers),
                    on_delivery=self._record_delivery,
                )
                break
            except BufferError:
                if time.monotonic() > deadline:
                    raise make_unavailable(self._brokers, "the producer's buffer stays full") from None
                self._producer.poll(0.1)
            except KafkaException as problem:
                raise BadInput(f"a record for {topic} cannot be sent: {problem.args[0].str()}") from None
        self._producer.poll(0)

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
            # The broker confirms the topic before its metadata lists it.
            if time.monotonic() > deadline:
                raise make_unavailable(self._brokers, f"topic {topic} did not appear")
            time.sleep(0.05)

    def _record_delivery(self, problem: KafkaError | None, message: Message) -> None:
        if problem is not None:
            self._refused.append(f"{message.topic()}: {problem.str()}")

    def flush(self, timeout_s: float = 30.0) -> None:
        unacknowledged = self._producer.flush(timeout_s)
        if self._refused:
            refused, self._refused = self._refused, []
            raise BadInput(
                f"Kafka refused {len(refused)} records, first {refused[0]}",
                advice=f"Set the broker's and the topic's largest message to {MAX_RECORD_BYTES + OVERHEAD_BYTES} bytes.",
            )
        if unacknowledged:
            raise make_unavailable(
                self._brokers, f"{unacknowledged} records are not acknowledged after {timeout_s:g} s"
            )

    def close(self) -> None:
        if len(self._producer):
            self.flush()
