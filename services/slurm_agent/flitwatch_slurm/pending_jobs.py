"""Delays and preferences of pending jobs: apply current advice and undo outdated advice."""

from __future__ import annotations

import logging
import time
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

import orjson

from flitwatch_domain.errors import FlitwatchError
from flitwatch_slurm import advice_file, cluster
from flitwatch_slurm.cluster import Pending
from flitwatch_slurm.questions import PlacedAdvice, Places, host_list, join_features

log = logging.getLogger(__name__)
#: Jobs that are pending for any other reason are not changed.
ORDINARY = frozenset({"Priority", "Resources", "None", "BeginTime", "JobHeldAdmin", ""})


@dataclass
class Notes:
    """Last mark of each pending job, next to the advice file, because another tool can overwrite the mark in a job's admin comment.

    Attributes
    ----------
    path : Path of the notes file
    marks : dict     (delay, prefer or released; start in epoch seconds) by job
    """

    path: Path
    marks: dict[str, tuple[str, int]] = field(default_factory=dict)
    _kept: bytes = b""

    @classmethod
    def load_next_to(cls, advice: Path) -> Notes:
        """Load the notes next to an advice file. They are empty if the file is missing or unreadable."""
        path = advice.with_name(f"{advice.name}.jobs")
        try:
            content = path.read_bytes()
            marks = {str(job): (str(what), int(since)) for job, (what, since) in orjson.loads(content).items()}
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError, TypeError, AttributeError) as problem:
            log.warning("%s cannot be read: jobs without a mark are left alone: %s", path, problem)
            return cls(path)
        return cls(path, marks, content)

    def restored(self, jobs: Sequence[Pending]) -> list[Pending]:
        """Return the jobs, with noted marks added to jobs whose comment has none. Notes of jobs that are no longer pending are dropped."""
        marked_jobs = []
        for job in jobs:
            noted = self.marks.get(job.job_id) if job.mark is None else None
            marked_jobs.append(job if noted is None else replace(job, mark=noted[0], since_s=noted[1]))
        self.marks = {job.job_id: (job.mark, job.since_s) for job in marked_jobs if job.mark is not None}
        return marked_jobs

    def keep(self) -> None:
        """Write the notes to their file. If that fails, they remain only in memory."""
        data = orjson.dumps(self.marks, option=orjson.OPT_SORT_KEYS)
        if data == self._kept:
            return
        try:
            advice_file.write_file(self.path, data)
            self._kept = data
        except OSError as problem:
            log.warning("%s cannot be written: %s", self.path, problem.strerror)


@dataclass(frozen=True)
class Limits:
    """Limits of the agent's actions.

    Attributes
    ----------
    hold : bool             use `scontrol hold` instead of a start time, which would pass even if the agent dies
    lapse_s : float         how long a start time lasts without renewal by the agent
    most_delay_s : float    longest total delay of a job
    most_jobs : int         most jobs delayed at once
    exclude : bool          exclude the worse nodes if groups have no distinguishing features
    """

    hold: bool = False
    lapse_s: float = 120.0
    most_delay_s: float = 1800.0
    most_jobs: int = 50
    exclude: bool = False


class Changes(TypedDict):
    """Numbers of jobs that were delayed, given a preference, and released."""

    delayed: int
    preferred: int
    released: int


#: (last action, its start in epoch seconds) by job. Changes are recorded here.
Marks = MutableMapping[str, tuple[str, int]]


def apply_advice(
    jobs: Sequence[Pending], advised: Sequence[PlacedAdvice | None], where: Places, limits: Limits, marks: Marks
) -> Changes:
    """Change the jobs according to the advice. None means that there is currently no advice for a job."""
    done: Changes = {"delayed": 0, "preferred": 0, "released": 0}
    now = int(time.time())
    for job, advice in zip(jobs, advised, strict=True):
        if _is_left_alone(job):
            continue
        if job.off:
            advice = None
        try:
            if (
                advice is not None
                and advice.action == "delay"
                and _may_wait(job, now, limits)
                and done["delayed"] < limits.most_jobs
            ):
                done["delayed"] += _delay_job(job, advice, now, limits, marks)
                continue
            if job.mark == "delay":
                _release_job(
                    job,
                    now,
                    "advice changed" if _may_wait(job, now, limits) else f"it waited {limits.most_delay_s:.0f} s",
                    marks,
                )
                done["released"] += 1
            done["preferred"] += _set_preference(job, advice, where, now, limits, marks)
        except FlitwatchError as problem:
            # The job may have started or ended in the meantime.
            log.warning("job %s: %s", job.job_id, problem)
    return done


