"""Explanation of one job as plain data: verdict, reasons, affected links, likely causes and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis.roots import CongestionRoot
from flitwatch_domain.explanation import flow as flow_rule
from flitwatch_domain.explanation import remedies, words
from flitwatch_domain.explanation.candidates import Candidate, Scene, by_flow, rank_jobs
from flitwatch_domain.explanation.carriers import Count, LinkCount, select_carrying_links
from flitwatch_domain.explanation.chain import build_chain
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.explanation.onset_context import OnsetContext
from flitwatch_domain.explanation.result import (
    CandidateJob,
    CarryingGroup,
    CarryingLink,
    Explanation,
    Finding,
    FlowWaiting,
    JobSlowdown,
    SlowedTotal,
    Stalls,
    Verdict,
)
from flitwatch_domain.explanation.slowdown import LEAST_RUNS, LEAST_SLOWDOWN, LEAST_STEPS, Basis, Slowdown, Steps
from flitwatch_domain.jobs import OVER_STATES

Row = dict[str, Any]

#: Minimum number of completed jobs like this one for a verdict on its elapsed time.
LEAST_JOBS = 3
#: A job is named if it has at least this share of the score, and this multiple of the next job's share.
LEAST_SCORE, LEAST_LEAD = 0.6, 2.0
#: A job that was already running is named for its change only if almost nothing else changed.
LEAST_SCORE_OF_CHANGE = 0.85
#: Minimum traffic added by the named job, as a share of all jobs' earlier traffic where the stalls rose.
LEAST_ADDED = 0.05
#: The same limit without NIC counters, as a share of all jobs' exposure.
LEAST_EXPOSURE = 0.1
#: Minimum share of a step's usual time that each further named job adds.
LEAST_EFFECT = 0.05
#: Minimum `timing` of a job that started at the onset.
AT_ONSET = 0.5
MOST_CANDIDATES = 20
#: Bases of comparison that do not prove the network to be the cause, with the reason; no job is named for these.
UNPROVEN: dict[Basis, str] = {
    "own steps": f"fewer than {LEAST_RUNS} earlier runs: a change in its own work looks the same as congestion",
    "counters": "it records no steps, and longer work looks the same as congestion",
}


@dataclass(frozen=True)
class PastRunTimes:
    """Elapsed seconds of completed jobs like this one."""

    elapsed_s: NDArray[np.float64]

    @property
    def usual_s(self) -> float:
        """Return the median."""
        return float(np.median(self.elapsed_s))


@dataclass(frozen=True)
class JobProgress:
    """A job's own record: steps with earlier runs (None if none were recorded), the application, and earlier similar jobs."""

    steps: Steps | None
    exe: str | None
    past: PastRunTimes | None


def elapsed_factor(job: Row, past: PastRunTimes | None, now_s: float) -> float | None:
    """Return a job's time over the usual time of similar jobs; for a running job only if above 1; None if it cannot be judged."""
    if past is None or job["start_s"] is None or _end_is_lost(job):
        return None
    elapsed = (job["end_s"] if job["end_s"] is not None else now_s) - job["start_s"]
    over = job["state"] == "COMPLETED"
    if (not over and (job["end_s"] is not None or elapsed <= past.usual_s)) or past.usual_s <= 0:
        return None
    spread = np.quantile(past.elapsed_s, 0.9)
    factor = float(elapsed / past.usual_s)
    # Jobs of one name compute different things: beyond a tenth above usual, it must be longer than nine in ten of them.
    return factor if factor < LEAST_SLOWDOWN or elapsed > spread else 1.0


def _end_is_lost(job: Row) -> bool:
    """Return whether a job may have ended without a recorded end time."""
    return job["end_s"] is None and job["state"] in OVER_STATES


