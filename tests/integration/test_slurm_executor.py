"""A sweep through Dask in real Slurm jobs on four slurmd: the same result as locally, and no remaining job."""

from __future__ import annotations

import re
import subprocess
import sys
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.explaining_api import QUIET, SLOW, explaining_api
from support.slurm import SlurmSite
from support.waiting import eventually

pytestmark = [pytest.mark.system("schedulers"), pytest.mark.integration]

pytest_plugins = ["support.slurm"]

SWEEP = ["study", "fig16", "--runs", "2000", "--set", "k_2d=[6,8]", "--set", "k_3d=[3]", "--threads", "1", "--json"]


def answer(environment: dict[str, str], *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *SWEEP, *options], env=environment, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(orjson.loads(done.stdout))


def test_a_sweep_in_slurm_jobs_is_that_of_this_machine(slurm: SlurmSite, tmp_path: Path) -> None:
    site = {
        "CORES": "4",
        "PROCESSES": "1",
        "MEMORY": "500MB",
        "QUEUE": "regular",
        "WALLTIME": "00:10:00",
        "INTERFACE": "lo",
        "LOG_DIRECTORY": str(tmp_path),
        "LOCAL_DIRECTORY": str(tmp_path),
    }
    environment = slurm.environment | {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in site.items()}
    there, here = answer(environment, "--executor", "slurm:4"), answer(environment)
    assert there["points"] == here["points"] and len(there["points"]) == 6
    slurm.wait_idle(180.0)
    # Node first: a job's name may hold the separator.
    ran = [
        line.split("|", 1) for line in slurm.run("sacct", "-X", "-n", "-P", "-a", "-o", "NodeList,JobName").splitlines()
    ]
    # A job that came to a node late found nothing to do, or was taken back before.
    nodes = [node for node, name in ran if name == "dask-worker"]
    assert len(nodes) == 4 and any(node.startswith("nid0000") for node in nodes), ran


# A real slurmctld calls its MailProg: the mail of a slow job names who slowed it, that of a quiet one names no one, and without a platform Slurm's own mail goes out.


ROOT = Path(__file__).resolve().parents[2]

#: As docs/portals.md has it, with the programs of this test.
SCRIPT = """#!/bin/sh
export FLITWATCH_URL={url}
{python} -m flitwatch.main mail --mailer {folder}/mail --sendmail {folder}/sendmail --wait 0 "$@" || exec {folder}/mail "$@"
"""


def install(site: SlurmSite, folder: Path, url: str) -> None:
    """The programs that keep each mail by the number of its job, and Slurm's own way to them."""
    for name, keeps in (("mail", 'echo "$2"'), ("sendmail", "cat")):
        (folder / name).write_text(
            f"#!/bin/sh\n{keeps} > {folder}/{name}.$SLURM_JOB_ID.part; mv {folder}/{name}.$SLURM_JOB_ID.part {folder}/{name}.$SLURM_JOB_ID\n"
        )
        (folder / name).chmod(0o755)
    site.mail_program.write_text(SCRIPT.format(url=url, python=sys.executable, folder=folder))


def test_slurms_mail_at_the_end_of_a_job(slurm: SlurmSite, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    options = ("--mail-type=END", "--mail-user=ann@site.example")
    slow, quiet = slurm.submit("sleep 1", "--hold", *options), slurm.submit("sleep 1", "--hold", *options)
    answers = {f"job{slow}": (200, SLOW | {"job_id": slow}), f"job{quiet}": (200, QUIET | {"job_id": quiet})}
    with explaining_api(**answers) as (url, _):
        install(slurm, tmp_path, url)
        slurm.run("scontrol", "release", slow, quiet)
        kept = {job: tmp_path / f"sendmail.{job}" for job in (slow, quiet)}
        eventually(lambda: all(file.exists() for file in kept.values()), 60, what="both mails")
    mails = {job: message_from_bytes(file.read_bytes(), policy=policy.default) for job, file in kept.items()}
    texts = {job: mail.get_body(("plain",)).get_content() for job, mail in mails.items()}
    assert "Job 77 slowed it" in texts[slow] and "Time lost: 15 min" in texts[slow] and f"/jobs/{slow}" in texts[slow]
    assert re.search(rf"Job_id={quiet} .*Ended", mails[quiet]["Subject"]) and "77" not in texts[quiet]
    # Nobody answers there any more.
    alone = slurm.submit("true", *options)
    plain = tmp_path / f"mail.{alone}"
    eventually(plain.exists, 60, what="Slurm's own mail")
    assert f"Job_id={alone}" in plain.read_text()
