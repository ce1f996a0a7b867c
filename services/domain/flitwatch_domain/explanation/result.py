"""The model of an explanation and of an incident (docs/contracts/explanation.md): dictionaries, whose fields pydantic checks and describes.

Page, alerts, evidence and command line print them as they are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from flitwatch_domain.diagnosis.roots import CongestionRoot

Verdict = Literal["named", "slows itself", "cannot tell", "not slow"]
Kind = Literal["hold", "delay", "tell", "move", "re-route"]
Part = Literal["slowed", "steps", "links", "jobs", "since", "certainty", "help"]


class TaskVerdict(TypedDict):
    """A task of an array, or a component of a heterogeneous job."""

    job_id: str
    state: str
    start: datetime | None
    end: datetime | None
    nodes: int | None
    verdict: Annotated[Verdict | None, Field(description="Null: it has not begun.")]
    title: str | None
    named: Annotated[str | None, Field(description="The job that slows it.")]


class WholeJob(TypedDict):
    """An array or a heterogeneous job."""

    job_id: str
    cluster: str
    kind: Literal["array", "heterogeneous"]
    user: str | None
    account: str | None
    name: str | None
    simulated: bool
    total: Annotated[int, Field(description="Tasks in all, those that wait in one row included.")]
    states: Annotated[dict[str, int], Field(description="Tasks by state.")]
    verdicts: Annotated[dict[str, int], Field(description="Judged tasks by verdict.")]
    named: Annotated[dict[str, int], Field(description="Tasks that a job slows, by that job's id.")]
    tasks: Annotated[list[TaskVerdict], Field(description="At most 100: those that run first, then the latest.")]


class JobSlowdown(TypedDict):
    """A slow stretch of the job."""

    basis: Annotated[
        Literal["earlier runs", "own steps", "counters"],
        Field(
            description="What it is slow against: steps of earlier runs, its own other steps, or (counters) the elapsed time of jobs like it."
        ),
    ]
    earlier_runs: int
    factor: Annotated[float, Field(description="Time over usual time, of the stretch.")]
    lost_s: Annotated[float, Field(description="Seconds beyond the usual time so far.")]
    lost_low_s: Annotated[
        float, Field(description="95 % interval of lost_s, by how much its steps differ between earlier runs.")
    ]
    lost_high_s: float
    since: datetime
    since_low: Annotated[datetime, Field(description="The interval (95 %) in which it began.")]
    since_high: datetime
    until: Annotated[
        datetime | None,
        Field(
            description="The end of its last slow step. It is over once three steps in a row, or two that took 120 s together, were near usual; "
            "of a run that has ended, once one was. Null: not over so far, or slow to the run's end."
        ),
    ]
    from_start: Annotated[bool, Field(description="The first step was slow already: it began with the job or before.")]
    since_by: Annotated[Literal["counters", "steps"], Field(description="What tells the onset best.")]
    first_step: int | None
    last_step: int | None


class Stalls(TypedDict):
    """Time stalled over the time of sending, over equal windows before the onset and after it; null: not counted."""

    stall_ratio_before: float | None
    stall_ratio_after: float | None
    rose: bool | None


class OwnRouters(Stalls):
    """The job's routers together."""

    routers: int


class CarryingLink(Stalls):
    """A directed link at the job's routers, or between its groups, whose stalls rose."""

    link: int
    link_class: str
    from_router: int
    from_name: str
    from_group: int
    to_router: int
    to_name: str
    to_group: int


class CarryingGroup(Stalls):
    """The counted routers of a group."""

    group: int
    nodes: Annotated[int, Field(description="Nodes of the job in it.")]


class StoredBlame(TypedDict):
    """Blame of the job's user in the newest stored estimate of the application."""

    estimate_id: int
    q: float | None
    verdict: str | None
    found: bool


