"""Slurm accounting: what `sacct` prints, as text with a delimiter or as JSON."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_ingest.sources import sacct_json, sacct_text
from flitwatch_ingest.sources.incarnations import Found, number_restarts
from flitwatch_ingest.sources.rejection import Rejection


def decode(
    data: bytes, where: str, *, zone: ZoneInfo | None = None, cluster: str = "default"
) -> tuple[list[Job], list[Rejection]]:
    """Jobs of one sacct output, in the order printed, and what could not be read; restarts are numbered within this output.

    Parameters and errors are those of `read`.
    """
    found, rejected = read(data, where, zone=zone, cluster=cluster)
    return number_restarts(found), rejected


def read(
    data: bytes, where: str, *, zone: ZoneInfo | None = None, cluster: str = "default"
) -> tuple[list[Found], list[Rejection]]:
    """Jobs of one sacct output, each with whether its restart count is known, and what could not be read.

    Parameters
    ----------
    data : bytes
        Output of `sacct --parsable2` (any delimiter, any fields with a JobID) or of `sacct --json` (Slurm 22.05 and later).
    where : str
        Name of the input, for messages.
    zone : ZoneInfo, optional
        Time zone of times without one (default: the machine's).
    cluster : str
        Name for jobs whose output has no cluster.

    Raises
    ------
    BadInput
        The input is no sacct output at all.
    """
    if data.lstrip()[:1] in (b"{", b"["):
        return sacct_json.decode(data, where, cluster)
    return sacct_text.decode(data, where, zone, cluster)


def record(job: Job) -> dict[str, Any]:
    """The JSON value of topic flitwatch.jobs.v1 for a job (docs/contracts/log.md)."""
    return {
        "cluster": job.cluster,
        "job_id": job.job_id,
        "restart": job.restart,
        "user": job.user,
        "account": job.account,
        "name": job.name,
        "partition": job.partition,
        "state": job.state,
        "exit_code": job.exit_code,
        "submit": job.submit_s,
        "start": job.start_s,
        "end": job.end_s,
        "nodes": job.nodes,
        "node_list": job.node_list,
        "steps": [
            {
                "step": step.step,
                "name": step.name,
                "state": step.state,
                "start": step.start_s,
                "end": step.end_s,
                "nodes": step.nodes,
                "node_list": step.node_list,
            }
            for step in job.steps
        ],
        "simulated": job.simulated,
    }


__all__ = ["BadInput", "Rejection", "decode", "read", "record"]
