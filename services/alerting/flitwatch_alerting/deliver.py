"""Delivery: what is to be told is a row before it is told, so that a restart neither loses nor repeats it."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from flitwatch_alerting.config import Config, Receiver
from flitwatch_alerting.senders import ALERTMANAGER_REPEAT_S, labels_of, send
from flitwatch_db import alerts
from flitwatch_domain.alerts import matches
from flitwatch_domain.errors import FlitwatchError

log = logging.getLogger(__name__)

RETRY_S = (5.0, 15.0, 60.0, 300.0)
Row = dict[str, Any]


def inhibited(config: Config, alert: Row, firing: list[Row]) -> bool:
    """Whether another alert that fires keeps this one from being told."""
    own = labels_of(alert)
    for rule in config.inhibit:
        if not matches(rule.target, own):
            continue
        for other in firing:
            labels = labels_of(other)
            if (
                other["alert_id"] != alert["alert_id"]
                and matches(rule.source, labels)
                and all(labels.get(name) == own.get(name) for name in rule.equal)
            ):
                return True
    return False


def plan(conn: Any, config: Config) -> None:
    """Make a notice of everything that is to be told and is not yet, within the caller's transaction."""
    firing = alerts.firing(conn)
    silences = alerts.active_silences(conn)
    for alert in firing:
        labels = labels_of(alert)
        if any(matches(matchers, labels) for matchers in silences) or inhibited(config, alert, firing):
            continue
        for receiver in config.receivers:
            if matches(receiver.match, labels):
                key = "/".join(f"{name}={labels.get(name, '')}" for name in config.group_by)
                alerts.want_notice(
                    conn, alert["alert_id"], receiver.name, key, config.group_wait_s, repeat_of(config, receiver)
                )
    alerts.want_resolved(conn)


def repeat_of(config: Config, receiver: Receiver) -> float:
    """Seconds after which an alert that still fires is told again."""
    if receiver.repeat_s is not None:
        return receiver.repeat_s
    return ALERTMANAGER_REPEAT_S if receiver.kind == "alertmanager" else config.repeat_s


def dispatch(conn: Any, config: Config) -> int:
    """Send what is due, one message a receiver and group; return how many were taken. The connection commits by itself."""
    known = {receiver.name: receiver for receiver in config.receivers}
    sent = 0
    for name, group in alerts.due_groups(conn, config.group_interval_s):
        if name not in known:
            continue
        rows = alerts.notices(conn, name, group)
        numbers = [row["notice_id"] for row in rows]
        # A receiver that checks it takes a message once, whenever it comes again after a lost answer.
        key = hashlib.blake2b(f"{name}/{numbers}".encode(), digest_size=16).hexdigest()
        try:
            send(config, known[name], rows, key)
        except Exception as problem:
            # Whatever one receiver's message stumbles over, the others are told.
            why = (
                problem.message if isinstance(problem, FlitwatchError) else f"receiver {name}: {type(problem).__name__}"
            )
            attempts = min(max(row["attempts"] for row in rows), len(RETRY_S) - 1)
            log.warning("%s; again in %.0f s", why, RETRY_S[attempts])
            alerts.failed(conn, numbers, why, RETRY_S[attempts])
            continue
        alerts.delivered(conn, numbers)
        sent += len(numbers)
    return sent
