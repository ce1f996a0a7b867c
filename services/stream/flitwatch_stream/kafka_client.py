"""Common parts of all Kafka clients: the brokers of a URL, reconnection, and the errors of failed calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as RdTopicPartition
from confluent_kafka.admin import AdminClient

from flitwatch_domain.errors import BadInput, BadRequest, Unavailable
from flitwatch_stream import kafka_site

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


Made = TypeVar("Made")
#: No call on a broker waits longer than this; and after so long a first try, whether it refuses its client is looked at.
CALL_TIMEOUT_S, REFUSED_S = 10.0, 2.0

#: Errors after which no further try helps: the login and the certificate.
_REFUSALS = {
    KafkaError._AUTHENTICATION: "Check the user and the password",
    KafkaError.SASL_AUTHENTICATION_FAILED: "Check the user and the password",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "Check sasl.mechanism",
    KafkaError._SSL: "Check ssl.ca.location and the certificates",
}
#: Why brokers last refused a client, by bootstrap servers: librdkafka tells it in passing, and its calls only end at their time limit.
_refused: dict[str, tuple[str, str]] = {}


def new_client(make: Callable[[dict[str, Any]], Made], brokers: str, settings: dict[str, Any] | None = None) -> Made:
    """A client made with `settings`, how clients reconnect, and the site's properties.

    Raises
    ------
    BadInput
        The site's properties cannot be read, or librdkafka does not accept them.
    """
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
            # librdkafka quotes what it refuses; a password may stand on the wrong line.
            message = message.replace(f'"{value}"', "(not shown)")
        raise BadInput(
            f"Kafka's client rejects the site's properties: {message}",
            advice=f"Correct the file that {kafka_site.VARIABLE} names.",
        ) from None


def make_error_watcher(brokers: str) -> Callable[[KafkaError], None]:
    """Notes why brokers refuse a client. Of all else librdkafka reconnects automatically; what lasts shows up as a call that runs into its time
    limit."""

    def note(problem: KafkaError) -> None:
        advice = _REFUSALS.get(problem.code())
        if advice is not None:
            _refused[brokers] = (problem.str(), advice)

    return note


def fetch_metadata(admin: AdminClient, brokers: str) -> Any:
    """Fetch what brokers report of themselves and their topics; for a client that they refuse, fail after two seconds, not at the time limit."""
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
    """Forget an earlier refusal: the brokers answer."""
    _refused.pop(brokers, None)


def make_unavailable(brokers: str, problem: object, asked: Any = None) -> Unavailable:
    """Build the error of a failed call; `asked` is a client that reads nothing and that nothing else polls, whose errors are heard first."""
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
    """The oldest offset of a partition and the next to be written; `seen`: as the last fetch said, asked for only if there was none."""
    at = RdTopicPartition(topic, partition)
    try:
        offsets: tuple[int, int] | None = consumer.get_watermark_offsets(at, cached=True) if seen else None
        if offsets is None or offsets[1] < 0:
            offsets = consumer.get_watermark_offsets(at, timeout=CALL_TIMEOUT_S)
    except KafkaException as problem:
        # The consumer's errors are heard where it is read: to poll it here would take a record from it that nobody gets.
        raise make_unavailable(brokers, problem) from None
    if offsets is None:
        raise make_unavailable(brokers, "no offsets within the time limit")
    return offsets