def build_explanation(
    job: Row,
    watched: JobProgress,
    found: Slowdown | None,
    scene: OnsetContext | None,
    now_s: float,
    root: CongestionRoot | None = None,
    incident_id: int | None = None,
    slowed: SlowedTotal | None = None,
) -> Explanation:
    """Return the answer as described in docs/contracts/explanation.md; times are datetimes.

    `root` is the root of the congestion on its links, if known; `incident_id` and `slowed` come from stored incidents of the job.
    """
    links = [] if scene is None else select_carrying_links(scene.links)
    candidates = [] if scene is None or found is None else _rank_candidates(scene, links)
    flow = None if scene is None or scene.flow is None or not scene.flow.known else scene.flow
    slow = found is not None and found.factor >= LEAST_SLOWDOWN
    blamed = _name_candidates(job, found, scene, flow, candidates) if slow and found is not None else []
    if slow and found is not None:
        usual_since_s = None if found.from_start else job["start_s"]
        itself = flow is not None and flow_rule.slows_itself(flow, job["job_pk"], usual_since_s)
        verdict: Verdict = "slows itself" if itself else "named" if blamed else "cannot tell"
        reasons = [] if verdict != "cannot tell" else _in_the_way(found, scene, flow, candidates)
    else:
        reasons = _list_obstacles(job, watched, now_s)
        verdict = "cannot tell" if reasons else "not slow"
        found = None
    blamed = blamed if verdict == "named" else []
    named = blamed[0] if blamed else None
    onset = None if found is None else _choose_onset_s(found, scene)
    window = None if scene is None or found is None else scene.root_window(now_s)
    finding: Finding = {
        "job_pk": job["job_pk"], "job_id": job["job_id"], "cluster": job["cluster"], "user": job["user"], "account": job["account"], "name": job["name"],
        "state": job["state"], "nodes": job["nodes"], "start": _at_if_known(job["start_s"]), "end": _at_if_known(job["end_s"]), "simulated": job["simulated"],
        "as_of": _to_datetime(now_s), "verdict": verdict, "reasons": reasons,
        "title": words.make_title(verdict, found, onset, blamed), "detail": words.make_detail(verdict, reasons, found, scene, blamed),
        "slowdown": None if found is None or onset is None else _to_job_slowdown(found, scene, onset),
        "routers": None if scene is None or found is None else {"routers": len(np.unique(scene.router)), **_to_stalls(scene.own)},
        "links": [_to_carrying_link(entry) for entry in links] if slow else [], "root": root if slow else None,
        "root_from": None if window is None else _to_datetime(window[0]), "root_to": None if window is None else _to_datetime(window[1]),
        "groups": _list_groups(scene) if slow and scene is not None else [],
        "candidates": [_to_candidate_job(entry, entry in blamed) for entry in candidates[:MOST_CANDIDATES]], "candidates_total": 0 if scene is None or found is None else len(scene.neighbours),
        "named": None if named is None else named.job.job_id,
        "flow": None if scene is None or scene.flow is None or not slow else _to_flow_waiting(scene.flow),
        "remedies": remedies.list_remedies(job, found, blamed, now_s, None if scene is None else scene.rose),
    }  # fmt: skip
    return {**finding, "incident_id": incident_id, "slowed": slowed, "chain": build_chain(finding, slowed)}


def _list_obstacles(job: Row, watched: JobProgress, now_s: float) -> list[str]:
    """Return why the slowness of a job is unknown; empty if it is not slow."""
    if job["start_s"] is None:
        lost = job["state"] == "UNKNOWN"
        return [
            "the scheduler's records have no times for this job"
            if lost
            else "the scheduler's records have no start time for this job"
        ]
    steps = watched.steps
    if steps is None:
        if elapsed_factor(job, watched.past, now_s) is not None:
            return []
        if _end_is_lost(job):
            return ["it records no steps, and the scheduler's records have no end time"]
        if watched.past is None:
            return [
                f"it records no steps, and fewer than {LEAST_JOBS} completed jobs of its name and size show the usual time"
            ]
        if job["state"] == "COMPLETED":
            return ["it records no steps, and its run time is not comparable"]
        if job["end_s"] is not None:
            return ["it records no steps and did not complete"]
        return ["it records no steps and has not run longer than similar jobs yet"]
    if len(steps.step) < LEAST_STEPS:
        return [f"only {len(steps.step)} of its steps {'has' if len(steps.step) == 1 else 'have'} arrived"]
    if len(steps.earlier_s) < LEAST_RUNS:
        return [
            f"its steps are even, and {_format_runs(len(steps.earlier_s))} cannot show whether this is its usual speed"
        ]
    return []


def _format_runs(count: int) -> str:
    return "without earlier runs, Flitwatch" if count == 0 else f"{count} earlier run{'s' if count > 1 else ''}"


