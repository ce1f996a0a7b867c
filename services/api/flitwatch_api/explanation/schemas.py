"""The shape of an explanation (docs/contracts/explanation.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from flitwatch_api.diagnosis.schemas import CongestionRoot

Verdict = Literal["named", "slows itself", "cannot tell", "not slow"]


class TaskVerdict(BaseModel):
    """A task of an array, or a component of a heterogeneous job."""

    job_id: str
    state: str
    start: datetime | None
    end: datetime | None
    nodes: int | None
    verdict: Verdict | None = Field(description="Null: it has not started.")
    title: str | None
    named: str | None = Field(description="The job that slows it.")


class WholeJob(BaseModel):
    """An array or a heterogeneous job."""

    job_id: str
    cluster: str
    kind: Literal["array", "heterogeneous"]
    user: str | None
    account: str | None
    name: str | None
    simulated: bool
    total: int = Field(description="Number of all tasks, including waiting ones.")
    states: dict[str, int] = Field(description="Tasks by state.")
    verdicts: dict[str, int] = Field(description="Judged tasks by verdict.")
    named: dict[str, int] = Field(description="Tasks that a job slows, by that job's id.")
    tasks: list[TaskVerdict] = Field(description="At most 100: running tasks first, then the latest.")


class JobSlowdown(BaseModel):
    """A slow stretch of the job."""

    basis: Literal["earlier runs", "own steps", "counters"] = Field(
        description="Basis of the comparison: steps of earlier runs, its own other steps, or (counters) the run time of similar jobs."
    )
    earlier_runs: int
    factor: float = Field(description="Time divided by usual time in the slow period.")
    lost_s: float = Field(description="Seconds beyond the usual time so far.")
    lost_low_s: float = Field(
        description="95 % interval of lost_s, from the variation of its steps between earlier runs."
    )
    lost_high_s: float
    since: datetime
    since_low: datetime = Field(description="95 % interval of the onset.")
    since_high: datetime
    until: datetime | None = Field(
        description="End of the last slow step. The slowdown has ended after three usual steps in a row, or two that took 120 s "
        "together, or after one if the run has ended. Null: still slow, or slow until the end of the run."
    )
    from_start: bool = Field(
        description="The first step was already slow: the slowdown began with the job or before it."
    )
    since_by: Literal["counters", "steps"] = Field(description="Source of the onset.")
    first_step: int | None
    last_step: int | None


class Stalls(BaseModel):
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
    nodes: int = Field(description="Number of the job's nodes in it.")


class StoredBlame(BaseModel):
    """Blame of the job's user in the newest stored estimate of the application."""

    estimate_id: int
    q: float | None
    verdict: str | None
    found: bool


class ScoreParts(BaseModel):
    """Factors of a score."""

    timing: float = Field(description="0 to 1: whether it changed within the interval of the onset.")
    load: float = Field(
        description="0 to 1: its share of the traffic added by jobs that changed, weighted by footprint (or by place)."
    )
    presence: float = Field(description="0 to 1: share of the slow period during which it ran.")
    blame: float = Field(description="2 if blame found its user, otherwise 1.")


class CandidateJob(BaseModel):
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
    shared_links: int = Field(description="Affected links at one of its routers.")
    exposure: float = Field(description="Sum over groups of its nodes times the slow job's share of nodes there.")
    footprint: float | None = Field(
        description="Added stall cycles at its routers, relative to the mean of all counted routers; null: not counted."
    )
    change: Literal["started", "sends more", "none"]
    changed: datetime | None
    sent_before_bytes_per_s: float | None = Field(description="From its network cards; null: not counted.")
    sent_after_bytes_per_s: float | None
    blame: StoredBlame | None
    score: float = Field(
        description="Its `part`, or 0 if it started after the slowdown began. If parts are unknown, the product of `parts`, as "
        "a share over all candidates."
    )
    part: float | None = Field(
        description="0 to 1: share of the slow job's waiting that is due to its traffic; null: unknown."
    )
    parts: ScoreParts
    why_not: str | None = Field(description="Why its score is 0.")


class FlowWaiting(BaseModel):
    """Waiting of the job by flow: stall cycles per flit that its traffic meets on its way."""

    waiting: float | None = Field(description="Waiting beyond that of the quiet minute; null: unknown.")
    quiet: float | None = Field(description="Waiting in the quiet minute.")
    own_part: float | None = Field(description="0 to 1: share of it that is due to the job's own traffic.")
    counted: float | None = Field(description="0 to 1: share of its path with counters.")
    quiet_from: datetime | None = Field(description="Start of the quiet minute.")
    minutes: list[datetime] = Field(description="Starts of the examined minutes of the slow period: the worst ones.")
    resolution_s: int = Field(
        description="Their length: 60; 10 if the first minute is already slow; 3600 if minutes are no longer stored."
    )
    routes: Literal["assumed", "tables"] | None = Field(
        description="Source of the paths: the forwarding tables, or the usual routing of such a machine."
    )
    to_file_system: bool = Field(
        description="Whether this is the path to the file system: on a fat tree, if the job waits longer there than between its nodes."
    )
    unknown_because: str | None


