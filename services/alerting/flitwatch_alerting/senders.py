"""Delivery to each kind of receiver. A key identifies each message, so receivers can detect repeats."""

from __future__ import annotations

import ctypes
import os
import smtplib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from functools import cache
from types import SimpleNamespace
from typing import Any

import httpx
import orjson

from flitwatch_alerting.config import Config, Receiver
from flitwatch_domain.errors import Unavailable, name_extra
from flitwatch_domain.mails import MailPart, compose

Row = dict[str, Any]
TIMEOUT_S = 10.0
#: Deadline of a whole delivery: a receiver that sends a byte now and then never reaches the timeout of one read.
DELIVERY_S = 20.0
MAIL_REPLIES_BYTES = 1 << 20
#: Alertmanager resolves an alert that is not sent again, so its end time is set three rounds ahead.
ALERTMANAGER_REPEAT_S, ROUNDS = 60.0, 3


class Unreachable(Unavailable):
    """The receiver does not answer."""


def labels_of(alert: Row) -> dict[str, str]:
    """Return the labels used to match and group alerts."""
    signal = (alert["evidence"] or {}).get("signal", "")
    return {**alert["labels"], "rule": alert["rule"], "severity": alert["severity"], "signal": signal}


def evidence_address(config: Config, alert: Row) -> str:
    return f"{config.external_url.rstrip('/')}/api/v1/alerts/{alert['alert_id']}"


def page_address(config: Config, alert: Row) -> str | None:
    """Return the address of the page about the alert's subject, at the alert's time."""
    place = (alert["evidence"] or {}).get("page")
    return f"{config.external_url.rstrip('/')}{place}" if place else None


def explanation_title(alert: Row) -> str | None:
    """Return the title of the job's explanation from when the alert began to fire."""
    explanation = (alert["evidence"] or {}).get("explanation")
    return explanation["title"] if explanation else None


def chain_sentences(alert: Row) -> list[str]:
    """Return the causal chain of the alert's job, one sentence per item. It is empty if the job was not slow or the alert concerns no job."""
    explanation = (alert["evidence"] or {}).get("explanation") or {}
    return [f"{sentence['part']}: {sentence['text']}" for sentence in explanation.get("chain", [])]


