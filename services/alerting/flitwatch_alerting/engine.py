"""Alerting engine: only one per database is active. It evaluates rules, then plans and sends notices, until it is stopped."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from flitwatch_alerting import deliver, job_ends
from flitwatch_alerting.config import Config, Receiver
from flitwatch_alerting.deliver import ROUND_S
from flitwatch_alerting.evaluate import emit_alert_events, evaluate_rule, explain_fired_alerts
from flitwatch_alerting.senders import send_test
from flitwatch_db import connect
from flitwatch_db.alerts import contacts
from flitwatch_db.alerts import store as alerts
from flitwatch_db.core import events
from flitwatch_db.core.connection import clock_s
from flitwatch_db.core.deadlines import LONG_STATEMENT_S, STILL_S
from flitwatch_db.incidents import update as incidents
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.heartbeat import Heartbeat

log = logging.getLogger(__name__)

TICK_S = 2.0
RETRY_S = 2.0
TIDY_EVERY = 1800
#: Minimum interval between two incident checks.
INCIDENTS_EVERY_S = 10.0


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


@dataclass
class Measures:
    """Counters since the engine started."""

    rounds: int = 0
    changed: int = 0
    delivered: int = 0
    problems: int = 0
    jobs_reported: int = 0
    incidents: int = 0


class Engine:
    """Alerting engine: evaluates rules and delivers notifications.

    Parameters
    ----------
    url : str             the database
    stop : Event          stops the engine after the current round
    webhook : JobWebhook, optional    receives job ends
    heartbeat : Heartbeat         beats with each rule and message, and while waiting for the database or for another engine to stop
    """

    def __init__(
        self,
        url: str,
        config: Config,
        stop: threading.Event,
        tick_s: float = TICK_S,
        heartbeat: Heartbeat | None = None,
        webhook: job_ends.JobWebhook | None = None,
    ) -> None:
        self.url, self.config, self.stop, self.tick_s = url, config, stop, tick_s
        self.heartbeat = heartbeat or Heartbeat()
        self.measures = Measures()
        self.job_ends = job_ends.JobEnds(webhook, self.heartbeat.beat) if webhook is not None else None
        self._said: dict[str, str] = {}
        self._looked_s, self._heard = 0.0, 0

    def run(self) -> None:
        """Run until stopped. If the database connection is lost, wait for it."""
        while not self.stop.is_set():
            self.heartbeat.beat()
            try:
                with connect(
                    self.url,
                    role="writer",
                    application="flitwatch alerting",
                    autocommit=True,
                    statement_s=LONG_STATEMENT_S,
                    still_s=STILL_S,
                ) as conn:
                    self._run_as_leader(conn)
            except (psycopg.Error, FlitwatchError) as problem:
                # A table that is locked or being restored is handled like a lost database.
                self.measures.problems += 1
                log.warning("the database does not answer (%s); retrying", type(problem).__name__)
                self.heartbeat.wait(self.stop, RETRY_S)

    def _run_as_leader(self, conn: psycopg.Connection) -> None:
        while not alerts.acquire_leadership(conn):
            if self.heartbeat.wait(self.stop, RETRY_S):
                return
        with conn.transaction():
            alerts.sync_file(conn, self.config.rules)
        while not self.stop.is_set():
            self.round(conn)
            self.heartbeat.wait(self.stop, self.tick_s)

    @contextlib.contextmanager
    def _isolate_failure(self, conn: psycopg.Connection, what: str) -> Iterator[None]:
        """Log and skip a failure, so that one bad rule or receiver does not stop the others. If the database connection is lost, raise the error
        again."""
        try:
            yield
        except Exception as problem:
            if conn.closed:
                raise
            self.measures.problems += 1
            self._log_once(what, f"{type(problem).__name__}: {problem}")
        else:
            self._said.pop(what, None)

    def _log_once(self, what: str, why: str) -> None:
        """Log a problem once, not in each round."""
        if self._said.get(what) != why:
            log.error("%s failed; skipping it: %s", what, why)
        self._said[what] = why

    def round(self, conn: psycopg.Connection) -> None:
        """Run one round: evaluate every rule, then deliver. `conn` must be in autocommit mode."""
        now_s = clock_s(conn)
        for rule, through_s in alerts.load_rules(conn, lambda name, why: self._log_once(f"rule {name}", why)):
            self.heartbeat.beat()
            if rule.enabled:
                with self._isolate_failure(conn, f"rule {rule.name}"), conn.transaction():
                    changed = evaluate_rule(conn, rule, through_s, now_s)
                    emit_alert_events(conn, changed)
                    self.measures.changed += len(changed)
        with self._isolate_failure(conn, "explanations"):
            explain_fired_alerts(conn, self.heartbeat.beat)
        config = self.config
        with self._isolate_failure(conn, "contact points"):
            config = with_contacts(conn, config)
        with self._isolate_failure(conn, "notifications"), conn.transaction():
            emit_alert_events(conn, alerts.close_orphans(conn))
            deliver.plan_notices(conn, config, self._log_once)
        with self._isolate_failure(conn, "delivery"):
            self.measures.delivered += deliver.send_due_notices(conn, config, self.heartbeat)
        with self._isolate_failure(conn, "test mails"):
            send_tests(conn, config, self.heartbeat.beat)
        if now_s - self._looked_s >= INCIDENTS_EVERY_S:
            self._looked_s = now_s
            with self._isolate_failure(conn, "incidents"):
                heard = events.last_id(conn)
                self.measures.incidents += len(
                    incidents.update_incidents(conn, now_s, self.heartbeat.beat, self._heard)
                )
                self._heard = heard
        if self.job_ends is not None:
            with self._isolate_failure(conn, "ends of jobs"):
                self.measures.jobs_reported += self.job_ends.round(conn)
        if self.measures.rounds % TIDY_EVERY == 0:
            with self._isolate_failure(conn, "the end of old notices of jobs"):
                job_ends.forget_old(conn)
            with self._isolate_failure(conn, "the end of old alerts"):
                alerts.forget_old(conn)
        self.measures.rounds += 1
