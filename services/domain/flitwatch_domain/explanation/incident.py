"""An incident of a machine: explanations of its jobs, put together by who is named; plain data that home, the API and tests print."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from flitwatch_domain.explanation.result import (
    CandidateJob,
    CarryingLink,
    ExaminedJobs,
    Explanation,
    Incident,
    IncidentSummary,
    JobSlowdown,
    SlowJob,
)
from flitwatch_domain.explanation.words import clock, percent

MOST_LINKS = 6


def incident(fabric: str, told: Sequence[Explanation], running: int, now_s: float, snapshot: bool = False) -> Incident:
    """The present incident: the job that is named for most of what is lost now, and whom it slows.

    Parameters
    ----------
    fabric : str
    told : explanations of running jobs, of this moment
    running : int               jobs that run, looked at or not
    now_s : float               epoch seconds
    snapshot : bool             the machine has one sample without time: nothing can be slow since anything

    Returns
    -------
    Incident
        `last` and `incident_id` are left to the caller.
    """
    slow = [one for one in told if one["slowdown"] is not None and one["slowdown"]["until"] is None]
    at_speed = sum(one["verdict"] == "not slow" for one in told)
    judged: ExaminedJobs = {
        "running": running,
        "slow": len(slow),
        "not_slow": at_speed,
        "unknown": running - len(slow) - at_speed,
    }
    named = [one for one in slow if one["named"] is not None]
    as_of = datetime.fromtimestamp(now_s, UTC)
    if named:
        story = _summary(named, slow)
        return {
            "fabric": fabric,
            "as_of": as_of,
            "judged": judged,
            "last": None,
            "verdict": "incident",
            "reasons": [],
            **story,
        }
    reasons = _unknown(slow, judged, snapshot)
    verdict: Literal["none", "cannot tell"] = "cannot tell" if reasons else "none"
    since = min((_slowdown(one)["since"] for one in slow), default=None)
    return {
        "fabric": fabric, "as_of": as_of, "judged": judged, "last": None, "incident_id": None, "verdict": verdict, "reasons": reasons, "title": _quiet_title(slow, verdict), "detail": _quiet_detail(slow, reasons, judged),
        "since": since, "until": None, "aggressor": None, "links": _links(slow), "victims": [], "others": [_victim(one) for one in _worst(slow)],
        "remedies": _worst(slow)[0]["remedies"] if slow else [],
    }  # fmt: skip


def _summary(named: Sequence[Explanation], slow: Sequence[Explanation]) -> IncidentSummary:
    """What the explanations say together that name the job for which most node-seconds are lost."""
    lost: dict[str, float] = {}
    for one in named:
        if (job := one["named"]) is not None:
            lost[job] = lost.get(job, 0.0) + _weight(one)
    who = max(sorted(lost), key=lambda job: lost[job])
    victims = _worst([one for one in named if one["named"] == who])
    others = _worst([one for one in slow if one["named"] != who])
    aggressor = next(one for one in victims[0]["candidates"] if one["named"])
    # The onset that is known best is that of counters; a job that began later was slow later.
    since = min(_slowdown(one)["since"] for one in victims)
    ends = [_slowdown(one)["until"] or one["end"] for one in victims]
    over = [end for end in ends if end is not None]
    until = max(over) if len(over) == len(ends) else None
    return {
        "incident_id": None, "title": _title(who, victims, since, until), "detail": _detail(victims, aggressor), "since": since, "until": until, "aggressor": aggressor,
        "links": _links(victims), "victims": [_victim(one) for one in victims], "others": [_victim(one) for one in others],
        "remedies": victims[0]["remedies"],
    }  # fmt: skip


def _weight(one: Explanation) -> float:
    """Nodes that a job's slowness wastes."""
    return float((one["nodes"] or 1) * (_slowdown(one)["factor"] - 1))


def _worst(told: Sequence[Explanation]) -> list[Explanation]:
    return sorted(told, key=lambda one: (-_weight(one), one["job_id"]))


def _slowdown(one: Explanation) -> JobSlowdown:
    """The slow stretch of a job that has one."""
    found = one["slowdown"]
    assert found is not None
    return found