class ScoreParts(TypedDict):
    """Factors of a score."""

    timing: Annotated[float, Field(description="0 to 1: whether it changed within the interval of the onset.")]
    load: Annotated[
        float,
        Field(
            description="0 to 1: its share of what the jobs that changed added, weighted by footprint (else by place)."
        ),
    ]
    presence: Annotated[float, Field(description="0 to 1: share of the slow stretch during which it ran.")]
    blame: Annotated[float, Field(description="2 where blame found its user, else 1.")]


class CandidateJob(TypedDict):
    """A job alongside the slow one."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    simulated: bool
    start: datetime
    end: datetime | None
    named: bool
    shared_routers: int
    shared_groups: int
    shared_links: Annotated[int, Field(description="Carrying links that touch one of its routers.")]
    exposure: Annotated[
        float, Field(description="Sum over groups of its nodes times the slow job's share of its own nodes there.")
    ]
    footprint: Annotated[
        float | None,
        Field(
            description="Stall cycles gained at the routers of its nodes over the mean of all counted routers; null: not counted."
        ),
    ]
    change: Literal["started", "sends more", "none"]
    changed: datetime | None
    sent_before_bytes_per_s: Annotated[float | None, Field(description="By its network cards; null: not counted.")]
    sent_after_bytes_per_s: float | None
    blame: StoredBlame | None
    score: Annotated[
        float,
        Field(
            description="Its `part`, or 0 where it started after the slow stretch began; where parts are not known the product of `parts`, as a share of all candidates'."
        ),
    ]
    part: Annotated[
        float | None,
        Field(description="0 to 1: how much of what the slow job waits for comes with its traffic; null: not known."),
    ]
    parts: ScoreParts
    why_not: Annotated[str | None, Field(description="Why its score is 0.")]


class FlowWaiting(TypedDict):
    """Waiting of the job by flow: stall cycles per flit that its traffic meets on its way."""

    waiting: Annotated[float | None, Field(description="Beyond the quiet ones, over the minutes; null: not known.")]
    quiet: Annotated[float | None, Field(description="In the quiet minute.")]
    own_part: Annotated[float | None, Field(description="0 to 1: how much of it comes with the job's own traffic.")]
    counted: Annotated[float | None, Field(description="0 to 1: the part of its way that is counted.")]
    quiet_from: Annotated[datetime | None, Field(description="When the quiet minute began.")]
    minutes: Annotated[
        list[datetime], Field(description="When the minutes of the slow stretch began that are looked at: the worst.")
    ]
    resolution_s: Annotated[
        int,
        Field(
            description="How long they are: 60; 10 where the first minute is slow already; 3600 where minutes are no longer kept."
        ),
    ]
    routes: Annotated[
        Literal["assumed", "tables"] | None,
        Field(
            description="Whose the ways of the traffic are: those of the forwarding tables, or those that are expected of such a machine."
        ),
    ]
    to_file_system: Annotated[
        bool,
        Field(
            description="Whether the way is that to the file system: on a fat tree, where the stalls between its nodes are too small."
        ),
    ]
    unknown_because: str | None


class Remedy(TypedDict):
    """Something that would help, or would have helped."""

    kind: Kind
    job_id: Annotated[str, Field(description="The job that it is done to.")]
    text: str
    minutes_saved: Annotated[
        float | None, Field(description="Null where it cannot be estimated; why_unknown says why.")
    ]
    minutes_saved_low: NotRequired[
        Annotated[
            float | None,
            Field(description="95 % interval of minutes_saved, as of lost_s; absent in incidents of older versions."),
        ]
    ]
    minutes_saved_high: NotRequired[float | None]
    why_unknown: str | None
    in_past: bool


class ChainSentence(TypedDict):
    """One sentence of the causal chain."""

    part: Part
    text: Annotated[str, Field(description="Names jobs by number, and no user by name.")]


class SlowedTotal(TypedDict):
    """Total cost of a job to other jobs."""

    jobs: int
    lost_s: float
    lost_low_s: Annotated[float, Field(description="95 % interval.")]
    lost_high_s: float
    incidents: Annotated[list[int], Field(description="The newest first.")]


class Finding(TypedDict):
    """Why a job is slow, whether it is, and what would help; without the sentences."""

    job_pk: int
    job_id: str
    cluster: str
    user: str | None
    account: str | None
    name: str | None
    state: str
    nodes: int | None
    start: datetime | None
    end: datetime | None
    simulated: bool
    as_of: datetime
    verdict: Verdict
    reasons: Annotated[list[str], Field(description="Why the cause cannot be determined; empty otherwise.")]
    title: str
    detail: str
    slowdown: JobSlowdown | None
    routers: OwnRouters | None
    links: Annotated[list[CarryingLink], Field(description="Those that gained most stalls first.")]
    root: Annotated[
        CongestionRoot | None,
        Field(
            description="Where the congestion on its links begins, by its packet samples or counters of ports in the minute after the onset; null where that is not found."
        ),
    ]
    root_from: Annotated[
        datetime | None,
        Field(
            description="From here to `root_to`, the minute after the onset, the root is looked for; null where too little of it is over, or the job's place is unknown."
        ),
    ]
    root_to: datetime | None
    groups: list[CarryingGroup]
    candidates: Annotated[list[CandidateJob], Field(description="The most likely first.")]
    candidates_total: int
    named: Annotated[
        str | None,
        Field(description="The job that is named; of several the first, and `candidates` say which others are."),
    ]
    flow: Annotated[
        FlowWaiting | None,
        Field(description="What it waits for; null where it is not slow, or its place is not known."),
    ]
    remedies: list[Remedy]


class Explanation(Finding):
    """Why a job is slow, whether it is, and what would help."""

    incident_id: Annotated[int | None, Field(description="The newest incident that slowed it; null: none.")]
    slowed: Annotated[SlowedTotal | None, Field(description="What it cost others; null: no incident names it.")]
    chain: Annotated[
        list[ChainSentence], Field(description="The same as sentences, as alerts, evidence and commands print it.")
    ]


class SlowJob(TypedDict):
    """A job that an incident slows, or that is slow alongside it."""

    job_pk: int
    job_id: str
    user: str | None
    account: str | None
    name: str | None
    nodes: int | None
    state: str
    simulated: bool
    verdict: Verdict
    reasons: Annotated[list[str], Field(description="Why no job is named for it; empty otherwise.")]
    factor: Annotated[float, Field(description="Time over usual time.")]
    lost_s: Annotated[float, Field(description="Seconds beyond the usual time.")]
    since: datetime
    until: datetime | None


class IncidentSummary(TypedDict):
    """Summary of an incident: which job slows which others, where and since when, and what would help."""

    incident_id: Annotated[int | None, Field(description="Of GET /incidents/{incident_id}; null: not stored yet.")]
    title: str
    detail: str
    since: datetime | None
    until: datetime | None
    aggressor: Annotated[CandidateJob | None, Field(description="The job that is named.")]
    links: Annotated[list[CarryingLink], Field(description="The hottest first.")]
    victims: Annotated[
        list[SlowJob], Field(description="Jobs for which it is named; those that waste most nodes first.")
    ]
    others: Annotated[
        list[SlowJob], Field(description="Jobs that are slow too, for which another job is named, or none.")
    ]
    remedies: Annotated[list[Remedy], Field(description="Of the job that wastes most nodes.")]


class ExaminedJobs(TypedDict):
    """Number of running jobs that could be judged."""

    running: int
    slow: int
    not_slow: int
    unknown: Annotated[int, Field(description="Not comparable with earlier runs.")]


class Incident(IncidentSummary):
    """The present incident of a machine, or that there is none, or that the data cannot tell."""

    fabric: str
    as_of: datetime
    verdict: Literal["incident", "none", "cannot tell"]
    reasons: Annotated[list[str], Field(description="Why the cause cannot be determined; empty otherwise.")]
    judged: ExaminedJobs
    last: Annotated[
        IncidentSummary | None,
        Field(description="The newest incident of the last day that is over; null while one is present."),
    ]
