"""Incident of a machine: explanations of its jobs, combined by the job that they name; plain data for the home page, the API and tests."""

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
from flitwatch_domain.explanation.words import format_clock, format_percent, format_slower

MOST_LINKS = 6


def find_incident(
    fabric: str,
    explanations: Sequence[Explanation],
    running: int,
    now_s: float,
    snapshot: bool = False,
    counted: bool = True,
) -> Incident:
    """Return the present incident: the job named for most of the current losses, and its victims.

    Parameters
    ----------
    fabric : str
    explanations : current explanations of running jobs
    running : int               number of running jobs, examined or not
    now_s : float               epoch seconds
    snapshot : bool             whether the machine has only one sample, without a time: no onset can be determined
    counted : bool              whether counters of this time are stored: without them and without jobs, nothing is known

    Returns
    -------
    Incident
        The caller sets `last` and `incident_id`.
    """
    slow = [
        explanation
        for explanation in explanations
        if explanation["slowdown"] is not None and explanation["slowdown"]["until"] is None
    ]
    at_speed = sum(_is_at_speed(explanation) for explanation in explanations)
    judged: ExaminedJobs = {
        "running": running,
        "slow": len(slow),
        "not_slow": at_speed,
        "unknown": running - len(slow) - at_speed,
    }
    named = [explanation for explanation in slow if explanation["named"] is not None]
    as_of = datetime.fromtimestamp(now_s, UTC)
    if named:
        story = _summarise_explanations(named, slow)
        return {
            "fabric": fabric,
            "as_of": as_of,
            "judged": judged,
            "last": None,
            "verdict": "incident",
            "reasons": [],
            **story,
        }
    reasons = _list_unknown_reasons(slow, judged, snapshot, counted)
    verdict: Literal["none", "cannot tell"] = "cannot tell" if reasons else "none"
    since = min((_require_slowdown(explanation)["since"] for explanation in slow), default=None)
    return {
        "fabric": fabric, "as_of": as_of, "judged": judged, "last": None, "incident_id": None, "verdict": verdict, "reasons": reasons, "title": _quiet_title(slow, verdict), "detail": _quiet_detail(slow, reasons, judged),
        "since": since, "until": None, "aggressor": None, "links": _collect_links(slow), "victims": [], "others": [_to_slow_job(explanation) for explanation in _sort_worst_first(slow)],
        "remedies": _sort_worst_first(slow)[0]["remedies"] if slow else [],
    }  # fmt: skip


def _summarise_explanations(named: Sequence[Explanation], slow: Sequence[Explanation]) -> IncidentSummary:
    """Summarise the explanations that name the job for which most node-seconds are lost."""
    lost: dict[str, float] = {}
    for explanation in named:
        if (job := explanation["named"]) is not None:
            lost[job] = lost.get(job, 0.0) + _wasted_nodes(explanation)
    who = max(sorted(lost), key=lambda job: lost[job])
    victims = _sort_worst_first([explanation for explanation in named if explanation["named"] == who])
    others = _sort_worst_first([explanation for explanation in slow if explanation["named"] != who])
    aggressor = next(explanation for explanation in victims[0]["candidates"] if explanation["named"])
    # The onset with the best accuracy comes from counters; a job that began later was slow later.
    since = min(_require_slowdown(explanation)["since"] for explanation in victims)
    ends = [_require_slowdown(explanation)["until"] or explanation["end"] for explanation in victims]
    over = [end for end in ends if end is not None]
    until = max(over) if len(over) == len(ends) else None
    return {
        "incident_id": None, "title": _make_title(who, victims, since, until), "detail": _make_detail(victims, aggressor), "since": since, "until": until, "aggressor": aggressor,
        "links": _collect_links(victims), "victims": [_to_slow_job(explanation) for explanation in victims], "others": [_to_slow_job(explanation) for explanation in others],
        "remedies": victims[0]["remedies"],
    }  # fmt: skip


def _is_at_speed(one: Explanation) -> bool:
    """Return whether a job is known to keep its usual speed now: it never was slow, or no longer is."""
    slow = one["slowdown"]
    return one["verdict"] == "not slow" or (slow is not None and slow["until"] is not None)


def _wasted_nodes(one: Explanation) -> float:
    """Return the nodes wasted by a job's slowness."""
    return float((one["nodes"] or 1) * (_require_slowdown(one)["factor"] - 1))


def _sort_worst_first(explanations: Sequence[Explanation]) -> list[Explanation]:
    return sorted(explanations, key=lambda one: (-_wasted_nodes(one), one["job_id"]))


def _require_slowdown(one: Explanation) -> JobSlowdown:
    """Return the slow stretch of a job that has one."""
    slowdown = one["slowdown"]
    assert slowdown is not None
    return slowdown


