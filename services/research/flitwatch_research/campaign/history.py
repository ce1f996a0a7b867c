"""Four months of a machine: all jobs with place and time, common to all scenarios of a seed, so that sets of runs share their neighbours."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.generators import cori_like
from flitwatch_research.campaign import demand as demands
from flitwatch_research.campaign.background import Background
from flitwatch_research.campaign.variants import Demand
from flitwatch_twin.applications import APPLICATIONS
from flitwatch_twin.calendar import DAY_S
from flitwatch_twin.machine import Machine
from flitwatch_twin.scheduler import Allocation, Placement, Request, Scheduler
from flitwatch_twin.users import MECHANISMS, Population, Role, Users, draw_users
from flitwatch_twin.workload import CROWD, OfferedLoad, draw_submissions

DAYS = 120
RUNS_PER_DAY = 1.7
#: Days between long runs, which are few because each takes an hour and three quarters.
LONG_RUN_EVERY_DAYS = 5
#: Share of the time with a running job of a planted user.
LARGE_PRESENCE, SMALL_PRESENCE, INNOCENT_PRESENCE = (0.14, 0.18), (0.05, 0.08), (0.15, 0.35)
#: Minimum number of nodes of a large aggressor.
LARGE_AGGRESSOR = 1000
#: The scheduler's estimate of a run's time, as a multiple of its time alone; later overlap with successors is neglected.
TIME_LIMIT = 2.0
#: The crowd's jobs are larger and fewer in hard variants (2^6 nodes), which reduces the computing time to a third.
HARD_OFFER = OfferedLoad(small_log2_nodes=6.0)


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs of users (not the crowd's small ones), as arrays of length J; `owner` index len(users) submits instrumented runs.

    `nodes` contains positions in the machine's node list, those of job j at `first[j]:first[j + 1]`. `vigour` scales a job's rates, and `phase` shifts
    its checkpoints.
    """

    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    user: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    nodes: NDArray[np.int32]
    application: tuple[str, ...]
    vigour: NDArray[np.float64]
    phase: NDArray[np.float64]

    def nodes_of(self, job: int) -> NDArray[np.int32]:
        """Return positions of one job's nodes."""
        return self.nodes[self.first[job] : self.first[job + 1]]


@dataclass(frozen=True, eq=False)
class History:
    """All data that do not depend on the scenario's application."""

    seed: int
    machine: Machine
    users: Users
    roles: tuple[str, ...]
    jobs: Jobs
    background: Background

    @property
    def user_names(self) -> tuple[str, ...]:
        """Names of all users, the owner of instrumented runs last."""
        return (*self.users.names, "bench")

    def runs_of(self, application: str) -> NDArray[np.int64]:
        """Return the instrumented runs of an application, in order of start."""
        jobs = [job for job, name in enumerate(self.jobs.application) if name == application]
        order = np.argsort(self.jobs.start_s[jobs], kind="stable")
        return np.array(jobs, np.int64)[order]


@lru_cache(maxsize=1)
def campaign_machine() -> Machine:
    """Return a machine of Cori's size with four I/O routers in each group."""
    return Machine.of(cori_like(io_routers_per_group=4))


@lru_cache(maxsize=2)
def make_history(seed: int, users: int, days: int = DAYS, demand: Demand = Demand()) -> History:
    """Draw users, schedule four months of their jobs, and the background; deterministic by its arguments."""
    machine = campaign_machine()
    drawn, roles = draw_users(np.random.default_rng([seed, 1]), Population(count=users))
    if demand.graded:
        drawn, roles = demands.grade_strengths(np.random.default_rng([seed, 11]), drawn, roles)
    presence = _draw_presence(np.random.default_rng([seed, 10]), roles, drawn.nodes)
    span = days * float(DAY_S)
    offer = OfferedLoad() if demand == Demand() else HARD_OFFER
    requests = draw_submissions(np.random.default_rng([seed, 2]), drawn, presence, machine.nodes, 0.0, span, offer)
    by_day = demands.day_demand(demand, np.random.default_rng([seed, 12]), days)
    requests = demands.move_requests(demand, np.random.default_rng([seed, 13]), requests, roles, by_day)
    requests += _request_instrumented(np.random.default_rng([seed, 3]), users, days)
    requests.sort(key=lambda request: request.submit_s)
    traffic = None
    if demand.follows_load:
        traffic = demands.Traffic(machine, drawn.duty * (drawn.rate + drawn.incast_rate) + 0.3 * drawn.io_rate)
        requests = [
            request if request.user == CROWD else replace(request, placement=Placement.PREFERRED)
            for request in requests
        ]
    jobs = _schedule_jobs(machine, requests, np.random.default_rng([seed, 4]), traffic)
    io = np.append(drawn.io_rate, 0.0)
    every, length = np.append(drawn.checkpoint_every_s, 1e9), np.append(drawn.checkpoint_s, 0.0)
    background = Background.draw(
        np.random.default_rng([seed, 5]),
        machine.groups,
        span,
        jobs.start_s,
        jobs.end_s,
        jobs.size * io[jobs.user] * jobs.vigour,
        every[jobs.user],
        length[jobs.user],
        jobs.phase,
        demands.background_by_day(demand, by_day),
    )
    return History(seed, machine, drawn, (*(str(role) for role in roles), "owner"), jobs, background)


