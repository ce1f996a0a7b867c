"""Slurm accounting: output of `sacct`, as delimited text or JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO
from zoneinfo import ZoneInfo

import orjson

from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job, JobRecord, count_other_nodes
from flitwatch_ingest.sources import sacct_json, sacct_text
from flitwatch_ingest.sources.incarnations import Found, number_restarts
from flitwatch_ingest.sources.rejection import Rejection


def decode_jobs(
    data: bytes, where: str, *, zone: ZoneInfo | None = None, cluster: str = "default"
) -> tuple[list[Job], list[Rejection]]:
    """Return the jobs of one sacct output, in order of appearance, and the rejected parts. Restarts are numbered within this output.

    Parameters and errors are those of `read_jobs`.
    """
    jobs, rejected = read_jobs(data, where, zone=zone, cluster=cluster)
    return number_restarts(jobs), rejected


def read_jobs(
    data: bytes,
    where: str,
    *,
    zone: ZoneInfo | None = None,
    cluster: str = "default",
    columns: Sequence[str] | None = None,
) -> tuple[list[Found], list[Rejection]]:
    """Return the jobs of one output, each with a flag for a known restart count, and the rejected parts.

    Parameters and errors are those of `stream_jobs`.
    """
    jobs, rejected = [], []
    for item in stream_jobs(io.BytesIO(data), where, zone=zone, cluster=cluster, columns=columns):
        if isinstance(item, Rejection):
            rejected.append(item)
        else:
            jobs.append(item)
    return jobs, rejected


def stream_jobs(
    source: IO[bytes],
    where: str,
    *,
    zone: ZoneInfo | None = None,
    cluster: str = "default",
    columns: Sequence[str] | None = None,
) -> Iterator[Found | Rejection]:
    """Yield the same one by one. Text is streamed; JSON is a single value and is read as a whole.

    Parameters
    ----------
    source : file of bytes
        Output of `sacct --parsable2` (any delimiter, any fields with a JobID), of `sacct --json` (Slurm 22.05 and later), or of slurmctld
        (`squeue --json`, `scontrol show jobs --json`).
    where : str
        Name of the input, for messages.
    zone : ZoneInfo, optional
        Time zone of times without one (default: the machine's).
    cluster : str
        Name of the cluster if the output has none.
    columns : sequence of str, optional
        Columns of a text without a header; sacct's usual columns are recognised.

    Raises
    ------
    BadInput
        The input is not sacct output, judged from its beginning; raised before the first job is requested.
    """
    lines, head = iter(source), []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    rest, first = chain(head, lines), head[-1] if head else b""
    if first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        jobs, rejected = sacct_json.decode_json_jobs(b"".join(rest).removeprefix(b"\xef\xbb\xbf"), where, cluster)
        return chain(jobs, rejected)
    return sacct_text.read_text_jobs(rest, where, zone, cluster, columns)


class SacctReader:
    """Decoder of sacct outputs; the parameters are those of `stream_jobs`."""

    def __init__(
        self, zone: ZoneInfo | None = None, cluster: str = "default", columns: Sequence[str] | None = None
    ) -> None:
        self._zone, self._cluster, self._columns = zone, cluster, columns

    def read(self, source: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        return stream_jobs(source, where, zone=self._zone, cluster=self._cluster, columns=self._columns)

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield nothing: jobs do not span files."""
        return iter(())


def encode_job(job: Job) -> bytes:
    """Return the record of a job as JSON. Half of a surrogate pair in a text becomes a question mark."""
    record = to_job_record(job)
    try:
        return orjson.dumps(record)
    except TypeError:
        return json.dumps(record, ensure_ascii=False).encode("utf-8", errors="replace")


def to_job_record(job: Job) -> JobRecord:
    """Return the JSON value of topic flitwatch.jobs.v1 for a job (docs/contracts/log.md)."""
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
        "nodes": job.nodes if (listed := count_other_nodes(job)) is None else max(listed, job.nodes or 0),
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
        "limit": job.limit_s,
    }


__all__ = ["BadInput", "Rejection", "SacctReader", "decode_jobs", "encode_job", "read_jobs", "to_job_record"]
