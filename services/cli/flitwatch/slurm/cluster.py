"""Slurm as its own commands tell it: nodes with their features, pending jobs, and changes of these jobs."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from flitwatch_domain.errors import MissingDependency, Unavailable

COMMAND_LIMIT_S = 30
#: Width of each column, the free text last; squeue cuts and pads to it.
_COLUMNS = (("JobID", 20), ("UserName", 64), ("NumNodes", 16), ("Reason", 32), ("Deadline", 24), ("AdminComment", 400), ("Comment", 400), ("Prefer", 200),
            ("ExcNodes", 400), ("Name", 256))  # fmt: skip
_ABSENT = frozenset({"", "N/A", "(null)", "None"})
#: The plugin and the agent mark what they did; what bears no mark is not touched.
MARK = re.compile(r"flitwatch (start|delay|prefer|released) since=(\d+)")
_APPLICATION = re.compile(r"(?:^|[\s,;])flitwatch_app=([\w.+-]+)", re.ASCII)
_OFF = re.compile(r"(?:^|[\s,;])flitwatch=off")
_UNUSABLE = re.compile(r"down|drain|fail|maint|unk|power|future|inval|reboot", re.IGNORECASE)


@dataclass(frozen=True)
class Pending:
    """A job that waits.

    Attributes
    ----------
    mark : str or None       what was done to it last: delay, prefer, released; None: nothing
    since_s : int            when that began, in epoch seconds
    application : str        `flitwatch_app=` of its comment, else its name
    """

    job_id: str
    user: str
    nodes: int
    reason: str
    deadline_s: float | None
    mark: str | None
    since_s: int
    application: str
    off: bool
    prefer: str
    exclude: str


def run(*argv: str) -> str:
    """Standard output of a Slurm command, times as epoch seconds.

    Raises
    ------
    MissingDependency, Unavailable
    """
    environment = {**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(argv, env=environment, capture_output=True, timeout=COMMAND_LIMIT_S)
    except FileNotFoundError:
        raise MissingDependency(
            f"{argv[0]} is not installed here", advice="Run the agent where Slurm's commands are."
        ) from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{argv[0]} did not answer within {COMMAND_LIMIT_S} s") from None
    if done.returncode:
        raise Unavailable(f"{' '.join(argv[:4])}: {done.stderr.decode(errors='replace').strip()[:300]}")
    return done.stdout.decode(errors="replace")


def nodes() -> dict[str, frozenset[str]]:
    """Nodes that jobs could run on, with their features."""
    found: dict[str, frozenset[str]] = {}
    for line in run("sinfo", "-h", "-N", "-o", "%N %T %f").splitlines():
        name, state, features = (*line.split(None, 2), "", "")[:3]
        if name and not _UNUSABLE.search(state):
            found[name] = frozenset(feature for feature in features.split(",") if feature not in _ABSENT)
    return found


def pending() -> list[Pending]:
    """Jobs that wait; a line that cannot be read is left out."""
    wanted = ",".join(f"{name}:{width}" for name, width in _COLUMNS)
    jobs = (_pending(line) for line in run("squeue", "-h", "-t", "PD", "-O", wanted).split("\n"))
    return [job for job in jobs if job is not None]


def _pending(line: str) -> Pending | None:
    fields, at = {}, 0
    for name, width in _COLUMNS:
        text = line[at : at + width].strip()
        fields[name], at = "" if text in _ABSENT else text, at + width
    if not fields["JobID"].isdigit() or not fields["NumNodes"].isdigit():
        return None
    mark = MARK.match(fields["AdminComment"])
    application = _APPLICATION.search(fields["Comment"])
    return Pending(
        fields["JobID"], fields["UserName"], int(fields["NumNodes"]), fields["Reason"],
        float(fields["Deadline"]) if fields["Deadline"].isdigit() and int(fields["Deadline"]) else None,
        mark.group(1) if mark else None, int(mark.group(2)) if mark else 0, application.group(1) if application else fields["Name"],
        _OFF.search(fields["Comment"]) is not None, fields["Prefer"], fields["ExcNodes"],
    )  # fmt: skip


def update(job_id: str, **changes: str) -> None:
    """`scontrol update` of one job."""
    run("scontrol", "update", f"JobId={job_id}", *(f"{name}={value}" for name, value in changes.items()))


def hold(job_id: str) -> None:
    """Hold a job until it is released."""
    run("scontrol", "hold", job_id)


def release(job_id: str) -> None:
    """Let a held job go."""
    run("scontrol", "release", job_id)
