"""Slurm accounting: what `sacct` prints, as text with a delimiter or as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_ingest.sources import sacct_json, sacct_text
from flitwatch_ingest.sources.rejection import Rejection

#: A job and whether its restart count is known (else it follows from its incarnations).
Found = tuple[Job, bool]
Incarnation = tuple[float | None, float | None, float | None, str]


def decode(
    data: bytes, where: str, *, zone: ZoneInfo | None = None, cluster: str = "default"
) -> tuple[list[Job], list[Rejection]]:
    """Jobs of one sacct output, in the order printed, and what could not be read.

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
        found, rejected = sacct_json.decode(data, where, cluster)
    else:
        found, rejected = sacct_text.decode(data, where, zone, cluster)
    return number_restarts(found), rejected


def number_restarts(found: Iterable[Found]) -> list[Job]:
    """Give each incarnation of a requeued job its number, by time of submission, where Slurm did not print it; a repeated line is none."""
    jobs = list(found)
    incarnations: defaultdict[tuple[str, str], defaultdict[Incarnation, list[int]]]
    incarnations = defaultdict(lambda: defaultdict(list))
    for at, (job, known) in enumerate(jobs):
        if not known:
            incarnations[job.cluster, job.job_id][_incarnation(job)].append(at)
    out = [job for job, _ in jobs]
    for places in incarnations.values():
        order = sorted(places, key=lambda one: (one[0] or 0.0, one[1] or float("inf"), min(places[one])))
        for restart, one in enumerate(order):
            for at in places[one]:
                out[at] = replace(out[at], restart=restart)
    return out


def _incarnation(job: Job) -> Incarnation:
    # What was submitted and started at one time is one incarnation, seen again; of what never started nothing else is known.
    return (job.submit_s, job.start_s, *((job.end_s, job.state) if job.start_s is None else (None, "")))


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


__all__ = ["BadInput", "Rejection", "decode", "number_restarts", "record"]
