"""`flitwatch mail` against a real HTTP server and real programs: the verdict if known, otherwise Slurm's own mail."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.explaining_api import QUIET, SLOW, explaining_api

from flitwatch.commands.mail import mail as mail_command

ENDED = "Slurm Job_id=42 Name=milc Ended, Run time 01:00:00, COMPLETED, ExitCode 0"


@pytest.fixture
def mailers(tmp_path: Path) -> Path:
    """The folder of two programs that keep what they are given."""
    for name, keeps in (("mail", 'printf "%s\\n" "$@"'), ("sendmail", "cat")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{keeps} > {tmp_path}/{name}.kept\n")
        (tmp_path / name).chmod(0o755)
    token = tmp_path / "token"
    token.write_text("fwt_x\n")
    token.chmod(0o600)
    return tmp_path


def call(folder: Path, url: str, subject: str = ENDED, **environment: str) -> None:
    words = [
        "-s",
        subject,
        "ann@site.example",
        "--url",
        url,
        "--token-file",
        str(folder / "token"),
        "--wait",
        "0",
        "--foreground",
    ]
    programs = ["--mailer", str(folder / "mail"), "--sendmail", str(folder / "sendmail")]
    done = CliRunner().invoke(
        mail_command, [*words, *programs], env={"SLURM_JOB_ID": None, **environment}, catch_exceptions=False
    )
    assert done.exit_code == 0, done.output


def sent(folder: Path) -> EmailMessage:
    assert not (folder / "mail.kept").exists(), "one mail, not two"
    return message_from_bytes((folder / "sendmail.kept").read_bytes(), policy=policy.default)  # type: ignore[return-value]


def test_a_slow_jobs_mail_has_the_verdict_the_time_the_picture_and_the_link(mailers: Path) -> None:
    with explaining_api(other=(200, SLOW)) as (url, asked):
        call(mailers, url, SLURM_CLUSTER_NAME="perlis")
    assert asked == ["/api/v1/jobs/42/explanation?cluster=perlis Bearer fwt_x"]
    mail = sent(mailers)
    assert (mail["To"], mail["Subject"].strip()) == ("ann@site.example", ENDED)
    text = mail.get_body(("plain",)).get_content()
    assert "Job 42: Job 77 slowed it" in text and "Time lost: 15 min (1.40 times the usual time)" in text
    assert f"{url}/jobs/42" in text
    page = mail.get_body(("html",)).get_content()
    (picture,) = [part for part in mail.walk() if part.get_content_type() == "image/png"]
    assert f"cid:{picture['Content-ID'].strip('<>')}" in page and page.count("Open in Flitwatch") == 1
    assert "job 77 (orange: running)" in page and "job 78" not in page and "&lt;1&gt;" in page
    assert picture.get_content().startswith(b"\x89PNG\r\n")


def test_a_quiet_jobs_mail_names_no_one_and_has_no_picture(mailers: Path) -> None:
    with explaining_api(other=(200, QUIET)) as (url, _):
        call(mailers, url)
    mail = sent(mailers)
    text = mail.get_body(("plain",)).get_content()
    assert "It was not slow" in text and "lost" not in text and "77" not in text
    assert [part.get_content_type() for part in mail.walk() if part.get_content_maintype() == "image"] == []


@pytest.mark.parametrize(
    "answer", [(404, {"detail": "no such job"}), (200, QUIET | {"end": None}), (401, {}), (500, {}), (200, {"odd": 1})]
)
def test_slurms_own_mail_goes_out_where_there_is_no_verdict(mailers: Path, answer: tuple[int, Any]) -> None:
    with explaining_api(other=answer) as (url, _):
        call(mailers, url)
    assert (mailers / "mail.kept").read_text() == f"-s\n{ENDED}\nann@site.example\n"
    assert not (mailers / "sendmail.kept").exists()


def test_slurms_own_mail_goes_out_where_nobody_answers_or_sendmail_fails(mailers: Path) -> None:
    call(mailers, "http://127.0.0.1:1")
    assert (mailers / "mail.kept").exists()
    (mailers / "mail.kept").unlink()
    (mailers / "sendmail").write_text("#!/bin/sh\nexit 75\n")
    with explaining_api(other=(200, SLOW)) as (url, _):
        call(mailers, url)
    assert (mailers / "mail.kept").exists()


def test_a_mail_of_a_begin_is_left_alone(mailers: Path) -> None:
    begun = "Slurm Job_id=42 Name=milc Began, Queued time 00:00:01"
    with explaining_api(other=(200, SLOW)) as (url, asked):
        call(mailers, url, subject=begun)
    assert asked == [] and (mailers / "mail.kept").read_text() == f"-s\n{begun}\nann@site.example\n"