def would_act(job: Pending, advice: PlacedAdvice, where: Places, limits: Limits) -> bool:
    """Return whether `apply_advice` would change a job for the first time, ignoring the limit on simultaneous delays."""
    if _is_left_alone(job):
        return False
    return advice.action == "delay" or any(_choose_preference(job, advice, where, limits))


def _is_left_alone(job: Pending) -> bool:
    # A begin time or hold set by others. Slurm updates the reason some seconds after a begin time is set.
    by_others = job.mark != "delay" and (
        job.reason in ("BeginTime", "JobHeldAdmin") or job.eligible_s > time.time() + 1
    )
    # If a user declines advice while their job is delayed, the job is released.
    declined = job.off and job.mark != "delay"
    return declined or by_others or job.reason not in ORDINARY


def release_all(jobs: Sequence[Pending], why: str, marks: Marks) -> int:
    """End every delay set by the agent or the plugin."""
    delayed_jobs = [job for job in jobs if job.mark == "delay" and job.reason in ORDINARY]
    for job in delayed_jobs:
        try:
            _release_job(job, int(time.time()), why, marks)
        except FlitwatchError as problem:
            log.warning("job %s: %s", job.job_id, problem)
    return len(delayed_jobs)


def _may_wait(job: Pending, now: int, limits: Limits) -> bool:
    # A released job is not delayed again.
    return job.mark != "released" and (job.mark != "delay" or now - job.since_s < limits.most_delay_s)


def _delay_job(job: Pending, advice: PlacedAdvice, now: int, limits: Limits, marks: Marks) -> bool:
    noted = _mark_change(job, "delay", job.since_s if job.mark == "delay" else now, advice.reason, marks)
    if noted is None and job.mark != "delay":
        # Without our mark, a later round could not tell that the delay is ours to end.
        return False
    if limits.hold:
        is_held = job.reason == "JobHeldAdmin"
        if noted and (not is_held or cluster.read_mark(job.admin_comment)[0] is None):
            cluster.update_job(job.job_id, **noted)
        if not is_held:
            cluster.hold_job(job.job_id)
        return True
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now + limits.lapse_s))
    cluster.update_job(job.job_id, StartTime=start, **noted or {})
    return True


def _release_job(job: Pending, now: int, why: str, marks: Marks) -> None:
    if job.reason == "JobHeldAdmin":
        cluster.release_job(job.job_id)
    noted = _mark_change(job, "released", now, f"after {now - job.since_s} s: {why}", marks)
    cluster.update_job(job.job_id, StartTime="now", **noted or {})
    log.info("job %s: released after %d s: %s", job.job_id, now - job.since_s, why)


def _set_preference(
    job: Pending, advice: PlacedAdvice | None, where: Places, now: int, limits: Limits, marks: Marks
) -> bool:
    """Set, change or remove the preference. A preference that the user set is kept."""
    own = job.mark == "prefer"
    if ((job.prefer or job.exclude) and not own) or job.own_wishes:
        return False
    preference, worse = ("", "") if advice is None else _choose_preference(job, advice, where, limits)
    if own and not preference and not worse:
        noted = _mark_change(job, "released", now, "no nodes are preferred now", marks)
        cluster.update_job(job.job_id, Prefer="", ExcNodeList="", **noted or {})
        return False
    if (preference and job.prefer != preference) or (worse and job.exclude != worse):
        assert advice is not None
        noted = _mark_change(job, "prefer", now, advice.reason, marks)
        if noted is None:
            return False
        change = {"Prefer": preference} if preference else {"ExcNodeList": worse}
        cluster.update_job(job.job_id, **change, **noted)
        return True
    return False


def _choose_preference(job: Pending, advice: PlacedAdvice, where: Places, limits: Limits) -> tuple[str, str]:
    """Return features to prefer, or else nodes to exclude. Both are empty if nothing is preferred or the user has constraints of their own."""
    users_own = job.own_wishes or ((job.prefer or job.exclude) and job.mark != "prefer")
    if (
        advice.action != "prefer"
        or users_own
        or where.count_free_nodes(advice.chosen).get(job.partition, 0) < job.nodes
    ):
        return "", ""
    preference = join_features(where, advice.chosen)
    return preference, host_list(where, advice.worse) if not preference and limits.exclude else ""


def _mark_change(job: Pending, what: str, since: int, why: str, marks: Marks) -> dict[str, str] | None:
    """Return the admin comment's change that adds our mark to other tools' text. It is empty if the mark already exists, None if it does not fit."""
    comment = cluster.merge_mark(job.admin_comment, what, since, why)
    if comment is not None or job.mark is not None:
        marks[job.job_id] = what, since
    if comment is None:
        log.warning("job %s: the admin comment of another tool has no space for a mark and is not changed", job.job_id)
        return None
    return {} if comment == job.admin_comment else {"AdminComment": comment}
