"""Ends of jobs at a real receiver: planted slow, quiet and unexplained jobs, refusals, silences, signatures, and ends without a notification."""

from __future__ import annotations

import base64
import json
import logging
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.planted_machine import BEGIN_S, planted, run_of

from alerting.receivers import config
from flitwatch_alerting import job_ends as sender
from flitwatch_alerting.config import read_config
from flitwatch_alerting.engine import Engine
from flitwatch_alerting.evaluate import SECOND_LAG_S, evaluate_rule, explain_fired_alerts
from flitwatch_alerting.job_ends import JobEnds, JobWebhook, read_webhook, sign_message
from flitwatch_db import connect
from flitwatch_db.alerts import store as alerts
from flitwatch_db.alerts.job_ends import KEPT_HOURS, NEWS_S, SETTLED_S
from flitwatch_db.incidents import shown
from flitwatch_db.incidents.update import update_incidents
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.alerts import Rule
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep

ROOT = Path(__file__).resolve().parents[2]

SECRET = bytes(range(32))

STEPS, STEP_S = 40, 2.0


@dataclass(frozen=True)
class Message:
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        return dict(json.loads(self.body)["data"])


class Sink:
    """A receiver whose next answers can be chosen: a status, or None for a connection that ends without one."""

    def __init__(self) -> None:
        self.got: list[Message] = []
        self.answers: list[int | None] = []
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.got.append(Message({name.lower(): value for name, value in self.headers.items()}, body))
                status = sink.answers.pop(0) if sink.answers else 204
                if status is not None:
                    self.send_response(status)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/ends"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def webhook(sink: Sink) -> JobWebhook:
    return JobWebhook(sink.url, SECRET, "https://flitwatch.example")


def ended(conn: Any, job_id: str, ago_s: float, factor: float | None = None, cluster: str = "c") -> None:
    """A job that ended so long ago; with a factor its 40 steps of 2 s were so much slower from the tenth on, without one it has no steps and no other job of its name."""
    end_s = time.time() - ago_s
    start_s = end_s - STEPS * STEP_S * 2
    jobs.upsert_jobs(
        conn,
        [
            Job(
                cluster,
                job_id,
                "COMPLETED",
                user="ann",
                account="physics",
                name="lonely" if factor is None else "milc",
                start_s=start_s,
                end_s=end_s,
                nodes=1,
                node_list="nid1",
                exit_code="0:0",
            )
        ],
    )
    if factor is not None:
        run_id = runs.upsert_run(
            conn,
            Run(run_key=job_id, exe="milc", job_id=job_id, ranks=(0,), nodes=("nid1",), start_s=start_s),
        )
        noise = np.random.default_rng(int(job_id)).normal(1, 0.01, STEPS)
        times_ns = 1e9 * STEP_S * noise * np.where(np.arange(STEPS) >= 10, factor, 1.0)
        runs.upsert_steps(conn, run_id, [RunStep(step, np.array([int(ns)])) for step, ns in enumerate(times_ns)])


def wait_over(conn: Any) -> None:
    conn.execute("UPDATE job_end_notice SET due_at = now() WHERE delivered_at IS NULL")


def test_each_job_that_ended_is_reported_once_with_what_is_known_of_its_slowness(
    embedded_db: str, sink: Sink, webhook: JobWebhook
) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for number in range(5):
            ended(conn, f"{10 + number}", NEWS_S + 1000 * (number + 1), 1.0)
        ended(conn, "20", 300, 1.5)
        ended(conn, "21", 200, 1.0)
        ended(conn, "22", 100, cluster="other & one")
        teller = JobEnds(webhook)
        assert teller.round(conn) == 3 and teller.round(conn) == 0
    # What ended before the hour is no news.
    slow, usual, unknown = (message.data for message in sink.got)
    assert [one["job_id"] for one in (slow, usual, unknown)] == ["20", "21", "22"]
    # Nothing says by whom it was slowed: there are no counters, and no job alongside it.
    assert slow["slowdown"]["verdict"] == "cannot tell" and slow["slowdown"]["reasons"]
    assert 1.3 < slow["slowdown"]["factor"] < 1.6 and slow["slowdown"]["lost_s"] == pytest.approx(30, rel=0.2)
    assert slow["slowdown"]["basis"] == "earlier runs" and slow["slowdown"]["chain"]
    assert usual["slowdown"]["verdict"] == "not slow" and usual["slowdown"]["factor"] is None
    # A job without steps or others like it: unknown, not "not slow".
    assert unknown["slowdown"]["verdict"] == "cannot tell" and unknown["slowdown"]["reasons"]
    assert unknown["slowdown"]["factor"] is None
    assert unknown["page"] == "https://flitwatch.example/jobs/22?cluster=other%20%26%20one"
    assert (slow["user"], slow["state"], slow["simulated"], slow["elapsed_s"]) == ("ann", "COMPLETED", False, 160)
    start, end = (datetime.fromisoformat(slow[name]) for name in ("start", "end"))
    assert (end - start).total_seconds() == 160 and abs(time.time() - 300 - end.timestamp()) < 60