def _draw_presence(rng: np.random.Generator, roles: tuple[Role, ...], nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Draw the presence of planted users, sufficient for detection for any number of users; innocents are present more often than aggressors."""
    drawn = rng.random(len(roles))
    aggressor = np.array([role in MECHANISMS for role in roles])
    innocent = np.array([role is Role.INNOCENT for role in roles])
    low, high = np.where(nodes[:, None] >= LARGE_AGGRESSOR, LARGE_PRESENCE, SMALL_PRESENCE).T
    presence = np.where(aggressor, low + (high - low) * drawn, np.nan)
    least, most = INNOCENT_PRESENCE
    return np.where(innocent, least + (most - least) * drawn, presence)


def _request_instrumented(rng: np.random.Generator, owner: int, days: int) -> list[Request]:
    """Return one or two runs of every application per day, at any hour, as in Bhatele 2020, section III-A."""
    requests = []
    for day in range(1, days - 1):
        for name, app in APPLICATIONS.items():
            count = (
                int(day % LONG_RUN_EVERY_DAYS == 0)
                if name == "long-milc"
                else int(rng.choice([1, 2], p=[2 - RUNS_PER_DAY, RUNS_PER_DAY - 1]))
            )
            for at in day * DAY_S + rng.uniform(0, DAY_S, count):
                requests.append(
                    Request(owner, app.nodes, app.alone_s * TIME_LIMIT, float(at), name, Placement.LOWEST, urgent=True)
                )
    return requests


def _schedule_jobs(
    machine: Machine, requests: list[Request], rng: np.random.Generator, traffic: demands.Traffic | None
) -> Jobs:
    preference = (lambda: traffic.order()[traffic.group_of_node]) if traffic else None
    scheduler = Scheduler(np.ones(machine.nodes, bool), rng, preference=preference)
    ends: list[tuple[float, int, Allocation]] = []
    allocations: list[Allocation] = []

    def start(now_s: float) -> None:
        for allocation in scheduler.start_ready(now_s):
            heapq.heappush(ends, (allocation.end_s, allocation.job, allocation))
            if allocation.request.user != CROWD:
                allocations.append(allocation)
                if traffic:
                    traffic.started(allocation)

    for request in requests:
        while ends and ends[0][0] <= request.submit_s:
            at, _, allocation = heapq.heappop(ends)
            scheduler.release(allocation)
            if traffic:
                traffic.ended(allocation)
            if scheduler.waiting:
                start(at)
        scheduler.submit(request)
        if scheduler.waiting <= 21 or request.urgent:
            start(request.submit_s)
    sizes = np.array([len(allocation.nodes) for allocation in allocations])
    return Jobs(
        start_s=np.array([allocation.start_s for allocation in allocations]),
        end_s=np.array([allocation.end_s for allocation in allocations]),
        user=np.array([allocation.request.user for allocation in allocations]),
        size=sizes,
        first=np.concatenate([[0], np.cumsum(sizes)]),
        nodes=np.concatenate([allocation.nodes for allocation in allocations]),
        application=tuple(allocation.request.name for allocation in allocations),
        vigour=rng.lognormal(0, 0.25, len(allocations)),
        phase=rng.random(len(allocations)),
    )
