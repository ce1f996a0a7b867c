"""Alerts that tests fire, and the engine that delivers them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import numpy as np
from aiosmtpd.controller import Controller
from support.waiting import free_port

from flitwatch_alerting.config import Config
from flitwatch_alerting.engine import Engine
from flitwatch_db import connect
from flitwatch_db.alerts import store as alerts
from flitwatch_db.core.connection import clock_s
from flitwatch_db.runs import store as runs
from flitwatch_domain.alerts import Sample, SeriesState, read_rule
from flitwatch_domain.runs import Run, RunStep


def fire(conn: Any, name: str, **labels: str) -> int:
    """Fire an alert of a separate rule and return its id."""
    rule = read_rule({"name": name, "signal": "stall_ratio", "above": 1})
    alerts.save_rule(conn, rule, "api")
    at_s = clock_s(conn)
    sample = Sample(at_s, (("fabric", "demo"), *sorted(labels.items())), 2.0)
    return alerts.open_alert(conn, rule, sample, SeriesState("firing", at_s, at_s, 2.0), {"signal": rule.signal})


@contextmanager
def running(url: str, chosen: Config) -> Iterator[Engine]:
    """Run an engine in a separate thread."""
    stop = threading.Event()
    engine = Engine(url, chosen, stop, tick_s=0.1)
    thread = threading.Thread(target=engine.run)
    thread.start()
    try:
        yield engine
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def foretell(url: str, expected_s: float, low_s: float, high_s: float, ago_s: float = 40.0, key: str = "one") -> int:
    """Store a run and a forecast of its next steps, whose usual time is 100 s. Return the run's id."""
    with connect(url, role="writer") as conn:
        run_id = runs.upsert_run(
            conn, Run(run_key=key, exe="milc", job_id="77", ranks=(0,), nodes=("nid1",), simulated=True)
        )
        runs.upsert_steps(conn, run_id, [RunStep(0, np.array([10**9]))])
        conn.execute(
            "INSERT INTO forecast (run_id, after_steps, ahead, made_at, forecaster, expected_s, low_s, high_s, usual_s, curve_s)"
            " SELECT %s, coalesce(max(after_steps), 0) + 5, 10, clock_timestamp() - %s * interval '1 second', 'attention', %s, %s, %s, 100, '{}'"
            " FROM forecast WHERE run_id = %s",
            [run_id, ago_s, expected_s, low_s, high_s, run_id],
        )
    return run_id


# A real SMTP server that keeps accepted mails.


#: Mail to this domain is refused.
REFUSED = "refused.example"


class Sink:
    """Received mails in order of arrival."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        if address.endswith(f"@{REFUSED}"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


@contextmanager
def smtp_sink() -> Iterator[tuple[Sink, str]]:
    """Yield the mails, and `host:port` of the server."""
    sink = Sink()
    controller = Controller(sink, hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield sink, f"127.0.0.1:{controller.port}"
    finally:
        controller.stop()
