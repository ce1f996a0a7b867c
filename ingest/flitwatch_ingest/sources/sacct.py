"""Slurm accounting: output of `sacct`, as delimited text or JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO
from zoneinfo import ZoneInfo

import orjson

from flitwatch_domain.jobs import Job, JobRecord, count_other_nodes
from flitwatch_ingest.sources import sacct_json, sacct_text
from flitwatch_ingest.sources.incarnations import Found, number_restarts
from flitwatch_ingest.sources.rejection import Rejection


class SacctReader:
    """Decoder of sacct outputs.

    Parameters
    ----------
    zone : ZoneInfo, optional
        Time zone of times without one (default: the machine's).
    cluster : str
        Name of the cluster if the output has none.
    columns : sequence of str, optional
        Columns of a text without a header; sacct's usual columns are recognised.
    """

    def __init__(
        self, zone: ZoneInfo | None = None, cluster: str = "default", columns: Sequence[str] | None = None
    ) -> None:
        self._zone, self._cluster, self._columns = zone, cluster, columns

    def read(self, source: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        """Yield jobs, each with a flag for a known restart count, and rejected parts. Text is streamed; JSON is a single value and is read as a whole.

        `source` is output of `sacct --parsable2` (any delimiter, any fields with a JobID), of `sacct --json` (Slurm 22.05 and later), or of slurmctld
        (`squeue --json`, `scontrol show jobs --json`). Raise BadInput if it is none of them, judged from its beginning; raised before the first job is
        requested.
        """
        lines, head = iter(source), []
        for line in lines:
            head.append(line)
            if line.strip():
                break
        rest, first = chain(head, lines), head[-1] if head else b""
        if first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            data = b"".join(rest).removeprefix(b"\xef\xbb\xbf")
            return chain(*sacct_json.decode_json_jobs(data, where, self._cluster))
        return sacct_text.read_text_jobs(rest, where, self._zone, self._cluster, self._columns)

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield nothing: jobs do not span files."""
        return iter(())


def decode_jobs(
    data: bytes, where: str, *, zone: ZoneInfo | None = None, cluster: str = "default"
) -> tuple[list[Job], list[Rejection]]:
    """Return the jobs of one sacct output, in order of appearance, and the rejected parts. Restarts are numbered within this output."""
    items = list(SacctReader(zone, cluster).read(io.BytesIO(data), where))
    jobs = number_restarts(item for item in items if not isinstance(item, Rejection))
    return jobs, [item for item in items if isinstance(item, Rejection)]


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