class Remedy(BaseModel):
    """Something that would help, or would have helped."""

    kind: Literal["hold", "delay", "tell", "move", "re-route"]
    job_id: str = Field(description="The job to change.")
    text: str
    minutes_saved: float | None = Field(description="Null if it cannot be estimated, with the reason in why_unknown.")
    why_unknown: str | None
    in_past: bool


class ChainSentence(BaseModel):
    """One sentence of the causal chain."""

    part: Literal["slowed", "steps", "links", "jobs", "since", "certainty", "help"]
    text: str = Field(description="Contains ids of jobs, and no names of users.")


class SlowedTotal(BaseModel):
    """Total cost of a job to other jobs."""

    jobs: int
    lost_s: float
    lost_low_s: float = Field(description="95 % interval.")
    lost_high_s: float
    incidents: list[int] = Field(description="Newest first.")


class Explanation(BaseModel):
    """Why a job is slow, whether it is, and what would help."""

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
    reasons: list[str] = Field(description="Why the cause cannot be determined; empty otherwise.")
    title: str
    detail: str
    slowdown: JobSlowdown | None
    routers: OwnRouters | None
    links: list[CarryingLink] = Field(description="Links with the largest rise of stalls first.")
    root: CongestionRoot | None = Field(
        description="Where the congestion on its links begins, from packet samples or port counters in the minute after the onset; null if not found."
    )
    root_from: datetime | None = Field(
        description="Start of the minute after the onset in which the root is searched; null if too little of it has passed, or "
        "if the job's nodes are unknown."
    )
    root_to: datetime | None
    groups: list[CarryingGroup]
    candidates: list[CandidateJob] = Field(description="Most likely first.")
    candidates_total: int
    named: str | None = Field(
        description="The named job; if there are several, the first one. `candidates` has the others."
    )
    flow: FlowWaiting | None = Field(
        description="What the job waits for; null if it is not slow, or its nodes are unknown."
    )
    remedies: list[Remedy]
    incident_id: int | None = Field(description="The newest incident that slowed it; null: none.")
    slowed: SlowedTotal | None = Field(description="Cost to other jobs; null: no incident names it.")
    chain: list[ChainSentence] = Field(description="The answer as sentences, as in alerts, evidence and commands.")


class JobPart(BaseModel):
    """A figure of a job's own parts over time."""

    key: str
    label: str
    unit: str = Field(description="According to the catalogue of counters.")
    values: list[float | None] = Field(description="One value per step; null is unknown.")


class JobCounters(BaseModel):
    """Counters of a job's own network cards and links; figures without a counter are omitted."""

    ts: list[datetime] = Field(description="Start of each step.")
    step_s: int
    parts: list[JobPart]


class SlowJob(BaseModel):
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
    reasons: list[str] = Field(description="Why no job is named for it; empty otherwise.")
    factor: float = Field(description="Time over usual time.")
    lost_s: float = Field(description="Seconds beyond the usual time.")
    since: datetime
    until: datetime | None


class IncidentSummary(BaseModel):
    """Summary of an incident: which job slows which others, where and since when, and what would help."""

    incident_id: int | None = Field(description="Id for GET /incidents/{incident_id}; null: not stored yet.")
    title: str
    detail: str
    since: datetime | None
    until: datetime | None
    aggressor: CandidateJob | None = Field(description="The named job.")
    links: list[CarryingLink] = Field(description="Hottest first.")
    victims: list[SlowJob] = Field(description="Jobs that it slows, those with most wasted nodes first.")
    others: list[SlowJob] = Field(description="Other slow jobs, with another cause or without a named one.")
    remedies: list[Remedy] = Field(description="For the job with most wasted nodes.")


class ExaminedJobs(BaseModel):
    """Number of running jobs that could be judged."""

    running: int
    slow: int
    not_slow: int
    unknown: int = Field(description="Not comparable with earlier runs.")


class Incident(IncidentSummary):
    """The present incident of a machine, or that there is none, or that the data cannot tell."""

    fabric: str
    as_of: datetime
    verdict: Literal["incident", "none", "cannot tell"]
    reasons: list[str] = Field(description="Why the cause cannot be determined; empty otherwise.")
    judged: ExaminedJobs
    last: IncidentSummary | None = Field(
        description="The newest ended incident of the last day; null during an incident."
    )
