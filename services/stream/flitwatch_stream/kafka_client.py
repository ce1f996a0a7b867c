"""What every client of Kafka needs: the brokers of a URL, how it reconnects, and what a failed call means."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as RdTopicPartition

from flitwatch_domain.errors import BadRequest, Unavailable

#: How soon a broker that came back is found again; a broker that is away shows as a call's time limit, not as lines of librdkafka's log.
RECONNECT: dict[str, Any] = {
    "log_level": 2,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "socket.connection.setup.timeout.ms": 5000,
}


def brokers_of(url: str) -> str:
    """The bootstrap servers of a `kafka://` URL."""
    brokers = url.removeprefix("kafka://").strip("/")
    if not brokers or "/" in brokers or "@" in brokers:
        raise BadRequest("this is not a Kafka URL", advice="Write kafka://host:9092[,host:9092].")
    return brokers


def unavailable(brokers: str, problem: object) -> Unavailable:
    """What a failed call means to the caller."""
    if isinstance(problem, KafkaException) and problem.args and isinstance(problem.args[0], KafkaError):
        problem = problem.args[0].str()
    return Unavailable(
        f"Kafka at {brokers} does not answer: {problem}", advice="Check that the broker runs and is reachable."
    )


def quiet(_: KafkaError) -> None:
    """librdkafka reconnects by itself; what lasts shows up as a call that runs into its time limit."""


def watermarks(consumer: Any, brokers: str, topic: str, partition: int, seen: bool = False) -> tuple[int, int]:
    """The oldest offset of a partition and the next to be written; `seen`: as the last fetch said, asked for only if there was none."""
    at = RdTopicPartition(topic, partition)
    try:
        found = consumer.get_watermark_offsets(at, cached=True) if seen else None
        if found is None or found[1] < 0:
            found = consumer.get_watermark_offsets(at, timeout=CALL_TIMEOUT_S)
    except KafkaException as problem:
        raise unavailable(brokers, problem) from None
    if found is None:
        raise unavailable(brokers, "no offsets within the time limit")
    return found


#: No call on a broker waits longer than this.
CALL_TIMEOUT_S = 10.0
