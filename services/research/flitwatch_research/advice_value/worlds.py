"""A month of work in a world: machine, users, submissions, background, and how applications feel the network. All of it is truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.generators import dragonfly
from flitwatch_twin.applications import APPLICATIONS, Application
from flitwatch_twin.calendar import DAY_S
from flitwatch_twin.campaign import demand as demands
from flitwatch_twin.campaign.background import Background
from flitwatch_twin.campaign.cause import Cause
from flitwatch_twin.campaign.dataset import COUNTER_NAMES
from flitwatch_twin.campaign.era import Era, varied
from flitwatch_twin.campaign.worlds import WORLDS, World
from flitwatch_twin.machine import Machine
from flitwatch_twin.users import MECHANISMS, Population, Users, draw_users
from flitwatch_twin.workload import CROWD, OfferedLoad, submissions

Float = NDArray[np.float64]

#: Nothing feels the network: what advice saves here it saves by chance.
QUIET = "quiet"
#: From nothing to everything; all but the first are the twin's own.
CHOSEN = (QUIET, "plain", "variation15", "graded", "everything")
#: Those that the study takes when none is named.
USUAL = (QUIET, "plain", "everything")
#: Groups of 92 compute routers with four nodes each.
GROUPS = 4
#: Users of the machine, and how many of them are aggressors and innocents.
POPULATION = Population(
    count=24,
    log2_nodes=6.5,
    least_nodes=32,
    most_nodes=384,
    median_duration_s=3600.0,
    most_duration_s=6 * 3600.0,
    aggressors=3,
    aggressor_nodes=(192, 400),
    innocents=3,
)
#: Share of the time for which an aggressor has a job running.
PRESENCE = (0.15, 0.30)
#: Share of the machine that users' and small jobs ask for, and that jobs which feel the network do.
OFFERED = OfferedLoad(load=0.36, large=0.8, small_log2_nodes=3.5, small_median_s=3600.0)
FEELING_LOAD = 0.27
#: Jobs that feel the network: each application repeated until it takes about an hour alone, by two users each.
FEELING = ("amg-128", "milc-128", "minivite-128", "umt-128")
ALONE_S, USERS_EACH = 3600.0, 2
#: Requested over usual time: people ask for much more than they need (Mu'alem and Feitelson 2001, section 4).
LIMIT = (1.5, 4.0)


@dataclass(frozen=True)
class Job:
    """A submitted job. `application` is empty where it does not feel the network and takes `alone_s`; `user` is an index, -1 the crowd's."""

    user: int
    nodes: int
    alone_s: float
    limit_s: float
    submit_s: float
    application: str = ""


@dataclass(frozen=True, eq=False)
class Month:
    """Everything that is the same with and without advice.

    Attributes
    ----------
    level : float32[ticks, G], background utilisation.
    names : of the users, those of `users` first.
    counted : float64[ticks, G], what counters show as a multiple of the truth.
    """

    world: str
    seed: int
    days: int
    tick_s: float
    machine: Machine
    users: Users
    names: tuple[str, ...]
    aggressors: tuple[int, ...]
    jobs: tuple[Job, ...]
    level: NDArray[np.float32]
    counted: Float
    causes: dict[str, Cause]

    @property
    def span_s(self) -> float:
        """Seconds in which jobs are submitted."""
        return self.days * float(DAY_S)


@lru_cache(maxsize=1)
def small_machine() -> Machine:
    """Four groups of Cori's kind."""
    return Machine.of(dragonfly(GROUPS, io_routers_per_group=4, name="advice-value"))


def world_of(name: str) -> World:
    """The twin's world of this name; users who come for weeks only need months, so that part is left out."""
    world = WORLDS["variation15" if name == QUIET else name]
    return replace(world, demand=replace(world.demand, windows=0.0))


