"""Client properties required by a site's brokers: librdkafka settings for TLS, SASL and the network, from the site's own file."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from flitwatch_domain.errors import BadInput

#: Path of the file, one `property=value` per line.
VARIABLE = "FLITWATCH_KAFKA_PROPERTIES"
#: Properties that a site may set. Flitwatch sets all others, because they affect loss and duplication of records.
ALLOWED = (
    "security.protocol",
    "sasl.",
    "ssl.",
    "enable.ssl.certificate.verification",
    "https.ca.location",
    "https.ca.pem",
    "broker.address.",
    "client.dns.lookup",
    "client.rack",
    "socket.keepalive.enable",
    "socket.nagle.disable",
    "socket.send.buffer.bytes",
    "socket.receive.buffer.bytes",
    "connections.max.idle.ms",
)
SECRET = ("password", "secret", "sasl.oauthbearer.config", ".pem", ".passphrase")


def load_properties() -> dict[str, str]:
    """Return the site's properties; empty if no file is configured. Raise BadInput if the file cannot be read, other users can read the secrets in
    it, a line is not a property, or the site may not set a property. Messages never contain values."""
    named = os.environ.get(VARIABLE)
    if not named:
        return {}
    try:
        file_stat = os.stat(named)
    except OSError as problem:
        raise _make_file_error(
            named, f"it cannot be read: {problem.strerror}", "Name a file that this service can read."
        ) from None
    return dict(_read_properties(named, file_stat.st_mtime_ns, file_stat.st_mode))


@lru_cache(maxsize=4)
def _read_properties(named: str, _changed_ns: int, mode: int) -> tuple[tuple[str, str], ...]:
    try:
        text = Path(named).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise _make_file_error(
            named, f"it cannot be read: {reason}", "Name a text file that this service can read."
        ) from None
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            raise _make_file_error(
                named, f"line {number} is not a property", "Write a line as: security.protocol=SASL_SSL"
            )
        if not name.startswith(ALLOWED):
            raise _make_file_error(named, f"line {number}: {name} cannot be set", f"Allowed are {', '.join(ALLOWED)}.")
        if name in settings:
            raise _make_file_error(named, f"line {number}: {name} is set twice", "Keep one of the two lines.")
        settings[name] = value
    secret = next((name for name in settings if any(part in name for part in SECRET)), None)
    if secret is not None and mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise _make_file_error(
            named, f"it contains {secret}, and other users can read or change it", f"Run: chmod 640 {named}"
        )
    return tuple(settings.items())


def _make_file_error(named: str, reason: str, advice: str) -> BadInput:
    return BadInput(f"the file of Kafka's properties: {reason}", where=named, advice=advice)
