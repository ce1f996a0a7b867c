"""Choice of the log backend from its URL."""

from __future__ import annotations

from flitwatch_domain.errors import BadRequest
from flitwatch_stream.log import Log


def open_log(url: str) -> Log:
    """Open a log by its URL: `kafka://host:port[,host:port]` or `postgresql://...`. The backend's library is loaded on demand."""
    scheme = url.partition("://")[0]
    if scheme == "kafka":
        from flitwatch_stream.kafka import KafkaLog

        return KafkaLog(url)
    if scheme in ("postgresql", "postgres"):
        from flitwatch_stream.table import TableLog

        return TableLog(url)
    raise BadRequest(
        "this is not the URL of a log", advice="Write kafka://host:9092 or postgresql://user@host/database."
    )
