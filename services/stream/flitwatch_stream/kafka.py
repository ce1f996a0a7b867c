"""Log in Apache Kafka, accessed with confluent-kafka (librdkafka)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer as RdConsumer
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as RdTopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from flitwatch_domain.errors import NotFound
from flitwatch_stream.kafka_client import (
    CALL_TIMEOUT_S,
    brokers_of,
    fetch_metadata,
    fetch_watermarks,
    make_unavailable,
    new_client,
)
from flitwatch_stream.log import (
    DEFAULT_PARTITIONS,
    Consumer,
    Log,
    Producer,
    Subscription,
    TopicPartition,
)


class KafkaLog(Log):
    def __init__(self, url: str) -> None:
        self.url = url
        self.brokers = brokers_of(url)
        self._admin: AdminClient | None = None

    def _get_admin(self) -> AdminClient:
        if self._admin is None:
            self._admin = new_client(AdminClient, self.brokers)
        return self._admin

    def producer(self, client: str = "flitwatch") -> Producer:
        from flitwatch_stream.kafka_producer import KafkaProducer

        return KafkaProducer(self, self.brokers, client)

    def _join_group(self, subscription: Subscription) -> Consumer:
        from flitwatch_stream.kafka_consumer import KafkaConsumer

        return KafkaConsumer(self.brokers, subscription)

    def identity(self) -> str:
        cluster_id = fetch_metadata(self._get_admin(), self.brokers).cluster_id
        if not cluster_id:
            raise make_unavailable(self.brokers, "it does not report its cluster id")
        return f"kafka:{cluster_id}"

    def topics(self) -> dict[str, int]:
        by_name = fetch_metadata(self._get_admin(), self.brokers).topics
        return {name: len(topic.partitions) for name, topic in sorted(by_name.items()) if not name.startswith("__")}

    def create_topic(self, name: str, partitions: int | None = None) -> None:
        # -1 selects the broker's default replication factor, which the site chose for its number of brokers.
        topic = NewTopic(name, num_partitions=partitions or DEFAULT_PARTITIONS, replication_factor=-1)
        request = self._get_admin().create_topics(
            [topic], operation_timeout=CALL_TIMEOUT_S, request_timeout=CALL_TIMEOUT_S
        )[name]
        try:
            request.result(timeout=CALL_TIMEOUT_S + 5)
        except KafkaException as problem:
            if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise make_unavailable(self.brokers, problem, self._get_admin()) from None
        except TimeoutError as problem:
            raise make_unavailable(self.brokers, problem, self._get_admin()) from None

    def end_offsets(self, topic: str) -> list[int]:
        partitions = self.topics().get(topic)
        if partitions is None:
            raise NotFound(f"no topic {topic!r}")
        reader = new_client(RdConsumer, self.brokers, {"group.id": "flitwatch-offsets"})
        try:
            return [fetch_watermarks(reader, self.brokers, topic, p)[1] for p in range(partitions)]
        finally:
            reader.close()

    def read_append_times(self, places: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
        """Return the append time, in epoch seconds, of the first record at or after each offset. Partitions whose record does not arrive in time are
        left out."""
        times: dict[TopicPartition, float] = {}
        if not places:
            return times
        # Fetch one record per partition, and as few further records as the broker allows.
        settings = {
            "group.id": "flitwatch-offsets",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "queued.min.messages": 1,
            "max.partition.fetch.bytes": 1024,
        }
        reader = new_client(RdConsumer, self.brokers, settings)
        try:
            reader.assign([RdTopicPartition(*at, offset) for at, offset in places.items()])
            until = time.monotonic() + CALL_TIMEOUT_S
            while len(times) < len(places) and (left_s := until - time.monotonic()) > 0:
                message = reader.poll(left_s)
                if message is None or message.error():
                    continue
                topic, partition = message.topic(), message.partition()
                assert topic is not None and partition is not None, "of a message without an error"
                times.setdefault(TopicPartition(topic, partition), message.timestamp()[1] / 1000)
        finally:
            reader.close()
        return times

    def close(self) -> None:
        self._admin = None
