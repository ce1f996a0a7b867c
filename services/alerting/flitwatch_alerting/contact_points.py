"""Contact points as receivers, and their test mails."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from typing import Any

from flitwatch_alerting.config import Config, Receiver
from flitwatch_alerting.deliver import ROUND_S
from flitwatch_alerting.senders import send_test
from flitwatch_db.alerts import contacts
from flitwatch_domain.errors import FlitwatchError

log = logging.getLogger(__name__)

Row = dict[str, Any]
#: Matchers for alerts of at least the given severity.
_MATCH = {"info": {}, "warning": {"severity": "/warning|critical/"}, "critical": {"severity": "critical"}}


def _make_receiver(config: Config, row: Row) -> Receiver:
    receiver = Receiver(
        name=row["name"],
        kind="mail",
        to=tuple(row["addresses"]),
        match=_MATCH[row["least_severity"]],
        **config.mail.model_dump(),
    )
    # Receivers in the file cannot have a colon in their name, so the two kinds never collide.
    return receiver.model_copy(update={"name": f"contact:{row['name']}"})


def with_contacts(conn: Any, config: Config) -> Config:
    """Return the configuration with the database's contact points added to its receivers."""
    contact_receivers = tuple(_make_receiver(config, row) for row in contacts.load_contact_points(conn))
    return config.model_copy(update={"receivers": (*config.receivers, *contact_receivers)})


def send_tests(conn: Any, config: Config, beat: Callable[[], object] = lambda: None) -> int:
    """Send requested test mails once, for at most a few seconds and the mail that has begun, and record the outcome. Return the number sent.

    The connection must be in autocommit mode.
    """
    sent_count, ends_s = 0, time.monotonic() + ROUND_S
    for row in contacts.load_contact_points(conn):
        if not row["waits"]:
            continue
        key = hashlib.blake2b(f"test {row['name']} {row['test_asked_at']}".encode(), digest_size=16).hexdigest()
        try:
            send_test(config, _make_receiver(config, row), key)
        except Exception as problem:
            why = problem.message if isinstance(problem, FlitwatchError) else type(problem).__name__
            log.warning("the test mail to contact point %s was not sent: %s", row["name"], why)
            contacts.record_test_result(conn, row["name"], why)
        else:
            contacts.record_test_result(conn, row["name"], None)
            sent_count += 1
        beat()
        if time.monotonic() >= ends_s:
            break
    return sent_count
