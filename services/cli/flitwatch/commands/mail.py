"""`flitwatch mail`: Slurm's mail at the end of a job, with the cause of a slowdown."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import click

from flitwatch.console import FiniteRange, json_option, log_to_stderr, print_result
from flitwatch_domain.secret_file import token_of


@click.command()
@click.option("--subject", "-s", required=True, help="Subject, as Slurm gives it.")
@click.argument("address")
@click.option("--url", "api_url", envvar="FLITWATCH_URL", required=True, help="Address of the API and the page.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="FLITWATCH_TOKEN_FILE",
    help="File with an API token (role service). The mail shows users under the names that this token may see.",
)
@click.option(
    "--mailer",
    default="/usr/bin/mail",
    help="The site's mail program, called in the way that Slurm calls it.",
)
@click.option("--sendmail", default="/usr/sbin/sendmail", help="Program that accepts complete messages.")
@click.option("--sender", default="slurm", help="Sender of the mail.")
@click.option(
    "--wait",
    "wait_s",
    type=FiniteRange(0, 3600),
    default=120.0,
    help="How many seconds to wait until the platform knows that the job has ended.",
)
@click.option(
    "--foreground", is_flag=True, help="Wait until the mail is sent. Without this option, slurmctld does not wait."
)
@json_option
def mail(
    subject: str,
    address: str,
    api_url: str,
    token_file: Path | None,
    mailer: str,
    sendmail: str,
    sender: str,
    wait_s: float,
    foreground: bool,
    as_json: bool,
) -> None:
    """Send ADDRESS a mail about a job's end with the verdict, the time lost, a picture and a link; for Slurm's MailProg.

    Other mails of Slurm, and mails about jobs that the platform does not know, go to the site's own mail program unchanged.
    """
    from flitwatch_slurm.job_mail import Mailers, fetch_explanation, read_order, send_mail, send_plain

    log_to_stderr()
    mailers = Mailers(mailer, sendmail)
    order = read_order(subject, address, os.environ)
    if order is None:
        send_plain(subject, address, mailers)
        print_result({"job_id": None, "verdict": False}, as_json)
        return
    if not foreground:
        if os.fork():
            os._exit(0)
        os.setsid()
    page = f"{api_url.rstrip('/')}/jobs/{quote(order.job_id, safe='')}"

    def read_token() -> str:
        return "" if token_file is None else token_of(token_file)

    with_verdict = send_mail(
        order, mailers, lambda: fetch_explanation(api_url, read_token(), order, wait_s), page, sender
    )
    print_result({"job_id": order.job_id, "verdict": with_verdict}, as_json)
