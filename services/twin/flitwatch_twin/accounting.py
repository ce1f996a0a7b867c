"""Accounting of the simulated jobs: the log's job records, `sacct --parsable2` text and `sacct --json` (layout of Slurm 24.11)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypedDict

from flitwatch_domain.hostlist import compress_hosts
from flitwatch_twin.cluster import Cluster, RunningJob

CPUS_PER_NODE = 68
ACCOUNTS = ("physics", "climate", "materials", "genomics", "fusion")
PARTITION = "regular"
COLUMNS = (
    "JobID|JobIDRaw|JobName|User|UID|Account|Partition|QOS|Cluster|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|Elapsed|"
    "ElapsedRaw|Timelimit|NNodes|NCPUS|NTasks|NodeList|AllocTRES|ReqTRES|Reason|Comment"
)
#: Names of ordinary users' jobs. An instrumented run has its application's name.
JOB_NAMES = ("vasp", "lammps", "cp2k", "wrf", "namd", "gtc", "chroma", "nyx", "qe", "hacc")


class TwinStep(TypedDict):
    """Step of a simulated job, in epoch seconds. `end` is None while it runs."""

    step: str
    name: str
    state: str
    start: int
    end: int | None
    nodes: int
    node_list: str


class TwinJob(TypedDict):
    """Record of topic flitwatch.jobs.v1 (docs/contracts/log.md). For a simulated job, every field except the end is known. Times are epoch seconds."""

    cluster: str
    job_id: str
    restart: int
    user: str
    account: str
    name: str
    partition: str
    state: str
    exit_code: str
    submit: int
    start: int
    end: int | None
    nodes: int
    node_list: str
    steps: list[TwinStep]
    simulated: bool


class Accounting:
    """Converts running and ended jobs to records. Times are epoch seconds; `epoch_s` is second 0 of the twin."""

    def __init__(self, cluster: Cluster, epoch_s: int) -> None:
        self._cluster = cluster
        self._epoch_s = epoch_s

    def record(self, job: RunningJob, ended_s: float | None) -> TwinJob:
        """Return the value of a `flitwatch.jobs.v1` record (docs/contracts/log.md). `ended_s` is None while the job runs."""
        allocation = job.allocation
        start = self._epoch_s + int(allocation.start_s)
        end = None if ended_s is None else max(start, self._epoch_s + int(ended_s))
        nodes = self._node_list(job)
        state = "RUNNING" if end is None else "COMPLETED"
        place = sum(map(ord, job.user))
        name = allocation.request.name or JOB_NAMES[(place + allocation.request.nodes) % len(JOB_NAMES)]
        count = len(allocation.nodes)
        step: TwinStep = {
            "step": "0",
            "name": name,
            "state": state,
            "start": start,
            "end": end,
            "nodes": count,
            "node_list": nodes,
        }
        return {
            "cluster": self._cluster.spec.name,
            "job_id": self._cluster.job_id(allocation),
            "restart": 0,
            "user": job.user,
            "account": ACCOUNTS[place % len(ACCOUNTS)],
            "name": name,
            "partition": PARTITION,
            "state": state,
            "exit_code": "0:0",
            "submit": self._epoch_s + int(min(allocation.request.submit_s, allocation.start_s)),
            "start": start,
            "end": end,
            "nodes": count,
            "node_list": nodes,
            "steps": [step],
            "simulated": True,
        }

    def _node_list(self, job: RunningJob) -> str:
        machine, endpoints = self._cluster.machine, self._cluster.fabric.endpoints
        return compress_hosts(str(endpoints.node[machine.node_endpoint[place]]) for place in job.allocation.nodes)


def switched_off(record: TwinJob, now_s: int) -> TwinJob:
    """Return the record of a job that was still running when the twin stopped."""
    state, end = "NODE_FAIL", max(now_s, record["start"])
    return {
        **record,
        "state": state,
        "end": end,
        "steps": [{**step, "state": state, "end": end} for step in record["steps"]],
    }


def _format_clock(epoch_s: int | None) -> str:
    return "Unknown" if epoch_s is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch_s))


def _format_elapsed(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def to_parsable2(record: TwinJob, now_s: int) -> str:
    """Return the lines of the job and its step as printed by `sacct --parsable2` with `TZ=UTC`."""
    start, end, job_id, nodes = record["start"], record["end"], record["job_id"], record["nodes"]
    seconds = (end if end is not None else now_s) - start
    user_id, cpus = 1000 + sum(map(ord, record["user"])), nodes * CPUS_PER_NODE
    submitted, started = _format_clock(record["submit"]), _format_clock(start)
    times = f"{started}|{_format_clock(end)}|{_format_elapsed(seconds)}|{seconds}"
    allocated = f"billing={cpus},cpu={cpus},node={nodes}"
    whole, place = f"{record['cluster']}|{record['state']}|0:0", record["node_list"]
    return (
        f"{job_id}|{job_id}|{record['name']}|{record['user']}|{user_id}|{record['account']}|{record['partition']}|normal|{whole}|0:0|"
        f"{submitted}|{submitted}|{times}|1-00:00:00|{nodes}|{cpus}||{place}|{allocated}|{allocated}|None|\n"
        f"{job_id}.0|{job_id}.0|{record['name']}|||{record['account']}|||{whole}||"
        f"{started}|{started}|{times}||{nodes}|{cpus}|{cpus}|{place}|cpu={cpus},mem=0,node={nodes}|||\n"
    )


class _Number(TypedDict):
    set: bool
    infinite: bool
    number: int


class _Signal(TypedDict):
    id: _Number
    name: str


class _Exit(TypedDict):
    status: list[str]
    return_code: _Number
    signal: _Signal


class _Tres(TypedDict):
    type: str
    name: str
    id: int
    count: int


def _wrap_number(number: int) -> _Number:
    return {"set": True, "infinite": False, "number": number}


def _make_exit_code() -> _Exit:
    unset: _Number = {"set": False, "infinite": False, "number": 0}
    return {"status": ["SUCCESS"], "return_code": _wrap_number(0), "signal": {"id": unset, "name": ""}}


def _list_tres(nodes: int) -> list[_Tres]:
    cpus = nodes * CPUS_PER_NODE
    counts = (("cpu", 1, cpus), ("node", 4, nodes), ("billing", 5, cpus))
    return [{"type": kind, "name": "", "id": number, "count": count} for kind, number, count in counts]


def slurm_json(record: TwinJob, now_s: int, expand: Callable[[str], list[str]]) -> dict[str, Any]:
    """Return one entry of `jobs` in `sacct --json`, with the accounting keys of Slurm 24.11."""
    start, end, nodes = record["start"], record["end"], record["nodes"]
    elapsed = (end if end is not None else now_s) - start
    zero = {"seconds": 0, "microseconds": 0}
    step_time = {
        "elapsed": elapsed,
        "end": _wrap_number(end or 0),
        "start": _wrap_number(start),
        "suspended": 0,
        "system": zero,
        "total": zero,
        "user": zero,
    }
    step = {
        "time": step_time,
        "exit_code": _make_exit_code(),
        "nodes": {"count": nodes, "range": record["node_list"], "list": expand(record["node_list"])},
        "tasks": {"count": nodes * 64},
        "state": [record["state"]],
        "step": {"id": f"{record['job_id']}.0", "name": record["name"]},
        "task": {"distribution": "Block"},
        "tres": {"allocated": _list_tres(nodes)[:2]},
    }
    return {
        "account": record["account"],
        "comment": {"administrator": "", "job": "", "system": ""},
        "allocation_nodes": nodes,
        "array": {"job_id": 0, "limits": {"max": {"running": {"tasks": 0}}}, "task_id": {**_wrap_number(0), "set": False}, "task": ""},
        "association": {"account": record["account"], "cluster": record["cluster"], "partition": "", "user": record["user"], "id": 1},
        "cluster": record["cluster"],
        "constraints": "",
        "derived_exit_code": _make_exit_code(),
        "time": {
            "elapsed": elapsed, "eligible": record["submit"], "end": end or 0, "planned": _wrap_number(max(start - record["submit"], 0)),
            "start": start, "submission": record["submit"], "suspended": 0, "system": zero, "limit": _wrap_number(1440), "total": zero, "user": zero,
        },
        "exit_code": _make_exit_code(),
        "flags": ["START_RECEIVED"],
        "group": record["user"],
        "het": {"job_id": 0, "job_offset": {**_wrap_number(0), "set": False}},
        "job_id": int(record["job_id"]),
        "name": record["name"],
        "nodes": record["node_list"],
        "partition": record["partition"],
        "priority": _wrap_number(4294901759),
        "qos": "normal",
        "required": {"CPUs": nodes * CPUS_PER_NODE, "memory_per_node": _wrap_number(0)},
        "restart_cnt": 0,
        "state": {"current": [record["state"]], "reason": "None"},
        "steps": [step],
        "tres": {"allocated": _list_tres(nodes), "requested": _list_tres(nodes)},
        "user": record["user"],
        "wckey": {"wckey": "", "flags": []},
        "working_directory": f"/scratch/{record['user']}",
    }  # fmt: skip