def test_what_is_refused_or_unanswered_comes_again_as_the_same_message(
    embedded_db: str, sink: Sink, webhook: JobWebhook, caplog: pytest.LogCaptureFixture
) -> None:
    sink.answers = [503, None]
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        assert JobEnds(webhook).round(conn) == 0
        # It waits for its next attempt.
        assert JobEnds(webhook).round(conn) == 0 and len(sink.got) == 1
        for taken in (0, 1, 0):
            wait_over(conn)
            assert JobEnds(webhook).round(conn) == taken
        row = conn.execute("SELECT attempts, delivered_at IS NOT NULL, error FROM job_end_notice").fetchone()
    assert row == (3, True, None)
    assert len({message.body for message in sink.got}) == 1 and len(sink.got) == 3
    assert len({message.headers["webhook-id"] for message in sink.got}) == 1
    assert "answers 503" in caplog.text and "cannot be reached" in caplog.text
    # The address may be a secret.
    assert sink.url not in caplog.text


def test_while_nobody_answers_one_message_is_tried_and_the_rest_waits(
    embedded_db: str, sink: Sink, webhook: JobWebhook
) -> None:
    sink.answers = [None]
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for number in range(6):
            ended(conn, f"{20 + number}", 100 + number)
        teller = JobEnds(webhook)
        assert teller.round(conn) == 0 and len(sink.got) == 1
        # The others are due, and so is a job that ended meanwhile: still nothing is sent before the wait is over.
        ended(conn, "40", 90)
        assert teller.round(conn) == 0 and len(sink.got) == 1
        wait_over(conn)
        assert JobEnds(webhook).round(conn) == 7


def test_one_refused_message_does_not_hold_up_the_next(embedded_db: str, sink: Sink, webhook: JobWebhook) -> None:
    sink.answers = [400]
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        ended(conn, "21", 200)
        assert JobEnds(webhook).round(conn) == 1
    assert [message.data["job_id"] for message in sink.got] == ["20", "21"]


def test_a_requeued_job_is_reported_for_each_of_its_lives(embedded_db: str, sink: Sink, webhook: JobWebhook) -> None:
    now_s = time.time()
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        jobs.upsert_jobs(
            conn,
            [
                Job("c", "20", "NODE_FAIL", start_s=now_s - 900, end_s=now_s - 600, restart=0),
                Job("c", "20", "COMPLETED", start_s=now_s - 590, end_s=now_s - 200, restart=1),
            ],
        )
        assert JobEnds(webhook).round(conn) == 2
    assert [message.data["state"] for message in sink.got] == ["NODE_FAIL", "COMPLETED"]
    assert all(message.data["slowdown"]["verdict"] == "cannot tell" for message in sink.got)


@pytest.mark.parametrize(
    ("start_ago_s", "end_ago_s"),
    [(900, None), (900, SETTLED_S / 2), (None, 300), (NEWS_S + 900, NEWS_S + 60)],
    ids=["runs", "has just ended", "never ran", "ended long ago"],
)
def test_what_is_no_news_is_not_reported(
    embedded_db: str, sink: Sink, webhook: JobWebhook, start_ago_s: float | None, end_ago_s: float | None
) -> None:
    now_s = time.time()
    start_s, end_s = (None if ago is None else now_s - ago for ago in (start_ago_s, end_ago_s))
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        jobs.upsert_jobs(conn, [Job("c", "20", "CANCELLED" if end_s else "RUNNING", start_s=start_s, end_s=end_s)])
        assert JobEnds(webhook).round(conn) == 0
    assert sink.got == []


