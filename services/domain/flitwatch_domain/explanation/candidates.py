"""Jobs that may have caused a slow stretch, scored by the time of their change, their added load, and its share near the slow job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.blame import NAMED
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.neighbourhood import nodes_near

Floats = NDArray[np.float64]

#: Unnoticed difference between the clocks of scheduler, steps and counters; accounting also rounds to whole seconds.
SLACK_S = 5.0
#: Time constant of the weight of a start before the slow stretch: an earlier job has had its time to begin sending.
LAG_S = 30.0
#: An earlier start explains nothing.
LONGEST_LAG_S = 90.0
#: A job that was already running counts as changed if its nodes send at least this multiple of their maximum in the minutes before. All jobs have
#: bursts, and a burst explains a new slowness only if it is new too.
LEAST_CHANGE = 2.0
#: Even then it weighs less than a start: within an interval, a burst begins by chance much more often than a job.
CHANGE_TIMING = 0.3
#: Minimum share of any job's traffic that can reach the slow job, regardless of placement: detours of adaptive routing are not in any table.
LEAST_REACH = 0.1
#: Factor by which a blame verdict raises the weight of a user's jobs. It is never decisive without other evidence.
BLAME_FACTOR = 2.0


@dataclass(frozen=True)
class Blamed:
    """Result of the application's newest stored estimate for a user: q, and the verdict if it has one."""

    estimate_id: int
    q: float | None
    verdict: str | None

    @property
    def found(self) -> bool:
        """Return whether the estimate names the user. An estimate without a verdict does not."""
        return self.verdict == NAMED


@dataclass(frozen=True)
class NeighbourJob:
    """A job on the same fabric at that time.

    Attributes
    ----------
    job_pk, job_id, user, name, nodes, simulated : as in the table `job`
    start_s, end_s : float, float or None     epoch seconds
    router : int64 (n,)                       the router of each of its nodes
    sent_before, sent_after : float or None   bytes per second that its nodes sent before and after the onset; None if no NIC was counted.
                                              Traffic of its nodes before its start is not its own and counts as 0
    sent_most : float or None                 highest rate of its nodes in the last minutes before the onset, bytes per second
    blamed : Blamed or None
    """

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    simulated: bool
    start_s: float
    end_s: float | None
    router: NDArray[np.int64]
    sent_before: float | None = None
    sent_after: float | None = None
    sent_most: float | None = None
    blamed: Blamed | None = None


AFTER = "it started after the slowdown had begun"
UNKNOWN_BEFORE = "it started long before, and its earlier traffic is unknown"

Change = Literal["started", "sends more", "none"]


@dataclass(frozen=True)
class Candidate:
    """Job with its score and the parts of the score, each in [0, 1] except `blame`.

    Attributes
    ----------
    shared_routers, shared_groups, shared_links : int     links: those that carry the slowdown and touch one of its routers
    exposure : float      sum over groups of its nodes x the slow job's share of its own nodes there
    footprint : float or None     stall cycles gained at the routers of its nodes, over the mean of all counted routers. A job that jams a machine
                          has stalls at its own routers, because queues extend back to the senders. None if routers are not counted
    reach : float         weight of its traffic: its footprint, or else exposure per node, and at least `LEAST_REACH`
    added : float         bytes per second (without NICs: nodes) that it added x reach
    change : kind of change at the onset; changed_s: its time in epoch seconds, or None
    timing, load, presence : 0..1       change within the interval; share of the load added by all changes; share of the slow stretch that it ran
    blame : 1, or `BLAME_FACTOR`
    part : 0..1 or None   part of the slow job's waiting, by flow; None if unknown
    part_within : float or None   see `Flow.part_within`
    score : 0..1          `part`; if that is unknown, the share of the product of the others among all candidates
    why_not : str or None     why its score is 0
    """

    job: NeighbourJob
    shared_routers: int
    shared_groups: int
    shared_links: int
    exposure: float
    change: Change
    changed_s: float | None
    footprint: float | None
    reach: float
    added: float
    timing: float
    load: float
    presence: float
    blame: float
    score: float
    why_not: str | None
    part: float | None = None
    part_within: float | None = None


@dataclass(frozen=True)
class Scene:
    """Measurements used to compare the candidates.

    Attributes
    ----------
    router : int64 (n,)        router of each node of the slow job
    group : int64 (R,)         group of each router, -1 unknown
    low_s, high_s : float      the interval of the onset
    end_s : float              end of the slow stretch, or now
    carrying : set of int      routers at either end of the links that carry the slowdown
    links : list of (int, int) ends of those links
    gained : float64 (R,)      stall cycles that each router gained at the onset, NaN if unknown; None if routers are not counted
    """

    router: NDArray[np.int64]
    group: NDArray[np.int64]
    low_s: float
    high_s: float
    end_s: float
    links: Sequence[tuple[int, int]] = ()
    gained: Floats | None = None

    @cached_property
    def own_places(self) -> tuple[set[int], set[int]]:
        """Return the slow job's routers and its known groups."""
        return self.find_places(self.router)

    def find_places(self, router: NDArray[np.int64]) -> tuple[set[int], set[int]]:
        """Return the routers and the known groups of some nodes, from the router of each (n,)."""
        return set(router.tolist()), set(self.group[router].tolist()) - {-1}