def _victim(one: Explanation) -> SlowJob:
    slow = _slowdown(one)
    return {
        "job_pk": one["job_pk"], "job_id": one["job_id"], "user": one["user"], "account": one["account"], "name": one["name"], "nodes": one["nodes"],
        "state": one["state"], "simulated": one["simulated"], "verdict": one["verdict"], "reasons": one["reasons"],
        "factor": slow["factor"], "lost_s": slow["lost_s"], "since": slow["since"], "until": slow["until"],
    }  # fmt: skip


def _links(told: Sequence[Explanation]) -> list[CarryingLink]:
    return hottest([link for one in told for link in one["links"]])[:MOST_LINKS]


def hottest(links: Sequence[CarryingLink]) -> list[CarryingLink]:
    """Links that carry slowness, those with most stalls per flit first, each once."""
    best: dict[int, CarryingLink] = {}
    for link in links:
        held = best.get(link["link"])
        if held is None or (link["stall_ratio_after"] or 0) > (held["stall_ratio_after"] or 0):
            best[link["link"]] = link
    return sorted(best.values(), key=lambda link: (-(link["stall_ratio_after"] or 0), link["link"]))


def _percent(one: Explanation) -> str:
    return f"job {one['job_id']} is {round((_slowdown(one)['factor'] - 1) * 100)} % slower"


def _title(who: str, victims: Sequence[Explanation], since: datetime, until: datetime | None) -> str:
    whom = f"job {victims[0]['job_id']}" if len(victims) == 1 else f"{len(victims)} jobs"
    if until is None:
        return f"Job {who} slows {whom} since {clock(since.timestamp())}"
    return f"Job {who} slowed {whom} from {clock(since.timestamp())} to {clock(until.timestamp())}"


def _detail(victims: Sequence[Explanation], aggressor: CandidateJob) -> str:
    held = "" if aggressor["nodes"] is None else f" on {aggressor['nodes']} nodes"
    did = "It began to send more" if aggressor["change"] == "sends more" else "It started"
    part = (
        ""
        if aggressor["part"] is None
        else f" {percent(aggressor['part'])} of the added waiting comes with its traffic."
    )
    return f"{did}{held}. {_some(victims)}{part} That is traffic and time, not proof."


def _some(slow: Sequence[Explanation]) -> str:
    shown = [_percent(one) for one in slow[:3]]
    more = len(slow) - len(shown)
    text = ", ".join(shown) + (f", and {more} more" if more else "")
    return f"{text[:1].upper()}{text[1:]}."


def _unknown(slow: Sequence[Explanation], judged: ExaminedJobs, snapshot: bool) -> list[str]:
    """Why no incident is shown and none is ruled out; empty where none is there."""
    if snapshot:
        return ["the machine has one sample without time"]
    if slow:
        return list(dict.fromkeys(reason for one in _worst(slow) for reason in one["reasons"]))
    if judged["running"] and not judged["not_slow"]:
        return [f"none of the {judged['running']} running jobs records steps that can be compared with earlier runs"]
    return []


def _quiet_title(slow: Sequence[Explanation], verdict: str) -> str:
    if slow and all(one["verdict"] == "slows itself" for one in slow):
        return f"Job {slow[0]['job_id']} slows itself" if len(slow) == 1 else f"{len(slow)} jobs slow themselves"
    if slow:
        return f"{len(slow)} job{'s are' if len(slow) > 1 else ' is'} slow; cannot tell who caused it"
    return "No incident" if verdict == "none" else "Cannot tell whether a job is slow"


def _quiet_detail(slow: Sequence[Explanation], reasons: Sequence[str], judged: ExaminedJobs) -> str:
    if reasons:
        text = "; ".join(reasons)
        return f"{_some(_worst(slow))} " * bool(slow) + f"{text[:1].upper()}{text[1:]}."
    if slow:
        return f"{_some(_worst(slow))} What they wait for comes with their own traffic."
    if not judged["running"]:
        return "No job is running."
    fast = judged["not_slow"]
    said = f"{fast} running job{'s keep their' if fast > 1 else ' keeps its'} usual speed."
    others = judged["unknown"]
    return f"{said} {others} more cannot be compared with earlier runs." if others else said