def _to_slow_job(one: Explanation) -> SlowJob:
    slow = _require_slowdown(one)
    return {
        "job_pk": one["job_pk"], "job_id": one["job_id"], "user": one["user"], "account": one["account"], "name": one["name"], "nodes": one["nodes"],
        "state": one["state"], "simulated": one["simulated"], "verdict": one["verdict"], "reasons": one["reasons"],
        "factor": slow["factor"], "lost_s": slow["lost_s"], "since": slow["since"], "until": slow["until"],
    }  # fmt: skip


def _collect_links(explanations: Sequence[Explanation]) -> list[CarryingLink]:
    return sort_hottest_links([link for explanation in explanations for link in explanation["links"]])[:MOST_LINKS]


def sort_hottest_links(links: Sequence[CarryingLink]) -> list[CarryingLink]:
    """Return links that carry slowness, each once, in descending order of stalls per flit."""
    best: dict[int, CarryingLink] = {}
    for link in links:
        previous = best.get(link["link"])
        if previous is None or (link["stall_ratio_after"] or 0) > (previous["stall_ratio_after"] or 0):
            best[link["link"]] = link
    return sorted(best.values(), key=lambda link: (-(link["stall_ratio_after"] or 0), link["link"]))


def _describe_slowness(one: Explanation) -> str:
    return f"job {one['job_id']} is {format_slower(_require_slowdown(one)['factor'])}"


def _make_title(who: str, victims: Sequence[Explanation], since: datetime, until: datetime | None) -> str:
    whom = f"job {victims[0]['job_id']}" if len(victims) == 1 else f"{len(victims)} jobs"
    if until is None:
        return f"Job {who} has been slowing {whom} since {format_clock(since.timestamp())}"
    return f"Job {who} slowed {whom} from {format_clock(since.timestamp())} to {format_clock(until.timestamp())}"


def _make_detail(victims: Sequence[Explanation], aggressor: CandidateJob) -> str:
    nodes_text = "" if aggressor["nodes"] is None else f" on {aggressor['nodes']} nodes"
    did = "It began to send more" if aggressor["change"] == "sends more" else "It started"
    part = (
        ""
        if aggressor["part"] is None
        else f" {format_percent(aggressor['part'])} of the added waiting is due to its traffic."
    )
    return f"{did}{nodes_text}. {_describe_slow_jobs(victims)}{part} Based on traffic and timing; not proof of cause."


def _describe_slow_jobs(slow: Sequence[Explanation]) -> str:
    shown = [_describe_slowness(explanation) for explanation in slow[:3]]
    more = len(slow) - len(shown)
    text = ", ".join(shown) + (f", and {more} more" if more else "")
    return f"{text[:1].upper()}{text[1:]}."


def _list_unknown_reasons(
    slow: Sequence[Explanation], judged: ExaminedJobs, snapshot: bool, counted: bool
) -> list[str]:
    """Return why no incident is shown but none is ruled out; empty if there is certainly none."""
    if snapshot:
        return ["the machine has only one sample, without a time"]
    if slow:
        return list(
            dict.fromkeys(reason for explanation in _sort_worst_first(slow) for reason in explanation["reasons"])
        )
    if judged["running"] and not judged["not_slow"]:
        return [f"none of the {judged['running']} running jobs has steps that can be compared with earlier runs"]
    if not judged["running"] and not counted:
        return ["no running jobs and no counters are stored for this time"]
    return []


def _quiet_title(slow: Sequence[Explanation], verdict: str) -> str:
    if slow and all(explanation["verdict"] == "slows itself" for explanation in slow):
        return f"Job {slow[0]['job_id']} slows itself" if len(slow) == 1 else f"{len(slow)} jobs slow themselves"
    if slow:
        return f"{len(slow)} job{'s are' if len(slow) > 1 else ' is'} slow; cannot tell which job caused it"
    return "No incident" if verdict == "none" else "Cannot tell whether a job is slow"


def _quiet_detail(slow: Sequence[Explanation], reasons: Sequence[str], judged: ExaminedJobs) -> str:
    if reasons:
        text = "; ".join(reasons)
        return f"{_describe_slow_jobs(_sort_worst_first(slow))} " * bool(slow) + f"{text[:1].upper()}{text[1:]}."
    if slow:
        return f"{_describe_slow_jobs(_sort_worst_first(slow))} Their waiting is due to their own traffic."
    if not judged["running"]:
        return "No job is running."
    fast = judged["not_slow"]
    sentence = f"{fast} running job{'s keep their' if fast > 1 else ' keeps its'} usual speed."
    others = judged["unknown"]
    return f"{sentence} {others} more cannot be compared with earlier runs." if others else sentence
