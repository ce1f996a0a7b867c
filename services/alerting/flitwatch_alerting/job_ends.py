"""Webhook for ended jobs: one signed JSON message per job, with the verdict on its slowness.

Headers and signature follow Standard Webhooks 1.0, so receivers can verify them with existing libraries.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import psycopg

from flitwatch_alerting.config import is_web
from flitwatch_alerting.deliver import RETRY_S
from flitwatch_alerting.evaluate import JobVerdict
from flitwatch_alerting.senders import Unreachable, deliver_in_time, moment_text, post_json
from flitwatch_db.alerts import job_ends
from flitwatch_db.jobs.as_of import at_moment, one_job
from flitwatch_db.jobs.explanation import explain_job
from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable

log = logging.getLogger(__name__)

Row = dict[str, Any]
WHO = "the webhook of job ends"
#: After this many seconds, a round stops with the current message: rules and alerts have priority.
ROUND_S, MOST = 5.0, 50
#: The specification requires 24 to 64 bytes.
_LEAST_SECRET, _MOST_SECRET = 24, 64
_PREFIX = "whsec_"


class SlowdownVerdict(JobVerdict):
    """Verdict on a job's slowness at its end. `factor` and `lost_s` are None if unknown or if the job was not slow."""

    basis: str | None
    factor: float | None
    lost_s: float | None


@dataclass(frozen=True)
class JobWebhook:
    """Webhook for ended jobs: its URL, the signing secret, and the page's public address."""

    url: str = field(repr=False)
    secret: bytes = field(repr=False)
    external_url: str


def read_webhook(url: str | None, secret_file: Path | None, external_url: str) -> JobWebhook | None:
    """Read the webhook from the settings; None if it has no URL. Raise BadInput if the address or the secret is missing or invalid."""
    if not url and secret_file is None:
        return None
    if not url or not is_web(url):
        raise BadInput(
            "FLITWATCH_JOB_WEBHOOK contains no http or https URL",
            advice="Set the address for job ends, or remove the secret.",
        )
    if secret_file is None:
        raise BadInput(
            "FLITWATCH_JOB_WEBHOOK has no secret",
            advice="Create one (openssl rand -base64 32 > FILE), and name the file in FLITWATCH_JOB_WEBHOOK_SECRET_FILE.",
        )
    return JobWebhook(url, _read_secret(secret_file), external_url.rstrip("/"))


def _read_secret(file: Path) -> bytes:
    advice = "Create one with openssl rand -base64 32 > FILE."
    try:
        secret = base64.b64decode(file.read_text("ascii").strip().removeprefix(_PREFIX), validate=True)
    except OSError as problem:
        raise BadInput(f"FLITWATCH_JOB_WEBHOOK_SECRET_FILE: {file}: {problem.strerror}", advice=advice) from None
    except (UnicodeDecodeError, binascii.Error):
        secret = b""
    if not _LEAST_SECRET <= len(secret) <= _MOST_SECRET:
        raise BadInput(
            f"FLITWATCH_JOB_WEBHOOK_SECRET_FILE: {file} contains no {_LEAST_SECRET} to {_MOST_SECRET} bytes in Base64",
            advice=advice,
        )
    return secret


def sign_message(secret: bytes, key: str, sent_s: int, body: bytes) -> str:
    """Return a message's signature (Standard Webhooks 1.0): HMAC-SHA256 of key, epoch seconds and body."""
    signed = b".".join([key.encode(), str(sent_s).encode(), body])
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


