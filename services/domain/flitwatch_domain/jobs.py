"""Jobs of the scheduler and their steps."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

from flitwatch_domain.errors import BadInput
from flitwatch_domain.hostlist import count_hosts
from flitwatch_domain.units import LATEST_S

# Flux's job ids have 64 bits: up to 20 digits.
_JOB_ID = re.compile(r"([0-9]{1,20})(?:_([0-9]{1,18}|\[[^\]]*\]))?(?:\+([0-9]{1,18}))?")
_PBS_JOB_ID = re.compile(r"([0-9]{1,18})(?:\[([0-9]{0,9}|[0-9,:-]{1,200})\])?(?:\.([A-Za-z0-9][\w.-]*))?")
#: Slurm's states of a job that will not change any more.
FINAL_STATES = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
#: States in which a job returned its nodes: it failed to start on them, or is requeued as another incarnation.
RELEASED_STATES = frozenset(
    {
        "LAUNCH_FAILED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "SPECIAL_EXIT",
    }
)
#: Cluster of jobs whose records name none.
UNKNOWN_CLUSTER = "default"
#: State of a job that is running according to accounting but ended long ago: Slurm's "runaway job".
RUNAWAY = "RUNAWAY"
#: States of a job that is over, even if its end time is unknown.
OVER_STATES = FINAL_STATES | RELEASED_STATES | {"UNKNOWN", RUNAWAY}
#: A job may run past its limit (OverTimeLimit, KillWait), and suspended time is not counted. It is a runaway after twice the limit plus this.
RUNAWAY_AFTER_S = 3600.0


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step of a job: `0`, `batch`, `extern`, ...; times are epoch seconds, None unknown."""

    step: str
    name: str | None = None
    state: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    nodes: int | None = None
    node_list: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job, or one requeue of it.

    Attributes
    ----------
    cluster, job_id, restart : str, str, int
        Identity; job_id as Slurm prints it: 42, 3_4 (array), 10+1 (heterogeneous).
    state : str
        One of Slurm's states, without additions (`CANCELLED by 1002` is CANCELLED).
    exit_code : str or None
        Return code and signal, `0:0`.
    submit_s, start_s, end_s : float or None
        Epoch seconds; None if Slurm says Unknown or None, or the event has not occurred yet.
    nodes : int or None
        Number of nodes.
    node_list : str or None
        Host list; None if no node was assigned.
    limit_s : float or None
        Time limit; None if unknown or unlimited.
    """

    cluster: str
    job_id: str
    state: str
    restart: int = 0
    user: str | None = None
    account: str | None = None
    name: str | None = None
    partition: str | None = None
    exit_code: str | None = None
    submit_s: float | None = None
    start_s: float | None = None
    end_s: float | None = None
    nodes: int | None = None
    node_list: str | None = None
    steps: tuple[JobStep, ...] = ()
    simulated: bool = False
    limit_s: float | None = None

    @property
    def array_task(self) -> int | None:
        """Return the task of an array job (4 of 3_4); None for other jobs and for a pending array as a whole."""
        task = split_job_id(self.job_id)[1]
        return int(task) if task is not None and task.isdigit() else None

    @property
    def het_offset(self) -> int | None:
        """Return the component of a heterogeneous job (1 of 10+1)."""
        offset = split_job_id(self.job_id)[2]
        return int(offset) if offset is not None else None


def infer_end_s(
    state: str | None, start_s: float | None, end_s: float | None, elapsed_s: float | None = None, what: str = "job"
) -> float | None:
    """Return the end of a job or step: the recorded one, or where it is over and no end is recorded, the one that its elapsed time implies. Raise
    BadInput if it ends before it starts, or lasts for longer than times are kept."""
    if start_s is None:
        return end_s
    if end_s is not None and end_s < start_s:
        raise BadInput(f"the {what} ends {start_s - end_s:.0f} s before it starts")
    if end_s is None and state in FINAL_STATES | RELEASED_STATES and elapsed_s is not None:
        end_s = start_s + elapsed_s
        if not start_s <= end_s <= LATEST_S:
            raise BadInput(f"the {what} cannot have lasted {elapsed_s:.0f} s")
    return end_s


def infer_end(job: Job, elapsed_s: float | None = None) -> Job:
    """Return a job with the end from `infer_end_s`; raises the same errors."""
    end_s = infer_end_s(job.state, job.start_s, job.end_s, elapsed_s)
    return job if end_s == job.end_s else replace(job, end_s=end_s)


def count_other_nodes(job: Job) -> int | None:
    """Return the number of hosts in a job's list if the recorded number of nodes is another one; else None.

    The list says where the job ran. The larger number is its size, because a list can be cut off, and a number can be that of a request.
    """
    if job.nodes is None or not job.node_list:
        return None
    listed = count_hosts(job.node_list)
    return listed if listed != job.nodes else None


def mark_runaway(job: Job, now_s: float) -> Job:
    """Set the state `RUNAWAY` for a job that is running according to its record but is far past its limit; return other jobs unchanged."""
    if job.state != "RUNNING" or job.end_s is not None or job.start_s is None or job.limit_s is None:
        return job
    is_gone = now_s > job.start_s + 2 * job.limit_s + RUNAWAY_AFTER_S
    return replace(job, state=RUNAWAY) if is_gone else job


class JobStepRecord(TypedDict):
    """A step in a record of topic flitwatch.jobs.v1; times are epoch seconds, None unknown."""

    step: str
    name: str | None
    state: str | None
    start: float | None
    end: float | None
    nodes: int | None
    node_list: str | None


class JobRecord(TypedDict):
    """A record of topic flitwatch.jobs.v1 (docs/contracts/log.md): the fields of `Job`; times are epoch seconds, None unknown."""

    cluster: str
    job_id: str
    restart: int
    user: str | None
    account: str | None
    name: str | None
    partition: str | None
    state: str
    exit_code: str | None
    submit: float | None
    start: float | None
    end: float | None
    nodes: int | None
    node_list: str | None
    steps: list[JobStepRecord]
    simulated: bool
    limit: float | None


def split_job_id(job_id: str) -> tuple[str, str | None, str | None]:
    """Return (job, array task, heterogeneous offset) of a job id as Slurm prints it; BadInput if it is not one."""
    match = _JOB_ID.fullmatch(job_id)
    if match is None:
        raise BadInput(f"{job_id[:40]!r} is not a Slurm job id")
    return match.group(1), match.group(2), match.group(3)


class PbsJobId(NamedTuple):
    """A job id of PBS.

    Attributes
    ----------
    job_id : str or None
        As Flitwatch keeps it: 13 of `13.server`, 7_3 of `7[3].server`; None for an array or several of its tasks, `7[].server`, `7[1-5:2].server`.
    cluster : str or None
        The server's name without its domain.
    """

    job_id: str | None
    cluster: str | None


def pbs_job_id(text: str) -> PbsJobId:
    """Parse a job id as PBS prints it; BadInput if it is not one."""
    match = _PBS_JOB_ID.fullmatch(text)
    if match is None:
        raise BadInput(f"{text[:40]!r} is not a job id of PBS")
    number, task, server = match.groups()
    job_id = number if task is None else f"{number}_{int(task)}" if task.isdigit() else None
    return PbsJobId(job_id, server.partition(".")[0] if server else None)


def kept_job_id(text: str) -> PbsJobId:
    """Return the stored id of a job from the id that a process reports in its scheduler's form; ids of other schedulers than PBS stay unchanged."""
    try:
        job_id, cluster = pbs_job_id(text)
    except BadInput:
        return PbsJobId(text, None)
    return PbsJobId(text if job_id is None else job_id, cluster)
