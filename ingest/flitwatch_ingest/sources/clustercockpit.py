"""ClusterCockpit's job archive: one folder per job, with its metadata in `meta.json`.

Source: cc-specifications, job-meta.schema.json. The metrics in `data.json` describe nodes, not the network, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job, infer_end, split_job_id
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.incarnations import Found
from flitwatch_ingest.sources.rejection import Rejection

META = "meta.json"
#: Enough for the longest job script and 100,000 nodes with their cores.
_LONGEST = 64_000_000
_STATES = {
    "boot_fail": "BOOT_FAIL",
    "cancelled": "CANCELLED",
    "completed": "COMPLETED",
    "deadline": "DEADLINE",
    "failed": "FAILED",
    "node_fail": "NODE_FAIL",
    "out_of_memory": "OUT_OF_MEMORY",
    "pending": "PENDING",
    "preempted": "PREEMPTED",
    "running": "RUNNING",
    "stopped": "CANCELLED",
    "suspended": "SUSPENDED",
    "timeout": "TIMEOUT",
}
_GOING_ON = frozenset({"PENDING", "RUNNING", "SUSPENDED"})


def find_job_files(folder: Path) -> Iterator[Path]:
    """Yield every meta.json below a folder, ordered by name."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from find_job_files(path)
        elif path.name in (META, f"{META}.gz", f"{META}.zst"):
            yield path


class ClusterCockpitReader:
    """Decoder of meta.json files.

    Parameters
    ----------
    cluster : str, optional
        Name of the cluster (default: the one in the file).
    """

    def __init__(self, cluster: str | None = None) -> None:
        self._cluster = cluster

    def read(self, source: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        """Yield the job of one file, or its rejection."""
        raw = source.read(_LONGEST + 1)
        try:
            yield self._parse_job(raw), True
        except BadInput as bad:
            yield Rejection(where, bad.reason, raw[: 1 << 16])

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield nothing: each file is a complete job."""
        return iter(())

    def _parse_job(self, raw: bytes) -> Job:
        if len(raw) > _LONGEST:
            raise BadInput(f"is longer than {_LONGEST} bytes")
        try:
            meta = orjson.loads(raw)
        except orjson.JSONDecodeError as broken:
            raise BadInput(f"is not JSON: {broken}"[:200]) from None
        if not isinstance(meta, dict) or "jobId" not in meta:
            raise BadInput("is not a ClusterCockpit job: it has no jobId")
        job_id = str(meta["jobId"])
        split_job_id(job_id)
        state = _STATES.get(str(meta.get("jobState", "")).lower())
        if state is None:
            raise BadInput(f"{str(meta.get('jobState'))[:40]!r} is not a state of ClusterCockpit")
        start_s, duration_s = _time_s(meta.get("startTime")), _duration_s(meta.get("duration"))
        hosts = _parse_hosts(meta.get("resources"))
        details = meta.get("metaData")
        job = Job(
            self._cluster or _optional_text(meta.get("cluster")) or "default",
            job_id,
            state,
            user=_optional_text(meta.get("user")),
            account=_optional_text(meta.get("project")),
            name=_optional_text(details.get("jobName")) if isinstance(details, dict) else None,
            partition=_optional_text(meta.get("partition")),
            submit_s=_time_s(meta.get("submitTime")),
            start_s=start_s if state != "PENDING" else None,
            end_s=None if state in _GOING_ON or start_s is None or duration_s is None else start_s + duration_s,
            nodes=_parse_node_count(meta.get("numNodes")) or len(hosts) or None,
            node_list=fields.node_list(hostlist.compress_hosts(hosts)) if hosts else None,
            limit_s=_duration_s(meta.get("walltime")) or None,
        )
        return infer_end(job)


def _parse_hosts(resources: Any) -> list[str]:
    if resources is None:
        return []
    names = (
        [row.get("hostname") if isinstance(row, dict) else None for row in resources]
        if isinstance(resources, list)
        else [None]
    )
    hosts = [name for name in names if isinstance(name, str) and name and not set(name) & set("[], ")]
    if len(hosts) != len(names):
        raise BadInput("resources is not a list of hosts")
    return list(dict.fromkeys(hosts))


def _parse_node_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


def _optional_text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _time_s(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{str(value)[:40]!r} is not a time")
    return fields.time_s(str(value), None)


def _duration_s(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**10:
        raise BadInput(f"{str(value)[:40]!r} is not a duration")
    return float(value)