def measure_exposure(own: NDArray[np.int64], other: NDArray[np.int64], group: NDArray[np.int64]) -> float:
    """Return the other job's nodes near the slow job's own; arrays have one router per node."""
    size = int(group.max(initial=0)) + 1
    theirs, mine = (
        np.bincount(group[routers][group[routers] >= 0], minlength=size).astype(float) for routers in (other, own)
    )
    return float(nodes_near(theirs[None, :], mine)[0])


def measure_footprint(other: NDArray[np.int64], gained: Floats | None) -> float | None:
    """Return mean stall cycles gained at a job's nodes (routers (n,)) over the mean of all counted routers; None if nothing was counted or gained."""
    if gained is None or not len(other):
        return None
    whole, there = gained[np.isfinite(gained)], gained[other][np.isfinite(gained[other])]
    if not len(there) or whole.sum() <= 0:
        return None
    return float(there.mean() / whole.mean())


def rank_jobs(jobs: Sequence[NeighbourJob], scene: Scene) -> list[Candidate]:
    """Return all jobs alongside the slow one, most likely first."""
    near = [_draft_candidate(job, scene) for job in jobs]
    counted = all(candidate.job.sent_after is not None for candidate in near if candidate.change == "started") and any(
        candidate.job.sent_after is not None for candidate in near
    )
    if not counted:
        # Without NICs, a job's size and place are used in place of its traffic.
        near = [
            replace(
                candidate, added=candidate.reach * len(candidate.job.router) if candidate.change == "started" else 0.0
            )
            for candidate in near
        ]
    # Jobs that ended, or changed at another time, are excluded from the division.
    near = [
        replace(candidate, added=candidate.added if candidate.timing and candidate.presence else 0.0)
        for candidate in near
    ]
    total = sum(candidate.added for candidate in near)
    near = [replace(candidate, load=candidate.added / total if total > 0 else 0.0) for candidate in near]
    weight = [candidate.timing * candidate.load * candidate.presence * candidate.blame for candidate in near]
    whole = sum(weight)
    scored = [
        replace(candidate, score=value / whole if whole > 0 else 0.0)
        for candidate, value in zip(near, weight, strict=True)
    ]
    return sorted(scored, key=lambda candidate: (-candidate.score, -candidate.exposure, candidate.job.job_pk))


def by_flow(ranking: Sequence[Candidate], flow: Flow, high_s: float) -> list[Candidate]:
    """Rank the same jobs by their parts of the slow job's waiting; jobs that started after it became slow have no score."""
    candidates = []
    for candidate in ranking:
        part = flow.part.get(candidate.job.job_pk, 0.0)
        late = candidate.job.start_s > high_s + SLACK_S
        why_not = (
            AFTER if late else "its traffic does not use the links on which the slow job waits" if part <= 0 else None
        )
        within = flow.part_within(candidate.job.job_pk)
        candidates.append(
            replace(candidate, part=part, part_within=within, score=0.0 if late else part, why_not=why_not)
        )
    return sorted(
        candidates,
        key=lambda candidate: (-candidate.score, -(candidate.part or 0.0), -candidate.exposure, candidate.job.job_pk),
    )


def _draft_candidate(job: NeighbourJob, scene: Scene) -> Candidate:
    shares = measure_exposure(scene.router, job.router, scene.group)
    routers, groups = scene.find_places(job.router)
    own_routers, own_groups = scene.own_places
    change, changed_s, timing, why_not = _judge_timing(job, scene)
    ends = math.inf if job.end_s is None else job.end_s
    span = max(scene.end_s - scene.high_s, 1.0)
    presence = min(1.0, max(0.0, (min(ends, scene.end_s) - scene.high_s) / span))
    mark = measure_footprint(job.router, scene.gained)
    reach = max(LEAST_REACH, mark if mark is not None else shares / max(len(job.router), 1))
    gained = None if job.sent_after is None or job.sent_before is None else max(0.0, job.sent_after - job.sent_before)
    if why_not is None and presence == 0.0:
        why_not = "it ended when the slowdown began"
    return Candidate(
        job,
        len(routers & own_routers),
        len(groups & own_groups),
        sum(1 for src, dst in scene.links if src in routers or dst in routers),
        shares,
        change,
        changed_s,
        mark,
        reach,
        (gained or 0.0) * reach,
        timing,
        0.0,
        presence,
        BLAME_FACTOR if job.blamed is not None and job.blamed.found else 1.0,
        0.0,
        why_not,
    )


def _judge_timing(job: NeighbourJob, scene: Scene) -> tuple[Change, float | None, float, str | None]:
    late = scene.low_s - job.start_s
    if job.start_s > scene.high_s + SLACK_S:
        return "none", None, 0.0, AFTER
    if late <= LONGEST_LAG_S:
        return "started", job.start_s, 1.0 if late <= SLACK_S else math.exp(-(late - SLACK_S) / LAG_S), None
    if job.sent_before is None or job.sent_after is None:
        return "none", None, 0.0, UNKNOWN_BEFORE
    if not sends_more(job.sent_before, job.sent_after):
        return "none", None, 0.0, "it started long before and does not send more than before"
    if job.sent_most is None:
        return "none", None, 0.0, UNKNOWN_BEFORE
    if sends_more(job.sent_most, job.sent_after):
        return "sends more", scene.low_s, CHANGE_TIMING, None
    return "none", None, 0.0, "it started long before and does not send more than before"


def sends_more(before: float, after: float) -> bool:
    """Return whether the bytes per second rose enough to be a change."""
    return after >= LEAST_CHANGE * max(before, 1.0)
