"""Slurm's mail at the end of a job, with the cause of a slowdown.

slurmctld calls its MailProg as `PROGRAM -s SUBJECT ADDRESS`. If anything fails here, the site's own mail program is called in the same way, so no
mail is lost.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any
from urllib.parse import quote

import httpx

from flitwatch_domain.mails import MailPart, compose, list_rows

log = logging.getLogger(__name__)

Explanation = Mapping[str, Any]
#: Mail types, as named in Slurm's subject, after which a job no longer runs.
_ENDS = re.compile(r"\b(Ended|Failed|TimeLimit|Time limit reached|Completed)\b", re.IGNORECASE)
_JOB_ID = re.compile(r"\bJob_id=(\w+)")
_POLL_S, _ANSWER_S = 3.0, 10.0


@dataclass(frozen=True)
class Order:
    """Mail requested by Slurm."""

    subject: str
    to: str
    job_id: str
    cluster: str | None


@dataclass(frozen=True)
class Mailers:
    """The site's mail program, called with Slurm's arguments, and the program that accepts complete messages."""

    plain: str = "/usr/bin/mail"
    sendmail: str = "/usr/sbin/sendmail"


def read_order(subject: str, to: str, environment: Mapping[str, str]) -> Order | None:
    """Parse Slurm's request. Return None if it is not about the end of a job."""
    job_id = environment.get("SLURM_ARRAY_JOB_ID") if "Array Summary" in subject else environment.get("SLURM_JOB_ID")
    if not job_id and (match := _JOB_ID.search(subject)):
        job_id = match[1]
    if not job_id or not _ENDS.search(subject):
        return None
    return Order(subject, to, job_id, environment.get("SLURM_CLUSTER_NAME"))


def fetch_explanation(url: str, token: str, order: Order, wait_s: float) -> Explanation | None:
    """Wait until the platform has the job's end, then return its explanation. Return None on timeout. Raise httpx.HTTPError if the platform does not
    answer or refuses the request."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    path = f"{url.rstrip('/')}/api/v1/jobs/{quote(order.job_id, safe='')}/explanation"
    query = {"cluster": order.cluster} if order.cluster else {}
    ends_s = time.monotonic() + wait_s
    while True:
        answer = httpx.get(path, params=query, headers=headers, timeout=_ANSWER_S)
        if answer.status_code != 404:
            answer.raise_for_status()
            explanation: Explanation = answer.json()
            if explanation["end"] is not None:
                return explanation
        if time.monotonic() + _POLL_S > ends_s:
            return None
        time.sleep(_POLL_S)


def compose_mail(order: Order, explanation: Explanation, page: str, sender: str) -> EmailMessage:
    """Return a mail with Slurm's subject, the verdict, the time lost, the causal chain, the picture and the job page's address."""
    slow = explanation["slowdown"]
    sentences = [explanation["detail"]] if explanation["detail"] else []
    if slow is not None:
        sentences.append(f"Time lost: {_format_minutes(slow['lost_s'])} ({slow['factor']:.2f} times the usual time).")
    sentences += [sentence["text"] for sentence in explanation["chain"]]
    heading = f"Job {explanation['job_id']}: {explanation['title']}" + (
        " [simulated]" if explanation["simulated"] else ""
    )
    part = MailPart(heading, sentences, page, list_rows(explanation))
    return compose(order.subject, sender, [order.to], f"job-{order.job_id}-{time.time_ns()}", [part])


def _format_minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def send_mail(order: Order, mailers: Mailers, ask: Callable[[], Explanation | None], page: str, sender: str) -> bool:
    """Send the mail with the verdict, or Slurm's own mail if that fails. Return whether the verdict was sent."""
    try:
        explanation = ask()
        if explanation is not None:
            message = compose_mail(order, explanation, page, sender)
            subprocess.run([mailers.sendmail, "-i", "-t"], input=message.as_bytes(), check=True, timeout=60)
            return True
        log.warning("job %s: the platform does not know yet that it ended", order.job_id)
    # After any failure, a mail without the verdict is better than none.
    except Exception as problem:
        log.warning("job %s: no verdict in its mail (%s: %s)", order.job_id, type(problem).__name__, problem)
    send_plain(order.subject, order.to, mailers)
    return False


def send_plain(subject: str, to: str, mailers: Mailers) -> None:
    """Send Slurm's own mail."""
    subprocess.run([mailers.plain, "-s", subject, to], stdin=subprocess.DEVNULL, check=True, env=os.environ)