def send_notices(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    """Deliver one group's notices. Raise Unavailable if the receiver refuses them, Unreachable if it does not answer."""
    deliver_in_time(f"receiver {receiver.name}", lambda: _SENDERS[receiver.kind](config, receiver, notices, key))


class _Overdue(BaseException):
    """Raised in the thread of a delivery that takes too long."""


def deliver_in_time(who: str, send: Callable[[], None]) -> None:
    """Call `send` for at most `DELIVERY_S`. Raise Unavailable if the receiver `who` does not accept the message. Raise Unreachable if it does not
    answer, or not in time."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            with _translate_errors(who):
                send()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, name=f"delivery to {who}", daemon=True)
    thread.start()
    thread.join(DELIVERY_S)
    if thread.is_alive():
        # It is raised when the next byte arrives; without one, the timeout of that read ends the thread.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Overdue))
        raise Unreachable(f"{who} has not accepted the message within {DELIVERY_S:g} s")
    if problems:
        raise problems[0]


@contextmanager
def _translate_errors(who: str) -> Iterator[None]:
    """Convert delivery failures to project errors that name the receiver `who`."""
    try:
        yield
    except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as problem:
        raise Unavailable(f"{who} refuses ({type(problem).__name__})") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, smtplib.SMTPException) as problem:
        # The address can be secret, and the original error text can contain it, so that text is dropped.
        raise Unreachable(f"{who} cannot be reached ({type(problem).__name__})") from None


@cache
def _trust_store() -> ssl.SSLContext:
    """Return the cached TLS trust store: loading it takes longer than sending most messages."""
    return httpx.create_ssl_context()


def post_json(who: str, url: str, body: bytes, headers: dict[str, str]) -> None:
    """Send JSON. Redirects are not followed. Raise Unavailable if the response is not a success."""
    headers = {"Content-Type": "application/json", "User-Agent": "flitwatch-alerting", **headers}
    # Only the response's head is read: an endless body would exhaust memory.
    exchange = httpx.stream("POST", url, content=body, headers=headers, timeout=TIMEOUT_S, verify=_trust_store())
    with exchange as answer:
        if answer.status_code >= 300:
            raise Unavailable(f"{who} answers {answer.status_code}")


def _post_notices(receiver: Receiver, url: str, body: Any, key: str) -> None:
    post_json(f"receiver {receiver.name}", url, orjson.dumps(body), {"Idempotency-Key": key})


def moment_text(time: datetime | None) -> str | None:
    """Format a time in UTC for messages; None if there is none."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _send_alertmanager(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    """API v2: POST /api/v2/alerts; labels identify an alert, so duplicates are merged."""
    body = []
    for alert in notices:
        over = alert["status"] == "resolved"
        repeat = receiver.repeat_s or ALERTMANAGER_REPEAT_S
        ends = alert["resolved_at"] if over else datetime.now(UTC) + timedelta(seconds=ROUNDS * repeat)
        annotations = {
            "summary": alert["summary"],
            "value": f"{alert['value']:.6g}",
            "evidence": evidence_address(config, alert),
        }
        if explanation_title(alert) is not None:
            annotations["explanation"] = explanation_title(alert)
        if alert["probability"] is not None:
            annotations["probability"] = f"{alert['probability']:.3f}"
        # Not a label, because labels identify an alert.
        if _is_simulated(alert):
            annotations["simulated"] = "true"
        # An end in the future would keep the alert active, and Alertmanager refuses an end before the start.
        started = min(alert["fired_at"], ends)
        body.append(
            {
                "labels": {"alertname": alert["rule"], **{k: v for k, v in labels_of(alert).items() if v}},
                "annotations": annotations,
                "startsAt": moment_text(started),
                "endsAt": moment_text(ends),
                "generatorURL": page_address(config, alert) or evidence_address(config, alert),
            }
        )
    _post_notices(receiver, f"{receiver.address().rstrip('/')}/api/v2/alerts", body, key)


def _is_simulated(alert: Row) -> bool:
    return bool((alert["evidence"] or {}).get("simulated"))


def _alert_item(config: Config, alert: Row) -> Row:
    return {
        "alert_id": alert["alert_id"],
        "status": alert["status"],
        "rule": alert["rule"],
        "severity": alert["severity"],
        "labels": alert["labels"],
        "summary": alert["summary"],
        "value": alert["value"],
        "peak": alert["peak"],
        "probability": alert["probability"],
        "fired_at": moment_text(alert["fired_at"]),
        "resolved_at": moment_text(alert["resolved_at"]),
        "evidence": evidence_address(config, alert),
        "page": page_address(config, alert),
        "simulated": _is_simulated(alert),
        "explanation": explanation_title(alert),
        "chain": chain_sentences(alert),
    }


def _send_webhook(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    body = {
        "version": 1,
        "key": key,
        "receiver": receiver.name,
        "alerts": [_alert_item(config, alert) for alert in notices],
    }
    _post_notices(receiver, receiver.address(), body, key)


def _part(config: Config, alert: Row) -> MailPart:
    item = _alert_item(config, alert)
    mark = " [simulated]" if item["simulated"] else ""
    why = f" - {item['explanation']}" if item["explanation"] else ""
    likely = f", probability {alert['probability']:.2f}" if alert["probability"] is not None else ""
    heading = f"{alert['status'].upper()} ({alert['severity']}) {alert['summary']}{likely}{why}{mark}"
    rows = ((alert["evidence"] or {}).get("explanation") or {}).get("timeline", ())
    return MailPart(heading, chain_sentences(alert), item["page"] or item["evidence"], rows)


def _send_slack(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    # Names of users and jobs are external input: escape Slack markup in them.
    lines = [f"{part.heading} {part.page}" for part in (_part(config, alert) for alert in notices)]
    escaped = [line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines]
    _post_notices(receiver, receiver.address(), {"text": "\n".join(escaped), "unfurl_links": False}, key)


def _send_apprise(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    """Send each alert separately under a constant title: PagerDuty uses the title to match a resolved incident."""
    try:
        import apprise
    except ModuleNotFoundError as absent:
        raise Unavailable(str(name_extra(absent) or absent)) from None
    service = apprise.Apprise.instantiate(receiver.address(), suppress_exceptions=True)
    if service is None:
        raise Unavailable(f"receiver {receiver.name}: Apprise does not know this address")
    kinds = {"critical": apprise.NotifyType.FAILURE, "warning": apprise.NotifyType.WARNING}
    for alert in notices:
        part = _part(config, alert)
        over = alert["status"] == "resolved"
        kind = apprise.NotifyType.SUCCESS if over else kinds.get(alert["severity"], apprise.NotifyType.INFO)
        body = "\n".join([part.heading, *part.sentences, part.page])
        if not service.notify(
            body=body, title=f"Flitwatch: {alert['rule']}, alert {alert['alert_id']}", notify_type=kind
        ):
            raise Unavailable(f"receiver {receiver.name}: {service.service_name} did not accept it")


def _send_mail(config: Config, receiver: Receiver, notices: list[Row], key: str) -> None:
    firing = sum(alert["status"] == "firing" for alert in notices)
    rules = ", ".join(sorted({alert["rule"] for alert in notices}))
    subject = f"[Flitwatch] {firing} firing, {len(notices) - firing} resolved: {rules}"
    _post_mail(
        receiver, compose(subject, receiver.sender, receiver.to, key, [_part(config, alert) for alert in notices])
    )


_SENDERS: dict[str, Callable[[Config, Receiver, list[Row], str], None]] = {
    "alertmanager": _send_alertmanager,
    "webhook": _send_webhook,
    "slack": _send_slack,
    "apprise": _send_apprise,
    "mail": _send_mail,
}


def send_test(config: Config, receiver: Receiver, key: str) -> None:
    """Send a test mail. Raise Unavailable if the server refuses it."""
    page = f"{config.external_url.rstrip('/')}/alerts?view=contacts"
    part = MailPart("This is a test. Alerts from Flitwatch will arrive at this address. Nothing is wrong.", [], page)
    mail = compose("[Flitwatch] Test mail", receiver.sender, receiver.to, key, [part])
    deliver_in_time(f"receiver {receiver.name}", lambda: _post_mail(receiver, mail))


class _MailServer(smtplib.SMTP):
    """Mail server of which a limited number of bytes is read: a reply can have any number of lines."""

    _unread_bytes = MAIL_REPLIES_BYTES

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            read = (file := self.sock.makefile("rb")).readline

            def read_line(most: int = -1) -> bytes:
                line = read(most)
                self._unread_bytes -= len(line)
                if self._unread_bytes < 0:
                    raise OSError("the mail server's replies are too long")
                return line

            self.file = SimpleNamespace(readline=read_line, close=file.close)
        return super().getreply()


def _post_mail(receiver: Receiver, message: EmailMessage) -> None:
    with _MailServer(*receiver.mail_server(), timeout=TIMEOUT_S) as server:
        if receiver.starttls:
            server.starttls()
        if receiver.username:
            server.login(receiver.username, os.environ.get(receiver.password_env, ""))
        server.send_message(message)