class JobEnds:
    """Reports ended jobs to the webhook.

    Parameters
    ----------
    beat : callable     called with each job and message
    """

    def __init__(self, webhook: JobWebhook, beat: Callable[[], object] = lambda: None) -> None:
        self.webhook, self.beat = webhook, beat
        self._away, self._away_until_s = 0, 0.0

    def round(self, conn: psycopg.Connection) -> int:
        """Queue ended jobs and send due messages for at most a few seconds. Return the number accepted. The connection must be in autocommit mode."""
        half_s, ends_s = time.monotonic() + ROUND_S / 2, time.monotonic() + ROUND_S
        for row in job_ends.list_unannounced_jobs(conn, MOST):
            if time.monotonic() > half_s:
                break
            self.beat()
            job_ends.queue_job_notice(
                conn, row["job_pk"], verdict_of(conn, row["job_pk"], row["end_s"] + job_ends.SETTLED_S)
            )
        sent_count = 0
        # While the receiver does not answer, try one message at a time: each attempt can take the full timeout.
        for row in job_ends.list_due_notices(conn, MOST) if time.monotonic() >= self._away_until_s else ():
            if time.monotonic() > ends_s:
                break
            self.beat()
            try:
                _send_message(self.webhook, row)
            except Unavailable as problem:
                away = isinstance(problem, Unreachable)
                tries = self._away if away else row["attempts"]
                wait_s = RETRY_S[min(tries, len(RETRY_S) - 1)]
                log.warning("%s; retrying in %.0f s", problem.message, wait_s)
                job_ends.postpone_notice(conn, row["job_pk"], problem.message, wait_s)
                if away:
                    self._away, self._away_until_s = self._away + 1, time.monotonic() + wait_s
                    break
            else:
                self._away = 0
                job_ends.mark_notice_delivered(conn, row["job_pk"])
                sent_count += 1
        return sent_count


def forget_old(conn: psycopg.Connection) -> None:
    """Give up messages that were not accepted within a day, and log them."""
    if lost := job_ends.forget_old(conn):
        log.error("%s did not accept the ends of %d jobs within %d hours; giving up", WHO, lost, job_ends.KEPT_HOURS)


def verdict_of(conn: psycopg.Connection, job_pk: int, now_s: float) -> SlowdownVerdict:
    """Return the verdict on a job's slowness at this time (epoch seconds). It is `cannot tell` if the job cannot be explained."""
    try:
        with conn.transaction():
            explanation = explain_job(conn, at_moment(one_job(conn, job_pk), now_s), now_s, rooted=True)
    except (psycopg.Error, FlitwatchError, ValueError, ArithmeticError) as problem:
        if conn.closed:
            raise
        # Reporting the end matters more than its explanation.
        log.warning("job number %d cannot be explained (%s)", job_pk, type(problem).__name__)
        return {
            "verdict": "cannot tell",
            "title": "The data do not show whether the job was slow",
            "detail": "",
            "reasons": ["the explanation failed; the log of `flitwatch alerting` has the error"],
            "named": None,
            "basis": None,
            "factor": None,
            "lost_s": None,
            "chain": [],
            "as_of": str(moment_text(datetime.fromtimestamp(now_s).astimezone())),
        }
    slow = explanation["slowdown"]
    return {
        "verdict": explanation["verdict"],
        "title": explanation["title"],
        "detail": explanation["detail"],
        "reasons": explanation["reasons"],
        "named": explanation["named"],
        "basis": None if slow is None else slow["basis"],
        "factor": None if slow is None else slow["factor"],
        "lost_s": None if slow is None else slow["lost_s"],
        "chain": explanation["chain"],
        "as_of": str(moment_text(explanation["as_of"])),
    }


def build_message(webhook: JobWebhook, row: Row) -> Row:
    """Return the message of a notice: the job, its times, the verdict on its slowness, and the page's address."""
    place = f"/jobs/{quote(row['job_id'], safe='')}?cluster={quote(row['cluster'], safe='')}"
    started, ended = row["start_ts"], row["end_ts"]
    return {
        "type": "job.ended",
        "timestamp": moment_text(ended),
        "data": {
            "job_id": row["job_id"],
            "cluster": row["cluster"],
            "user": row["user_name"],
            "account": row["account"],
            "name": row["name"],
            "partition": row["partition"],
            "state": row["state"],
            "exit_code": row["exit_code"],
            "nodes": row["nodes"],
            "submit": moment_text(row["submit_ts"]),
            "start": moment_text(started),
            "end": moment_text(ended),
            "elapsed_s": None if started is None or ended is None else (ended - started).total_seconds(),
            "simulated": row["simulated"],
            "slowdown": row["explanation"],
            "page": f"{webhook.external_url}{place}",
        },
    }


def _send_message(webhook: JobWebhook, row: Row) -> None:
    body = orjson.dumps(build_message(webhook, row))
    key, sent_s = f"job-ended-{row['job_pk']}", int(time.time())
    headers = {
        "webhook-id": key,
        "webhook-timestamp": str(sent_s),
        "webhook-signature": sign_message(webhook.secret, key, sent_s, body),
    }
    deliver_in_time(WHO, lambda: post_json(WHO, webhook.url, body, headers))
