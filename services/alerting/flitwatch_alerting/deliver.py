"""Delivery of notifications. Each one is stored as a row before it is sent, so a restart neither loses nor repeats it."""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from flitwatch_alerting.config import Config, Receiver
from flitwatch_alerting.senders import ALERTMANAGER_REPEAT_S, Unreachable, labels_of, send_notices
from flitwatch_db.alerts import store as alerts
from flitwatch_domain.alerts import check_silence, match_labels
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.heartbeat import Heartbeat

log = logging.getLogger(__name__)

RETRY_S = (5.0, 15.0, 60.0, 300.0)
#: After this many seconds, a round starts no further message: rules have priority.
ROUND_S = 5.0
#: Maximum number of receivers that get a message at the same time.
AT_A_TIME = 64
Row = dict[str, Any]
#: Called with the skipped item and the reason.
Refused = Callable[[str, str], object]


def is_inhibited(config: Config, alert: Row, firing: list[Row]) -> bool:
    """Return whether another firing alert suppresses the notification of this one."""
    own = labels_of(alert)
    for rule in config.inhibit:
        if not match_labels(rule.target, own):
            continue
        for other in firing:
            labels = labels_of(other)
            if (
                other["alert_id"] != alert["alert_id"]
                and match_labels(rule.source, labels)
                and all(labels.get(name) == own.get(name) for name in rule.equal)
            ):
                return True
    return False


def _ignore_refusal(what: str, why: str) -> None:
    """Ignore a skipped item: the caller did not ask for it."""


def load_silences(conn: Any, refused: Refused = _ignore_refusal) -> list[dict[str, str]]:
    """Return the matchers of the active silences. Skip a silence that is invalid or would match every alert, and report it to `refused`."""
    read = []
    for number, matchers in alerts.active_silences(conn):
        try:
            check_silence(matchers)
        except ValueError as problem:
            refused(f"silence {number}", str(problem))
        else:
            read.append(matchers)
    return read


def is_quiet(config: Config, held: list[dict[str, str]], alert: Row, firing: list[Row]) -> bool:
    """Return whether a silence or another alert currently suppresses this alert's notification."""
    labels = labels_of(alert)
    return any(match_labels(matchers, labels) for matchers in held) or is_inhibited(config, alert, firing)


def plan_notices(conn: Any, config: Config, refused: Refused = _ignore_refusal) -> None:
    """Create a notice for each notification that is due and has none yet, within the caller's transaction."""
    firing, silence_matchers = alerts.list_firing_alerts(conn), load_silences(conn, refused)
    for alert in firing:
        if is_quiet(config, silence_matchers, alert, firing):
            continue
        labels = labels_of(alert)
        for receiver in config.receivers:
            if match_labels(receiver.match, labels):
                key = "/".join(f"{name}={labels.get(name, '')}" for name in config.group_by)
                alerts.queue_notice(
                    conn, alert["alert_id"], receiver.name, key, config.group_wait_s, repeat_of(config, receiver)
                )
    alerts.queue_resolved_notices(conn)


def repeat_of(config: Config, receiver: Receiver) -> float:
    """Return the seconds after which a firing alert is reported again."""
    if receiver.repeat_s is not None:
        return receiver.repeat_s
    return ALERTMANAGER_REPEAT_S if receiver.kind == "alertmanager" else config.repeat_s


def send_due_notices(conn: Any, config: Config, heartbeat: Heartbeat | None = None) -> int:
    """Send due notices, one message per receiver and group. Return the number accepted. The connection must be in autocommit mode.

    Receivers get their messages at the same time, so a slow one delays no other. A failed message is retried with the same key and contents, except
    for notices silenced since. Newer notices go into a message of their own.
    """
    receivers_by_name = {receiver.name: receiver for receiver in config.receivers}
    firing, silence_matchers = alerts.list_firing_alerts(conn), load_silences(conn)
    quiet = [
        alert["alert_id"]
        for alert in alerts.list_unnotified_alerts(conn, list(receivers_by_name))
        if is_quiet(config, silence_matchers, alert, firing)
    ]
    alerts.leave_batches(conn, quiet)
    waiting: dict[str, deque[tuple[str, str | None]]] = {}
    for name, group, tried in alerts.due_batches(conn, config.group_interval_s, quiet):
        if name in receivers_by_name:
            waiting.setdefault(name, deque()).append((group, tried))
    notified_groups: set[tuple[str, str]] = set()
    sending: dict[Future[None], tuple[str, str, list[Row]]] = {}
    sent_count, ends_s = 0, time.monotonic() + ROUND_S
    with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="deliveries") as pool:

        def send_next(name: str) -> None:
            while waiting[name]:
                group, tried = waiting[name].popleft()
                # New notices for a recently notified group wait for the group's interval.
                if tried is None and (name, group) in notified_groups:
                    continue
                batch = tried or _make_batch(conn, name, alerts.fresh_notices(conn, name, group, quiet))
                if rows := alerts.list_open_notices(conn, batch) if batch else []:
                    sending[pool.submit(send_notices, config, receivers_by_name[name], rows, batch)] = name, group, rows
                    return

        # The others get theirs in the next round: a message in the pool's queue would start too late.
        for name in list(waiting)[:AT_A_TIME]:
            send_next(name)
        while sending:
            for ended in wait(sending, return_when=FIRST_COMPLETED).done:
                name, group, rows = sending.pop(ended)
                if heartbeat is not None:
                    heartbeat.beat()
                if (problem := ended.exception()) is None:
                    alerts.mark_notices_delivered(conn, [row["notice_id"] for row in rows])
                    notified_groups.add((name, group))
                    sent_count += len(rows)
                else:
                    _postpone(conn, name, rows, problem)
                if time.monotonic() < ends_s and not isinstance(problem, Unreachable):
                    send_next(name)
    return sent_count


def _postpone(conn: Any, name: str, rows: list[Row], problem: BaseException) -> None:
    """Retry a message later: a failure of one receiver must not keep the others from being notified."""
    why = problem.message if isinstance(problem, FlitwatchError) else f"receiver {name}: {type(problem).__name__}"
    retry_s = RETRY_S[min(max(row["attempts"] for row in rows), len(RETRY_S) - 1)]
    log.warning("%s; retrying in %.0f s", why, retry_s)
    mark = alerts.UNANSWERED if isinstance(problem, Unreachable) else ""
    alerts.postpone_notices(conn, [row["notice_id"] for row in rows], mark + why, retry_s)


def _make_batch(conn: Any, receiver: str, numbers: list[int]) -> str:
    """Combine notices into a message and return its key, or an empty string without notices. The key is stored before sending, so a restart reuses
    it."""
    if not numbers:
        return ""
    # The key lets a receiver recognise a message that is sent again because its response was lost.
    key = hashlib.blake2b(f"{receiver}/{numbers}".encode(), digest_size=16).hexdigest()
    alerts.make_batch(conn, numbers, key)
    return key
