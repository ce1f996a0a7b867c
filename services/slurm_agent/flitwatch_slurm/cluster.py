"""Slurm through its commands: nodes with their features, pending jobs, and changes to these jobs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import Any

import orjson

from flitwatch_domain.errors import MissingDependency, Unavailable

COMMAND_LIMIT_S = 30
_APPLICATION = re.compile(r"(?:^|[\s,;])flitwatch_app=([\w.+-]+)", re.ASCII)
_OFF = re.compile(r"(?:^|[\s,;])flitwatch=off")
_WISHES = (
    "features",
    "required_nodes",
    "resv_name",
    "tres_per_node",
    "tres_per_socket",
    "tres_per_task",
    "tres_per_job",
)
_SIZES = ("memory_per_node", "memory_per_cpu", "minimum_tmp_disk_per_node")
_UNUSABLE = re.compile(r"down|drain|fail|maint|unk|power|future|inval|reboot", re.IGNORECASE)

#: Slurm's limit at submission; jobs with longer comments are refused.
MOST_BYTES = 1024
_MARK = re.compile(r"\[flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])[^\[\]]*\]")
#: Format of older versions, which used the whole comment. It is read but never rewritten.
_OLD_MARK = re.compile(r"flitwatch (start|delay|prefer|released) since=([0-9]{1,12})(?![0-9])")


def read_mark(comment: str) -> tuple[str | None, int]:
    """Return the last action on the job and its start in epoch seconds, or (None, 0) if there was none."""
    match = _find_last_mark(comment) or _OLD_MARK.match(comment)
    return (match.group(1), int(match.group(2))) if match else (None, 0)


def merge_mark(comment: str, what: str, since_s: int, why: str) -> str | None:
    """Return the comment with our mark, `[flitwatch delay since=1700000000 why]`, in place of the previous one, or at the end. All other characters are
    preserved, because they are other tools' text.

    Parameters
    ----------
    comment : str
        As in Slurm, with invalid UTF-8 bytes as surrogate escapes.
    what : str
        delay, prefer or released.

    Returns
    -------
    str or None
        None if the comment is too long for Slurm even without the reason, or has a character that a command argument cannot contain.
    """
    if "\0" in comment:
        return None
    plain = "".join(c if c.isascii() and c.isprintable() and c not in "\"'[]" else " " for c in why)
    old = _find_last_mark(comment)
    for mark in (f"[flitwatch {what} since={since_s} {plain[:250]}]", f"[flitwatch {what} since={since_s}]"):
        if old:
            merged_comment = comment[: old.start()] + mark + comment[old.end() :]
        else:
            merged_comment = f"{comment} {mark}" if comment else mark
        if len(merged_comment.encode(errors="surrogateescape")) <= MOST_BYTES:
            return merged_comment
    return None


def _find_last_mark(comment: str) -> re.Match[str] | None:
    matches = list(_MARK.finditer(comment))
    return matches[-1] if matches else None


@dataclass(frozen=True)
class Pending:
    """Pending job.

    Attributes
    ----------
    mark : str or None       last action: delay, prefer or released; None if there was none
    since_s : int            start of that action in epoch seconds
    admin_comment : str      other tools' text and our mark; invalid UTF-8 bytes as surrogate escapes
    application : str        `flitwatch_app=` of its comment, else its name
    own_wishes : bool        it requests nodes, features, a reservation or sizes that a preference could contradict
    eligible_s : float       earliest start in epoch seconds; 0 if unknown
    of_several : bool        it represents array tasks or is part of a heterogeneous job
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
    partition: str
    own_wishes: bool
    admin_comment: str = ""
    eligible_s: float = 0.0
    of_several: bool = False


#: Partition of jobs that do not name one.
DEFAULT = "*"


@dataclass(frozen=True)
class Node:
    """Node that can run jobs."""

    features: frozenset[str]
    partitions: set[str] = field(default_factory=set)


def run_text(*argv: str) -> str:
    """Return a Slurm command's standard output as text; see `run_bytes`."""
    return run_bytes(*argv).decode(errors="replace")


def run_bytes(*argv: str) -> bytes:
    """Return a Slurm command's standard output, with times as epoch seconds. Raise MissingDependency or Unavailable."""
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
    return done.stdout


def list_nodes() -> dict[str, Node]:
    """Return the nodes that can run jobs."""
    node_by_name: dict[str, Node] = {}
    for line in run_text("sinfo", "-h", "-N", "-o", "%N %T %P %f").splitlines():
        name, state, partition, features = (*line.split(None, 3), "", "", "")[:4]
        if not name or _UNUSABLE.search(state):
            continue
        node = node_by_name.setdefault(name, Node(_parse_features(features)))
        # Slurm appends a star to the default partition's name.
        node.partitions.update({partition.rstrip("*"), DEFAULT} if partition.endswith("*") else {partition})
    return node_by_name


def _parse_features(text: str) -> frozenset[str]:
    return frozenset(feature for feature in text.split(",") if feature not in ("", "(null)"))


def list_pending() -> list[Pending]:
    """Return the pending jobs. JSON is used because a job's name or comment can contain the separators of the text formats."""
    return read_pending(run_bytes("squeue", "--json"))


def read_pending(output: str | bytes) -> list[Pending]:
    """Parse pending jobs from the output of `squeue --json`. Raise Unavailable if the text is not a job list in the format of Slurm 21.08 or newer."""
    try:
        return [_make_pending(job) for job in _decode_json(output)["jobs"] if "PENDING" in job["job_state"]]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise Unavailable("squeue --json printed no list of jobs", advice="It needs Slurm 21.08 or newer.") from None


def _decode_json(output: str | bytes) -> Any:
    try:
        return orjson.loads(output)
    except ValueError:
        if isinstance(output, str):
            raise
        # Slurm 22.05 writes a comment's bytes unchanged, even if they are invalid UTF-8.
        return json.loads(output.decode(errors="surrogateescape"), strict=False)


def _make_pending(job: dict[str, Any]) -> Pending:
    noted = job["admin_comment"] or ""
    mark, since_s = read_mark(noted)
    comment = _parse_text(job["comment"])
    application = _APPLICATION.search(comment)
    return Pending(
        str(job["job_id"]),
        job["user_name"] or "",
        max(1, _parse_number(job["node_count"])),
        job["state_reason"],
        _parse_number(job["deadline"]) or None,
        mark,
        since_s,
        application.group(1) if application else job["name"] or "",
        _OFF.search(comment) is not None,
        job.get("prefer") or "",
        job["excluded_nodes"] or "",
        job["partition"] or "",
        any(job.get(name) for name in _WISHES) or any(_parse_number(job.get(name)) for name in _SIZES),
        noted,
        _parse_number(job.get("eligible_time")),
        any(_parse_number(job.get(name)) for name in ("array_job_id", "het_job_id")),
    )


def _parse_number(value: Any) -> int:
    # Newer versions write {"set", "infinite", "number"}.
    if isinstance(value, dict):
        value = value["number"] if value.get("set") else 0
    return int(value or 0)


def _parse_text(value: Any) -> str:
    # Newer versions keep a job's comments in an object.
    return (value.get("job") if isinstance(value, dict) else value) or ""


def update_job(job_id: str, **changes: str) -> None:
    """Change one job with `scontrol update`."""
    run_text("scontrol", "update", f"JobId={job_id}", *(f"{name}={value}" for name, value in changes.items()))


def hold_job(job_id: str) -> None:
    """Hold a job until it is released."""
    run_text("scontrol", "hold", job_id)


def release_job(job_id: str) -> None:
    run_text("scontrol", "release", job_id)
