"""The fields of an explanation and of an incident, as docs/contracts/explanation.md describes them; times are datetimes.

They are dictionaries, since page, alerts, evidence and command line print them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypedDict

from flitwatch_domain.link_shares import RoutesKnownBy

Verdict = Literal["named", "slows itself", "cannot tell", "not slow"]
Kind = Literal["hold", "delay", "tell", "move", "re-route"]
Part = Literal["slowed", "steps", "links", "jobs", "since", "certainty", "help"]


class JobSlowdown(TypedDict):
    """A slow stretch of a job.

    Attributes
    ----------
    basis : what it is slow against: earlier runs, its own steps, or counters (the elapsed time of jobs like it)
    factor : time over usual time;  lost_s : seconds beyond the usual time so far, and the interval (95 %) of that
    since, since_low, since_high : when it began, and the interval (95 %) of that;  until : None where it was not over
    from_start : its first step was slow already
    """

    basis: str
    earlier_runs: int
    factor: float
    lost_s: float
    lost_low_s: float
    lost_high_s: float
    since: datetime
    since_low: datetime
    since_high: datetime
    until: datetime | None
    from_start: bool
    since_by: str
    first_step: int | None
    last_step: int | None


class Stalls(TypedDict):
    """Stall cycles per flit over equal windows before the onset and after it; None: not counted."""

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
    to_router: int
    to_name: str
    from_group: int
    to_group: int


class CarryingGroup(Stalls):
    """The counted routers of a group, and the nodes of the job in it."""

    group: int
    nodes: int


class StoredBlame(TypedDict):
    """Result of the application's newest stored estimate for the job's user."""

    estimate_id: int
    q: float | None
    verdict: str | None
    found: bool


class ScoreParts(TypedDict):
    """Factors of a score."""

    timing: float
    load: float
    presence: float
    blame: float


class CandidateJob(TypedDict):
    """A job alongside the slow one with its score, and why that is 0: its part of what the slow job waits for, else its share of the change."""

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
    shared_links: int
    exposure: float
    footprint: float | None
    change: str
    changed: datetime | None
    sent_before_bytes_per_s: float | None
    sent_after_bytes_per_s: float | None
    blame: StoredBlame | None
    score: float
    part: float | None
    parts: ScoreParts
    why_not: str | None


class FlowWaiting(TypedDict):
    """Waiting of the job, by flow: stall cycles per flit of its traffic beyond the quiet ones.

    Attributes
    ----------
    waiting, quiet : over the minutes, and in the quiet one; None: not known
    own_part : the job's own part of the waiting, 0 to 1
    counted : the part of its way that is counted
    quiet_from : when the quiet minute began;  minutes : when the others did;  resolution_s : how long they are
    routes : whether the ways of the traffic are those of forwarding tables, or assumed of such a machine
    to_file_system : whether all that is of its way to the machine's file system: its flits wait there longer than between its nodes
    """

    waiting: float | None
    quiet: float | None
    own_part: float | None
    counted: float | None
    quiet_from: datetime | None
    minutes: list[datetime]
    resolution_s: int
    routes: RoutesKnownBy | None
    to_file_system: bool
    unknown_because: str | None


class Remedy(TypedDict):
    """Something that would help, or would have helped.

    Attributes
    ----------
    job_id : the job that it is done to
    minutes_saved : None where that cannot be estimated; `why_unknown` says why
    in_past : the moment for it is over
    """

    kind: Kind
    job_id: str
    text: str
    minutes_saved: float | None
    why_unknown: str | None
    in_past: bool


class ChainSentence(TypedDict):
    """One sentence of the causal chain; it names jobs by number, and no user by name."""

    part: Part
    text: str


class Finding(TypedDict):
    """Why a job is slow, whether it is, and what would help.

    Attributes
    ----------
    reasons : why the cause cannot be determined; empty otherwise
    links : those that gained most stalls first
    root : where the congestion on its links begins; None where that is not found
    root_from, root_to : the minute after the onset in which it is looked for; None where too little of it is over, or the place is unknown
    candidates : the most likely first;  named : the id of the job that is named, of several the first
    flow : what it waits for; None where the job is not slow or its place is not known
    """

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
    reasons: list[str]
    title: str
    detail: str
    slowdown: JobSlowdown | None
    routers: OwnRouters | None
    links: list[CarryingLink]
    root: Mapping[str, Any] | None
    root_from: datetime | None
    root_to: datetime | None
    groups: list[CarryingGroup]
    candidates: list[CandidateJob]
    candidates_total: int
    named: str | None
    flow: FlowWaiting | None
    remedies: list[Remedy]


class SlowedTotal(TypedDict):
    """Cost of a job to others: the number of jobs, their seconds lost with the interval (95 %), and the incidents, the newest first."""

    jobs: int
    lost_s: float
    lost_low_s: float
    lost_high_s: float
    incidents: list[int]


class Explanation(Finding):
    """A finding with its sentences.

    Attributes
    ----------
    incident_id : the newest incident that slowed it;  slowed : what it cost others; None where no incident names it
    """

    incident_id: int | None
    slowed: SlowedTotal | None
    chain: list[ChainSentence]


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
    reasons: list[str]
    factor: float
    lost_s: float
    since: datetime
    until: datetime | None


class IncidentSummary(TypedDict):
    """Summary of an incident: which job slows which, where and since when, and what would help.

    Attributes
    ----------
    incident_id : of the incident as it is stored; None: not stored yet
    aggressor : the job that is named
    links : the hottest first
    victims : jobs for which it is named, those that waste most nodes first;  others : jobs that are slow for another reason
    remedies : of the job that wastes most nodes
    """

    incident_id: int | None
    title: str
    detail: str
    since: datetime | None
    until: datetime | None
    aggressor: CandidateJob | None
    links: list[CarryingLink]
    victims: list[SlowJob]
    others: list[SlowJob]
    remedies: list[Remedy]


class ExaminedJobs(TypedDict):
    """Number of running jobs that could be judged; `unknown` cannot be compared with earlier runs."""

    running: int
    slow: int
    not_slow: int
    unknown: int


class Incident(IncidentSummary):
    """The present incident of a machine, or that there is none, or that the data cannot tell; `last` is the newest that is over."""

    fabric: str
    as_of: datetime
    judged: ExaminedJobs
    last: IncidentSummary | None
    verdict: Literal["incident", "none", "cannot tell"]
    reasons: list[str]
