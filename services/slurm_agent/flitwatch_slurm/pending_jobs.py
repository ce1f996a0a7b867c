"""Delays and preferences of jobs that wait: what advice says now, and an end to what it said before."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from flitwatch_domain.errors import FlitwatchError
from flitwatch_slurm import cluster
from flitwatch_slurm.cluster import Pending
from flitwatch_slurm.questions import Advised, Places, features, host_list

log = logging.getLogger(__name__)
#: Jobs that wait for another cause are left alone.
ORDINARY = frozenset({"Priority", "Resources", "None", "BeginTime", "JobHeldAdmin", ""})


@dataclass(frozen=True)
class Limits:
    """How far the agent may go.

    Attributes
    ----------
    hold : bool             `scontrol hold` instead of a start time that passes by itself when the agent dies
    lapse_s : float         how long a start time lasts without the agent
    most_delay_s : float    no job is delayed longer in all
    most_jobs : int         no more jobs are delayed at once
    exclude : bool          exclude the worse nodes where groups have no features of their own
    """

    hold: bool = False
    lapse_s: float = 120.0
    most_delay_s: float = 1800.0
    most_jobs: int = 50
    exclude: bool = False


def act(jobs: Sequence[Pending], advised: Sequence[Advised | None], where: Places, limits: Limits) -> dict[str, int]:
    """Change the jobs as advised; None: there is no advice for it now. Returns how many were delayed, preferred and released."""
    done = {"delayed": 0, "preferred": 0, "released": 0}
    now = int(time.time())
    for job, advice in zip(jobs, advised, strict=True):
        if job.off or (job.mark is None and job.reason in ("BeginTime", "JobHeldAdmin")) or job.reason not in ORDINARY:
            continue
        try:
            if (
                advice is not None
                and advice.action == "delay"
                and _may_wait(job, now, limits)
                and done["delayed"] < limits.most_jobs
            ):
                _delay(job, advice, now, limits)
                done["delayed"] += 1
                continue
            if job.mark == "delay":
                _release(
                    job,
                    now,
                    "advice changed" if _may_wait(job, now, limits) else f"it waited {limits.most_delay_s:.0f} s",
                )
                done["released"] += 1
            done["preferred"] += _place(job, advice, where, now, limits)
        except FlitwatchError as problem:
            # The job may have started or ended in the meantime.
            log.warning("job %s: %s", job.job_id, problem)
    return done


def release_all(jobs: Sequence[Pending], why: str) -> int:
    """End every delay that the agent or the plugin began."""
    held = [job for job in jobs if job.mark == "delay" and job.reason in ORDINARY]
    for job in held:
        try:
            _release(job, int(time.time()), why)
        except FlitwatchError as problem:
            log.warning("job %s: %s", job.job_id, problem)
    return len(held)


def _may_wait(job: Pending, now: int, limits: Limits) -> bool:
    # Once let go, a job is not delayed again.
    return job.mark != "released" and (job.mark != "delay" or now - job.since_s < limits.most_delay_s)


def _delay(job: Pending, advice: Advised, now: int, limits: Limits) -> None:
    since = job.since_s if job.mark == "delay" else now
    note = _note("delay", since, advice.reason)
    if limits.hold:
        if job.reason != "JobHeldAdmin":
            cluster.update(job.job_id, AdminComment=note)
            cluster.hold(job.job_id)
        return
    cluster.update(job.job_id, StartTime=_local(now + limits.lapse_s), AdminComment=note)


def _release(job: Pending, now: int, why: str) -> None:
    if job.reason == "JobHeldAdmin":
        cluster.release(job.job_id)
    cluster.update(
        job.job_id, StartTime="now", AdminComment=_note("released", now, f"after {now - job.since_s} s: {why}")
    )
    log.info("job %s: released after %d s: %s", job.job_id, now - job.since_s, why)


def _place(job: Pending, advice: Advised | None, where: Places, now: int, limits: Limits) -> bool:
    """Set, change or remove the preference; a user's own stays."""
    wanted = features(where, advice.chosen) if advice is not None and advice.action == "prefer" else ""
    worse = (
        host_list(where, advice.worse)
        if advice is not None and advice.action == "prefer" and not wanted and limits.exclude
        else ""
    )
    own = job.mark == "prefer"
    if ((job.prefer or job.exclude) and not own) or job.own_wishes:
        return False
    if advice is not None and where.room(advice.chosen).get(job.partition, 0) < job.nodes:
        wanted = worse = ""
    if own and not wanted and not worse:
        cluster.update(
            job.job_id, Prefer="", ExcNodeList="", AdminComment=_note("released", now, "no nodes are preferred now")
        )
        return False
    if (wanted and job.prefer != wanted) or (worse and job.exclude != worse):
        assert advice is not None
        change = {"Prefer": wanted} if wanted else {"ExcNodeList": worse}
        cluster.update(job.job_id, **change, AdminComment=_note("prefer", now, advice.reason))
        return True
    return False


def _note(what: str, since: int, why: str) -> str:
    plain = "".join(c if c.isascii() and c.isprintable() and c not in "\"'" else " " for c in why)
    return f"flitwatch {what} since={since} {plain[:250]}"


def _local(epoch_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(epoch_s))
