"""Model of an explanation and of an incident (docs/contracts/explanation.md): dictionaries with fields that pydantic validates and describes.

The page, alerts, evidence and command line print them unchanged.
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
    verdict: Annotated[Verdict | None, Field(description="Null: it has not started.")]
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
    total: Annotated[int, Field(description="Number of tasks, including those that wait as one row.")]
    states: Annotated[dict[str, int], Field(description="Number of tasks by state.")]
    verdicts: Annotated[dict[str, int], Field(description="Number of judged tasks by verdict.")]
    named: Annotated[dict[str, int], Field(description="Number of tasks slowed by a job, by that job's id.")]
    tasks: Annotated[list[TaskVerdict], Field(description="At most 100: running tasks first, then the latest.")]


class JobSlowdown(TypedDict):
    """A slow period of the job."""

    basis: Annotated[
        Literal["earlier runs", "own steps", "counters"],
        Field(
            description="What it is compared with: steps of earlier runs, its own other steps, or (counters) the elapsed time of similar jobs."
        ),
    ]
    earlier_runs: int
    factor: Annotated[float, Field(description="Time of the slow period divided by its usual time.")]
    lost_s: Annotated[float, Field(description="Seconds beyond the usual time so far.")]
    lost_low_s: Annotated[
        float, Field(description="95 % interval of lost_s, based on how much its steps vary between earlier runs.")
    ]
    lost_high_s: float
    since: datetime
    since_low: Annotated[datetime, Field(description="95 % interval of the time when it began.")]
    since_high: datetime
    until: Annotated[
        datetime | None,
        Field(
            description="End of the last slow step. The period ends once three consecutive steps, or two that took 120 s together, took about the usual time; in "
            "a run that has ended, one step is enough. Null: it has not ended, or lasted to the run's end."
        ),
    ]
    from_start: Annotated[
        bool, Field(description="The first step was already slow: the slow period began with the job or before it.")
    ]
    since_by: Annotated[Literal["counters", "steps"], Field(description="Source of the most precise onset.")]
    first_step: int | None
    last_step: int | None


class Stalls(TypedDict):
    """Stalled time divided by sending time, over equal windows before the onset and after it; null: not counted."""

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
            description="0 to 1: its share of the traffic that all jobs with a change added, weighted by footprint or, if that is unknown, by place."
        ),
    ]
    presence: Annotated[float, Field(description="0 to 1: share of the slow period during which it ran.")]
    blame: Annotated[float, Field(description="2 if blame found its user, otherwise 1.")]


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
    shared_links: Annotated[int, Field(description="Number of affected links at one of its routers.")]
    exposure: Annotated[
        float, Field(description="Sum over groups of its nodes times the share of the slow job's nodes in that group.")
    ]
    footprint: Annotated[
        float | None,
        Field(
            description="Increase of stall cycles at the routers of its nodes, divided by the mean of all counted routers; null: not counted."
        ),
    ]
    change: Literal["started", "sends more", "none"]
    changed: datetime | None
    sent_before_bytes_per_s: Annotated[
        float | None, Field(description="According to its network cards; null: not counted.")
    ]
    sent_after_bytes_per_s: float | None
    blame: StoredBlame | None
    score: Annotated[
        float,
        Field(
            description="Its `part`, or 0 if it started after the slow period began. If parts are unknown: the product of `parts`, as a share of all candidates' products."
        ),
    ]
    part: Annotated[
        float | None,
        Field(description="0 to 1: share of the slow job's waiting that is due to its traffic; null: unknown."),
    ]
    part_within: NotRequired[
        Annotated[
            float | None,
            Field(
                description="Half-width of the 95 % interval of `part`, from its variation between the examined minutes; null: fewer than two. Absent in "
                "incidents of older versions."
            ),
        ]
    ]
    parts: ScoreParts
    why_not: Annotated[str | None, Field(description="Why its score is 0.")]


class FlowWaiting(TypedDict):
    """Waiting of the job by flow: stall cycles per flit on the path of its traffic."""

    waiting: Annotated[
        float | None, Field(description="Beyond the quiet minute's, as a mean over the minutes; null: unknown.")
    ]
    quiet: Annotated[float | None, Field(description="Waiting in the quiet minute.")]
    own_part: Annotated[float | None, Field(description="0 to 1: share of it that is due to the job's own traffic.")]
    counted: Annotated[float | None, Field(description="0 to 1: share of its path that has counters.")]
    quiet_from: Annotated[datetime | None, Field(description="Start of the quiet minute.")]
    minutes: Annotated[
        list[datetime], Field(description="Starts of the examined minutes of the slow period: the worst ones.")
    ]
    resolution_s: Annotated[
        int,
        Field(
            description="Their length: 60; 10 if the first minute is already slow; 3600 if minutes are no longer kept."
        ),
    ]
    routes: Annotated[
        Literal["assumed", "tables"] | None,
        Field(description="Source of the routes: the forwarding tables, or the routes expected on such a machine."),
    ]
    to_file_system: Annotated[
        bool,
        Field(
            description="Whether the path is the one to the file system: on a fat tree, if the stalls between its nodes are too small."
        ),
    ]
    unknown_because: str | None


class Remedy(TypedDict):
    """An action that would help, or would have helped."""

    kind: Kind
    job_id: Annotated[str, Field(description="The job to act on.")]
    text: str
    minutes_saved: Annotated[
        float | None, Field(description="Null if it cannot be estimated; why_unknown gives the reason.")
    ]
    minutes_saved_low: NotRequired[
        Annotated[
            float | None,
            Field(
                description="95 % prediction interval of minutes_saved if the remaining steps are as slow as those so far, or that of lost_s if in_past; absent "
                "in incidents of older versions."
            ),
        ]
    ]
    minutes_saved_high: NotRequired[float | None]
    why_unknown: str | None
    in_past: bool


class ChainSentence(TypedDict):
    """One sentence of the causal chain."""

    part: Part
    text: Annotated[str, Field(description="Names jobs by number, and never users.")]


class SlowedTotal(TypedDict):
    """Total cost of a job to other jobs."""

    jobs: int
    lost_s: float
    lost_low_s: Annotated[
        float,
        Field(
            description="95 % interval, with the errors of the jobs' usual times and of its share of each loss. From 0 if the error of a share is unknown."
        ),
    ]
    lost_high_s: float
    incidents: Annotated[list[int], Field(description="Newest first.")]


class Finding(TypedDict):
    """Whether and why a job is slow, and what would help; without the sentences."""

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
    links: Annotated[list[CarryingLink], Field(description="Links whose stalls rose most come first.")]
    root: Annotated[
        CongestionRoot | None,
        Field(
            description="Where the congestion on its links begins, according to its packet samples or port counters in the minute after the onset; null if not found."
        ),
    ]
    root_from: Annotated[
        datetime | None,
        Field(
            description="Start of the period that is searched for the root, the minute after the onset (to `root_to`). Null if too little of that minute has passed, or the job's place is unknown."
        ),
    ]
    root_to: datetime | None
    groups: list[CarryingGroup]
    candidates: Annotated[list[CandidateJob], Field(description="Most likely first.")]
    candidates_total: int
    named: Annotated[
        str | None,
        Field(description="The job that is named; if there are several, the first. `candidates` shows the others."),
    ]
    flow: Annotated[
        FlowWaiting | None,
        Field(description="Its waiting; null if it is not slow or its place is unknown."),
    ]
    remedies: list[Remedy]


class Explanation(Finding):
    """Whether and why a job is slow, and what would help."""

    incident_id: Annotated[int | None, Field(description="The newest incident that slowed it; null: none.")]
    slowed: Annotated[SlowedTotal | None, Field(description="Its cost to other jobs; null: no incident names it.")]
    chain: Annotated[
        list[ChainSentence], Field(description="The same in sentences, as alerts, evidence and commands print them.")
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
    reasons: Annotated[list[str], Field(description="Why no job is named as its cause; empty otherwise.")]
    factor: Annotated[float, Field(description="Time divided by usual time.")]
    lost_s: Annotated[float, Field(description="Seconds beyond the usual time.")]
    since: datetime
    until: datetime | None


class IncidentSummary(TypedDict):
    """Summary of an incident: which job slows which other jobs, where, since when, and what would help."""

    incident_id: Annotated[int | None, Field(description="Id for GET /incidents/{incident_id}; null: not stored yet.")]
    title: str
    detail: str
    since: datetime | None
    until: datetime | None
    aggressor: Annotated[CandidateJob | None, Field(description="The job that is named.")]
    links: Annotated[list[CarryingLink], Field(description="Hottest first.")]
    victims: Annotated[
        list[SlowJob], Field(description="Jobs whose slowdown it is named for; those that waste most nodes first.")
    ]
    others: Annotated[list[SlowJob], Field(description="Other slow jobs: another job is named as the cause, or none.")]
    remedies: Annotated[list[Remedy], Field(description="Remedies for the job that wastes most nodes.")]


class ExaminedJobs(TypedDict):
    """Number of running jobs that could be judged."""

    running: int
    slow: int
    not_slow: int
    unknown: Annotated[int, Field(description="Not comparable with earlier runs.")]


class Incident(IncidentSummary):
    """The present incident of a machine, or the reason why there is none or it is unknown."""

    fabric: str
    as_of: datetime
    verdict: Literal["incident", "none", "cannot tell"]
    reasons: Annotated[list[str], Field(description="Why the cause cannot be determined; empty otherwise.")]
    judged: ExaminedJobs
    last: Annotated[
        IncidentSummary | None,
        Field(description="The newest incident of the last day that has ended; null while one is open."),
    ]
