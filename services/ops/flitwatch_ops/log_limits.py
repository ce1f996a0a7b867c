"""Current retention limits of a log: of the embedded log in the database, or of Kafka's topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flitwatch_domain.errors import FlitwatchError

_CALL_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class LogLimits:
    """Retention limits: records older than `hours`, or beyond `bytes` in total (compressed), are dropped. None means no limit."""

    hours: float | None
    bytes: int | None

    def __str__(self) -> str:
        limits = [] if self.hours is None else [f"{self.hours:g} h"]
        limits += [] if self.bytes is None else [f"at most {self.bytes / 1e9:.1f} GB"]
        return f"it keeps {', '.join(limits)}" if limits else "it keeps everything, without a limit"


def log_limits(url: str, topics: Mapping[str, int]) -> LogLimits | None:
    """Return the limits for `topics` (partitions by name), for one replica of Kafka. Return None if the log does not report them."""
    try:
        return _of_kafka(url, topics) if url.startswith("kafka://") else _of_table(url)
    except FlitwatchError:
        return None


def _of_table(url: str) -> LogLimits:
    import psycopg

    from flitwatch_db import connect
    from flitwatch_db.core import log_keep
    from flitwatch_domain.errors import Unavailable

    try:
        with connect(url, role="reader", autocommit=True) as conn:
            limits = log_keep.load_limits(conn)
    except psycopg.Error as problem:
        raise Unavailable(f"the log's limits cannot be read: {problem}") from None
    return LogLimits(limits.hours, limits.bytes)


def _of_kafka(url: str, topics: Mapping[str, int]) -> LogLimits:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    from flitwatch_stream.kafka_client import brokers_of, make_unavailable, new_client

    brokers = brokers_of(url)
    admin = new_client(AdminClient, brokers)
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    try:
        answers = admin.describe_configs(resources, request_timeout=_CALL_TIMEOUT_S) if resources else {}
        settings = {
            resource.name: {key: entry.value for key, entry in answer.result(_CALL_TIMEOUT_S).items()}
            for resource, answer in answers.items()
        }
    except (KafkaException, TimeoutError) as problem:
        raise make_unavailable(brokers, problem, admin) from None
    ages = [int(topic_settings["retention.ms"]) for topic_settings in settings.values()]
    sizes = [int(topic_settings["retention.bytes"]) for topic_settings in settings.values()]
    # Kafka deletes a segment only if the others still reach the limit, so it keeps up to one more segment.
    whole = sum(
        topics[name] * (int(topic_settings["retention.bytes"]) + int(topic_settings["segment.bytes"]))
        for name, topic_settings in settings.items()
    )
    return LogLimits(
        None if min(ages, default=-1) < 0 else max(ages) / 3_600_000, None if min(sizes, default=-1) < 0 else whole
    )