def test_the_signature_is_that_of_the_specification() -> None:
    # The test vector of Standard Webhooks.
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    made = sign_message(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_can_check_what_it_gets(embedded_db: str, sink: Sink, webhook: JobWebhook) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        JobEnds(webhook).round(conn)
    (message,) = sink.got
    signed = f"{message.headers['webhook-id']}.{message.headers['webhook-timestamp']}.".encode() + message.body
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{SECRET.hex()}", "-binary"]
    signature = subprocess.run(command, input=signed, capture_output=True, check=True).stdout
    assert message.headers["webhook-signature"] == "v1," + base64.b64encode(signature).decode()
    assert abs(time.time() - int(message.headers["webhook-timestamp"])) < 120
    assert json.loads(message.body)["type"] == "job.ended"
    # The guide's own function agrees, and refuses a body that was changed.
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "portals.md").read_text(), re.DOTALL)
    guide: dict[str, Any] = {}
    exec(code, guide)
    secret = base64.b64encode(SECRET).decode()
    assert guide["is_genuine"](message.headers, message.body, secret)
    assert not guide["is_genuine"](message.headers, message.body.replace(b"COMPLETED", b"FAILED"), secret)


def test_a_job_that_cannot_be_explained_is_reported_as_such(
    embedded_db: str, sink: Sink, webhook: JobWebhook, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        with connect(embedded_db, autocommit=True) as owner:
            owner.execute("ALTER TABLE run RENAME TO run_away")
            try:
                assert JobEnds(webhook).round(conn) == 1
            finally:
                owner.execute("ALTER TABLE run_away RENAME TO run")
    (message,) = sink.got
    assert message.data["slowdown"]["verdict"] == "cannot tell" and message.data["slowdown"]["reasons"]
    assert "cannot be explained" in caplog.text


def test_what_nobody_takes_for_a_day_is_given_up_and_said(
    embedded_db: str, webhook: JobWebhook, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        ended(conn, "21", 200)
        JobEnds(webhook).round(conn)
        old = "UPDATE job_end_notice SET created_at = now() - interval '1 hour' * %s"
        conn.execute(old, [KEPT_HOURS - 1])
        conn.execute(
            "UPDATE job_end_notice n SET delivered_at = NULL FROM job j WHERE j.job_pk = n.job_pk AND job_id = '20'"
        )
        sender.forget_old(conn)
        assert conn.execute("SELECT count(*) FROM job_end_notice").fetchone() == (2,) and "giving up" not in caplog.text
        conn.execute(old, [KEPT_HOURS + 1])
        with caplog.at_level(logging.ERROR):
            sender.forget_old(conn)
        assert conn.execute("SELECT count(*) FROM job_end_notice").fetchone() == (0,)
    assert "the ends of 1 jobs" in caplog.text


def test_the_engine_tells_and_an_engine_without_a_webhook_does_not(
    embedded_db: str, sink: Sink, webhook: JobWebhook
) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ended(conn, "20", 300)
        Engine(embedded_db, config(), threading.Event()).round(conn)
        assert sink.got == []
        engine = Engine(embedded_db, config(), threading.Event(), webhook=webhook)
        engine.round(conn)
        engine.round(conn)
    assert len(sink.got) == 1 and engine.measures.jobs_reported == 1 and engine.measures.problems == 0


@pytest.mark.parametrize(
    ("url", "secret", "why"),
    [
        (None, base64.b64encode(SECRET).decode(), "FLITWATCH_JOB_WEBHOOK contains no"),
        ("ftp://site.example/x", base64.b64encode(SECRET).decode(), "FLITWATCH_JOB_WEBHOOK contains no"),
        ("https://site.example/x", None, "has no secret"),
        ("https://site.example/x", "c2hvcnQ=", "24 to 64 bytes"),
        ("https://site.example/x", "no Base64: é" * 9, "24 to 64 bytes"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    tmp_path: Path, url: str | None, secret: str | None, why: str
) -> None:
    file = tmp_path / "secret"
    if secret is not None:
        file.write_text(secret)
    with pytest.raises(BadInput, match=why):
        read_webhook(url, file if secret is not None else None, "http://127.0.0.1:8765")
    with pytest.raises(BadInput, match="No such file"):
        read_webhook("https://site.example/x", tmp_path / "absent", "http://127.0.0.1:8765")


@pytest.mark.parametrize("prefix", ["", "whsec_"])
def test_a_secret_is_read_as_openssl_or_a_library_writes_it(tmp_path: Path, prefix: str) -> None:
    file = tmp_path / "secret"
    file.write_text(prefix + base64.b64encode(SECRET).decode() + "\n")
    made = read_webhook("https://site.example/x", file, "http://127.0.0.1:8765/")
    assert made == JobWebhook("https://site.example/x", SECRET, "http://127.0.0.1:8765")
    assert "site.example" not in repr(made) and read_webhook(None, None, "http://127.0.0.1:8765") is None


# The default rule of incidents: one alert an incident, which says who slows whom, follows it and ends with it; and none on a quiet day.


CULPRIT_S, SLOW_END_S, CULPRIT_END_S = 360, 600, 840


@pytest.fixture
def rule() -> Rule:
    return next(one for one in read_config().rules if one.signal == "incident")


def lived(conn: Any, rule: Rule, second: float) -> list[int]:
    """What the engine does once a round; the alerts that began or ceased to fire."""
    update_incidents(conn, BEGIN_S + second)
    with conn.transaction():
        row = conn.execute("SELECT extract(epoch FROM through)::float8 FROM alert_rule WHERE name = %s", [rule.name]).fetchone()  # fmt: skip
        fired = evaluate_rule(conn, rule, row[0], BEGIN_S + second + SECOND_LAG_S)
    explain_fired_alerts(conn)
    return fired


def test_it_fires_once_names_the_cause_and_ends_with_the_incident(
    embedded_db: str, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(embedded_db, (60, CULPRIT_S, -3600, 420), count=18, ends_s=(SLOW_END_S, CULPRIT_END_S, None, None))
    run_of(embedded_db, "1", [(CULPRIT_S - 5, 10_000)], SLOW_END_S)
    with connect(embedded_db, role="writer", autocommit=True) as conn, connect(embedded_db, role="owner") as owner:
        with conn.transaction():
            alerts.sync_file(conn, [rule])
        owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING'")
        owner.commit()
        answers = {second: lived(conn, rule, second) for second in range(300, 601, 20)}
        fired = [(second, numbers) for second, numbers in answers.items() if numbers]
        assert len(fired) == 1 and CULPRIT_S < fired[0][0] <= CULPRIT_S + 120, answers
        ((_, (number,)),) = fired
        made = alerts.load_alert(conn, number)
        assert made["phase"] == "firing" and made["summary"].startswith("Job 2 has been slowing job 1 since "), made
        assert made["evidence"]["causes"] == ["2"] and made["evidence"]["explanation"]["named"] == "2"
        (head,) = shown.list_heads(conn, shown.IncidentFilter(), 2)
        assert made["evidence"]["page"] == f"/incidents/{head['incident_id']}" and made["summary"] == head["title"]
        for job, end in (("1", SLOW_END_S), ("2", CULPRIT_END_S)):
            owner.execute(
                "UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED' WHERE job_id = %s", [BEGIN_S + end, job]
            )
            owner.commit()
            if job == "1":
                # It goes on while the cause does, and says so.
                monkeypatch.setattr(shown, "time", SimpleNamespace(time=lambda: BEGIN_S + 760))
                assert lived(conn, rule, 760) == []
                assert "still keeps its links busy" in alerts.load_alert(conn, number)["summary"]
        assert lived(conn, rule, 1100) == [number]
        assert alerts.load_alert(conn, number)["phase"] == "resolved"
        found = shown.load_detail(conn, head["incident_id"])
        assert isinstance(found, dict) and [(one["alert_id"], one["phase"]) for one in found["alerts"]] == [(number, "resolved")]  # fmt: skip
        # What was long over when it was found is no news.
        assert lived(conn, rule, 5000) == []


def test_a_quiet_day_fires_nothing(embedded_db: str, rule: Rule) -> None:
    planted(embedded_db, (60, CULPRIT_S, -3600, 420), count=14)
    run_of(embedded_db, "1", [], 800)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        with conn.transaction():
            alerts.sync_file(conn, [rule])
        assert [lived(conn, rule, second) for second in range(300, 801, 100)] == [[]] * 6
