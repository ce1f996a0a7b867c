"""Common parts of all Kafka clients: the brokers of a URL, reconnection, and the errors of failed calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as RdTopicPartition
from confluent_kafka.admin import AdminClient

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_stream import kafka_site

#: Reconnection intervals. An unavailable broker is reported by a call's timeout, not in librdkafka's log.
RECONNECT: dict[str, Any] = {
    "log_level": 2,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "socket.connection.setup.timeout.ms": 5000,
}


def brokers_of(url: str) -> str:
    """Return the bootstrap servers of a `kafka://` URL."""
    brokers = url.removeprefix("kafka://").strip("/")
    if not brokers or "/" in brokers or "@" in brokers:
        raise BadRequest("this is not a Kafka URL", advice="Write kafka://host:9092[,host:9092].")
    return brokers


Made = TypeVar("Made")
#: Time limit of a broker call, and of the first attempt before checking whether the broker refuses its client.
CALL_TIMEOUT_S, REFUSED_S = 10.0, 2.0

#: Errors that a retry cannot fix: login and certificate.
_REFUSALS = {
    KafkaError._AUTHENTICATION: "Check the user and the password",
    KafkaError.SASL_AUTHENTICATION_FAILED: "Check the user and the password",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "Check sasl.mechanism",
    KafkaError._SSL: "Check ssl.ca.location and the certificates",
}
#: Reason of the last refusal, by bootstrap servers. librdkafka reports it only to a callback, and its calls end only at their timeout.
_refused: dict[str, tuple[str, str]] = {}


def new_client(make: Callable[[dict[str, Any]], Made], brokers: str, settings: dict[str, Any] | None = None) -> Made:
    """Create a client with `settings`, the reconnection settings and the site's properties. Raise BadInput if the site's properties cannot be read,
    or librdkafka does not accept them."""
    site = kafka_site.load_properties()
    clear_refusal(brokers)
    whole = {
        "bootstrap.servers": brokers,
        "error_cb": make_error_watcher(brokers),
        **RECONNECT,
        **(settings or {}),
        **site,
    }
    try:
        return make(whole)
    except KafkaException as problem:
        if not site:
            raise
        message = problem.args[0].str()
        for value in filter(None, site.values()):
            # librdkafka quotes rejected values, and a password can be on the wrong line.
            message = message.replace(f'"{value}"', "(not shown)")
        raise BadInput(
            f"Kafka's client rejects the site's properties: {message}",
            advice=f"Correct the file that {kafka_site.VARIABLE} names.",
        ) from None


def make_error_watcher(brokers: str) -> Callable[[KafkaError], None]:
    """Return a callback that records why brokers refuse a client. librdkafka recovers from other errors, and a lasting one appears as a call's
    timeout."""

    def note(problem: KafkaError) -> None:
        advice = _REFUSALS.get(problem.code())
        if advice is not None:
            _refused[brokers] = (problem.str(), advice)

    return note


def fetch_metadata(admin: AdminClient, brokers: str) -> Any:
    """Fetch the metadata of brokers and topics. If they refuse the client, fail after two seconds instead of at the timeout."""
    for limit_s in (REFUSED_S, CALL_TIMEOUT_S - REFUSED_S):
        try:
            cluster = admin.list_topics(timeout=limit_s)
        except KafkaException as problem:
            failure = make_unavailable(brokers, problem, admin)
            if brokers in _refused:
                break
        else:
            clear_refusal(brokers)
            return cluster
    raise failure


def clear_refusal(brokers: str) -> None:
    """Clear a recorded refusal once the brokers answer."""
    _refused.pop(brokers, None)


def make_unavailable(brokers: str, problem: object, asked: Any = None) -> Unavailable:
    """Build the error of a failed call. Errors of `asked` are polled first; it must be a client that reads nothing and that no other code polls."""
    if asked is not None:
        asked.poll(0)
    if isinstance(problem, KafkaException) and problem.args and isinstance(problem.args[0], KafkaError):
        problem = problem.args[0].str()
    if brokers in _refused:
        reason, advice = _refused[brokers]
        return Unavailable(
            f"Kafka at {brokers} refuses this client: {reason}",
            advice=f"{advice} in the file that {kafka_site.VARIABLE} names.",
        )
    return Unavailable(
        f"Kafka at {brokers} does not answer: {problem}",
        advice="Check that the broker runs and is reachable, and that its listener uses the security.protocol in the file that"
        f" {kafka_site.VARIABLE} names (without one: PLAINTEXT).",
    )


def fetch_watermarks(consumer: Any, brokers: str, topic: str, partition: int, seen: bool = False) -> tuple[int, int]:
    """Return a partition's oldest offset and the next one to be written. With `seen`, use the last fetch's values if there are any."""
    at = RdTopicPartition(topic, partition)
    try:
        offsets: tuple[int, int] | None = consumer.get_watermark_offsets(at, cached=True) if seen else None
        if offsets is None or offsets[1] < 0:
            offsets = consumer.get_watermark_offsets(at, timeout=CALL_TIMEOUT_S)
    except KafkaException as problem:
        # The consumer's errors are reported where it is read: polling here would consume and lose a record.
        raise make_unavailable(brokers, problem) from None
    if offsets is None:
        raise make_unavailable(brokers, "no offsets within the time limit")
    return offsets