def _name_candidates(
    job: Row, found: Slowdown, scene: OnsetContext | None, flow: Flow | None, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates named for a slow stretch, the most likely first: by flow, or by places and times if the flow is unknown."""
    if flow is None or found.basis in UNPROVEN:
        return list(candidates[:1]) if not _in_the_way(found, scene, flow, candidates) else []
    by_pk = {candidate.job.job_pk: candidate for candidate in candidates}
    before = [pk for pk, candidate in by_pk.items() if candidate.score > 0]
    after = [pk for pk, candidate in by_pk.items() if candidate.score <= 0 and candidate.part]
    started = {pk for pk, candidate in by_pk.items() if candidate.change == "started" and candidate.timing >= AT_ONSET}
    named = [by_pk[candidate] for candidate in flow_rule.name_jobs(flow, job["job_pk"], before, after, started)]
    kept = [candidate for candidate in named if candidate is named[0] or _adds_to(named[0], candidate, found)]
    if len(kept) == 1 < len(named) and (named[0].part or 0.0) < flow_rule.LEAST_NAMED:
        # Several together have enough of the waiting; the first one alone has not.
        return []
    return kept


def _adds_to(first: Candidate, other: Candidate, found: Slowdown) -> bool:
    """Return whether another job is named next to the first one: its own part slows the job enough, and it changed when the job became slow.

    If the first one changed then, an earlier job that sends no more than before is not named: its load always varies a little.
    """
    changed = other.change != "none" or first.change == "none" or other.job.start_s > found.high_s
    return changed and (other.part or 0.0) * (found.factor - 1) >= LEAST_EFFECT


def _in_the_way(
    found: Slowdown, scene: OnsetContext | None, flow: Flow | None, candidates: Sequence[Candidate]
) -> list[str]:
    """Return why no job is named for a slow stretch; empty if the first candidate is."""
    reasons: list[str] = []
    if found.basis in UNPROVEN:
        reasons.append(UNPROVEN[found.basis])
    if scene is None:
        return [*reasons, "its nodes on a fabric with counters are unknown"]
    if flow is not None:
        return [*reasons, _by_flow(flow, candidates)]
    if found.from_start:
        reasons.append("it was slow from its first step, so no change during its run explains it")
    rose = scene.rose
    if rose is None:
        reasons.append("its routers have no counters both before and after the onset")
    elif not rose:
        reasons.append(
            "the stalls on its routers and their links did not rise with its step times, so the network was not the cause"
        )
    if reasons:
        return reasons
    return _list_doubts(scene, candidates)


def _by_flow(flow: Flow, candidates: Sequence[Candidate]) -> str:
    if not flow.carried:
        return "the links of its traffic have no more stalls than when they are quiet, so the network was not the cause"
    likely = [candidate for candidate in candidates if candidate.score > 0]
    if not likely:
        return "links on its path stall, but no job that ran before the slowdown sends more over them"
    largest = f"the largest share is {words.format_percent(likely[0].score)}, of job {likely[0].job.job_id}"
    return f"links on its path stall, but {largest if likely[0].score >= flow_rule.LEAST_NAMED else f'no job that ran before the slowdown stands out: {largest}'}"


def _list_doubts(scene: OnsetContext, candidates: Sequence[Candidate]) -> list[str]:
    if not candidates:
        return ["no other job ran alongside it"]
    first = candidates[0]
    if first.score <= 0:
        if any(candidate.timing and candidate.presence for candidate in candidates):
            return ["the jobs that started within the interval sent nothing"]
        return ["no job alongside it started or began to send more within the interval"]
    rest = candidates[1].score if len(candidates) > 1 else 0.0
    if first.score < LEAST_SCORE or first.score < LEAST_LEAD * rest:
        several = sum(1 for candidate in candidates if candidate.score >= first.score / LEAST_LEAD)
        return [f"{several} jobs changed within the interval, and their traffic does not distinguish them"]
    if first.change == "sends more" and first.score < LEAST_SCORE_OF_CHANGE:
        return ["no job started within the interval, and several that ran before sent more"]
    if scene.nics:
        before = sum((candidate.job.sent_before or 0.0) * candidate.reach for candidate in candidates)
        if first.added < LEAST_ADDED * before:
            return [
                f"the most likely job added only {words.format_percent(first.added / before)} to the earlier traffic where the stalls rose"
            ]
    elif first.exposure < LEAST_EXPOSURE * sum(candidate.exposure for candidate in candidates):
        return ["the only job that started has too few nodes in its groups, and no network cards have counters"]
    return []


def _rank_candidates(scene: OnsetContext, links: Sequence[LinkCount]) -> list[Candidate]:
    ends = [(link.src_router, link.dst_router) for link in links]
    gained = None if scene.counted is None else scene.counted.gained
    flow = scene.flow if scene.flow is not None and scene.flow.known else None
    neighbours = scene.neighbours
    if flow is not None:
        # More jobs are rarely read, and each takes as long as reading its counters.
        part = flow.part
        neighbours = sorted(neighbours, key=lambda job: -part.get(job.job_pk, 0.0))[:MOST_CANDIDATES]
    ranking = rank_jobs(
        neighbours, Scene(scene.router, scene.group, scene.low_s, scene.high_s, scene.end_s, ends, gained)
    )
    return ranking if flow is None else by_flow(ranking, flow, scene.high_s)


def _to_flow_waiting(flow: Flow) -> FlowWaiting:
    is_known = flow.known
    return {
        "waiting": flow.waiting if is_known else None,
        "quiet": flow.quiet if is_known else None,
        "own_part": flow.own if is_known else None,
        "counted": flow.counted if is_known else None,
        "quiet_from": _to_datetime(flow.quiet_s) if is_known else None,
        "minutes": [_to_datetime(at) for at in flow.minutes_s] if is_known else [],
        "resolution_s": flow.resolution_s,
        "routes": flow.routes if is_known else None,
        "to_file_system": flow.to_file_system,
        "unknown_because": flow.reason
        if flow.reason is not None
        else None
        if is_known
        else "most of its path has no counters",
    }


def _choose_onset_s(found: Slowdown, scene: OnsetContext | None) -> float:
    """Return the best single estimate of the onset: when the stalls rose, or the step began."""
    if scene is not None and scene.refined:
        return (scene.low_s + scene.high_s) / 2
    return min(max(found.onset_s, found.low_s), found.high_s)


def _to_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _at_if_known(seconds: float | None) -> datetime | None:
    return None if seconds is None else _to_datetime(seconds)


def _to_job_slowdown(found: Slowdown, scene: OnsetContext | None, onset_s: float) -> JobSlowdown:
    low, high = (found.low_s, found.high_s) if scene is None else (scene.low_s, scene.high_s)
    return {
        "basis": found.basis,
        "earlier_runs": found.runs,
        "factor": found.factor,
        "lost_s": found.lost_s,
        "lost_low_s": found.lost_interval_s[0],
        "lost_high_s": found.lost_interval_s[1],
        "since": _to_datetime(onset_s),
        "since_low": _to_datetime(low),
        "since_high": _to_datetime(high),
        "until": _at_if_known(found.end_s),
        "from_start": found.from_start,
        "since_by": "counters"
        if scene is not None and scene.refined
        else ("steps" if found.basis != "counters" else "counters"),
        "first_step": found.first_step,
        "last_step": found.last_step,
    }


def _to_stalls(count: Count) -> Stalls:
    return {"stall_ratio_before": count.before, "stall_ratio_after": count.after, "rose": count.rose}


def _to_carrying_link(one: LinkCount) -> CarryingLink:
    return {
        "link": one.link,
        "link_class": one.link_class,
        "from_router": one.src_router,
        "from_name": one.src_name,
        "to_router": one.dst_router,
        "to_name": one.dst_name,
        "from_group": one.src_group,
        "to_group": one.dst_group,
        **_to_stalls(one.count),
    }


def _list_groups(scene: OnsetContext) -> list[CarryingGroup]:
    """Return the groups in which the job has nodes, with the counts of their routers."""
    if scene.counted is None:
        return []
    node_groups = scene.group[scene.router]
    return [
        {
            "group": int(group),
            "nodes": int((node_groups == group).sum()),
            **_to_stalls(scene.counted.of(np.flatnonzero(scene.group == group))),
        }
        for group in np.unique(node_groups[node_groups >= 0])
    ]


def _to_candidate_job(one: Candidate, named: bool) -> CandidateJob:
    job = one.job
    blamed = job.blamed
    return {
        "job_pk": job.job_pk, "job_id": job.job_id, "user": job.user, "name": job.name, "nodes": job.nodes, "simulated": job.simulated,
        "start": _to_datetime(job.start_s), "end": _at_if_known(job.end_s), "named": named,
        "shared_routers": one.shared_routers, "shared_groups": one.shared_groups, "shared_links": one.shared_links, "exposure": one.exposure, "footprint": one.footprint,
        "change": one.change, "changed": _at_if_known(one.changed_s), "sent_before_bytes_per_s": job.sent_before, "sent_after_bytes_per_s": job.sent_after,
        "blame": None if blamed is None else {"estimate_id": blamed.estimate_id, "q": blamed.q, "verdict": blamed.verdict, "found": blamed.found},
        "score": one.score, "part": one.part, "part_within": one.part_within, "parts": {"timing": one.timing, "load": one.load, "presence": one.presence, "blame": one.blame}, "why_not": one.why_not,
    }  # fmt: skip