def make_month(name: str, seed: int, days: int, tick_s: float) -> Month:
    """Draw a month; deterministic by its arguments."""
    world, machine, span = world_of(name), small_machine(), days * float(DAY_S)
    demand = world.demand
    users, roles = draw_users(np.random.default_rng([seed, 1]), POPULATION)
    aggressors = tuple(user for user, role in enumerate(roles) if role in MECHANISMS)
    if demand.graded:
        users, roles = _graded(np.random.default_rng([seed, 11]), users, roles)
    rng = np.random.default_rng([seed, 10])
    presence = np.full(len(users), np.nan)
    presence[list(aggressors)] = rng.uniform(*PRESENCE, len(aggressors))
    requests = submissions(np.random.default_rng([seed, 2]), users, presence, machine.nodes, 0.0, span, OFFERED)
    by_day = demands.day_demand(demand, np.random.default_rng([seed, 12]), days)
    requests = demands.dated(demand, np.random.default_rng([seed, 13]), requests, roles, by_day)
    limits = np.random.default_rng([seed, 20]).uniform(*LIMIT, len(requests))
    jobs = [
        Job(one.user, one.nodes, one.duration_s, one.duration_s * limit, one.submit_s)
        for one, limit in zip(requests, limits.tolist(), strict=True)
        if one.submit_s < span
    ]
    jobs += _feeling(np.random.default_rng([seed, 3]), world, seed, len(users), machine.nodes, span)
    jobs.sort(key=lambda job: job.submit_s)
    # The drain after the month needs a background too: its last day again.
    ticks = int(2 * span / tick_s)
    times = np.minimum(np.arange(ticks) * tick_s, span - 1)
    nothing = np.zeros(0)
    background = Background.draw(
        np.random.default_rng([seed, 5]), machine.groups, span, *(nothing,) * 6, demands.background_by_day(demand, by_day)
    )  # fmt: skip
    era = Era.draw(world, np.random.default_rng([seed, 14]), span, len(COUNTER_NAMES))
    causes = {
        app: _cause(name, APPLICATIONS[app], world, np.random.default_rng([seed, 15, place]))
        for place, app in enumerate(FEELING)
    }
    noise = np.random.default_rng([seed, 9]).lognormal(0, next(iter(causes.values())).noise, (ticks, machine.groups))
    gain = np.array([np.mean(era.gain_at(float(at))) for at in (0.0, span)])
    counted = noise * np.where(times >= era.firmware_s, gain[1], gain[0])[:, None]
    names = (*users.names, *(f"app{number:02d}" for number in range(1, USERS_EACH * len(FEELING) + 1)))
    level = background.level(times)
    return Month(name, seed, days, tick_s, machine, users, names, aggressors, tuple(jobs), level, counted, causes)


def _graded(rng: np.random.Generator, users: Users, roles: tuple) -> tuple[Users, tuple]:
    """Continuous strengths; the campaign's weak aggressors are sized for a machine eight times as large."""
    graded, now = demands.graded(rng, users, roles)
    return replace(graded, nodes=np.minimum(graded.nodes, POPULATION.aggressor_nodes[1])), now


def _cause(name: str, app: Application, world: World, rng: np.random.Generator) -> Cause:
    cause = Cause.of(app, world, rng)
    return replace(cause, sensitivity=np.zeros(6)) if name == QUIET else cause


def _feeling(
    rng: np.random.Generator, world: World, seed: int, first_user: int, nodes: int, span_s: float
) -> list[Job]:
    era = Era.draw(world, np.random.default_rng([seed, 14]), span_s, len(COUNTER_NAMES))
    made = []
    for place, name in enumerate(FEELING):
        app = APPLICATIONS[name]
        alone_s = app.alone_s * round(ALONE_S / app.alone_s)
        count = rng.poisson(FEELING_LOAD / len(FEELING) * nodes * span_s / (app.nodes * alone_s))
        for at in np.sort(rng.uniform(0, span_s, count)).tolist():
            needs = era.pace_at(at) * varied(rng, world.variation) * (1 + abs(rng.normal(0, 0.01)))
            user = first_user + USERS_EACH * place + int(rng.integers(USERS_EACH))
            made.append(Job(user, app.nodes, alone_s * needs, alone_s * float(rng.uniform(*LIMIT)), at, name))
    return made


def owner(month: Month, job: Job) -> str:
    """The name of a job's user; the many small jobs have one."""
    return "crowd" if job.user == CROWD else month.names[job.user]
