"""A month of work in a variant: machine, users, submissions, background, and applications' sensitivity to the network. All of it is truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.generators import build_dragonfly
from flitwatch_research.advice_value.job_log import JobLog, LoggedJob, drawn_as_theta, limit_ratios, load_theta_figures
from flitwatch_research.campaign import demand as demands
from flitwatch_research.campaign.background import Background
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.dataset import COUNTER_NAMES
from flitwatch_research.campaign.variants import VARIANTS, Era, Variant, draw_variation
from flitwatch_twin.applications import APPLICATIONS, Application
from flitwatch_twin.calendar import DAY_S
from flitwatch_twin.machine import Machine
from flitwatch_twin.users import MECHANISMS, Population, Users, draw_users
from flitwatch_twin.workload import CROWD, OfferedLoad, draw_submissions

Float = NDArray[np.float64]

#: Variant without network sensitivity, where savings by advice are due to chance.
QUIET = "quiet"
#: The plain variant with sizes, run times, limits and hours of submission as on a real machine.
THETA = "theta"
#: From none to all difficulties; all except the first and `theta` are the twin's variants.
CHOSEN = (QUIET, "plain", THETA, "variation15", "graded", "everything")
#: The study's default variants.
USUAL = (QUIET, "plain", THETA, "everything")
#: Default variants if a log provides the jobs.
LOGGED = (QUIET, "plain", "everything")
#: Groups of 92 compute routers with four nodes each.
GROUPS = 4
#: Number of users of the machine, and numbers of aggressors and innocents among them.
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
#: Share of the time with a running job of an aggressor.
PRESENCE = (0.15, 0.30)
#: Share of the machine requested by users' and small jobs, and by network-sensitive jobs.
OFFERED = OfferedLoad(load=0.36, large=0.8, small_log2_nodes=3.5, small_median_s=3600.0)
FEELING_LOAD = 0.27
#: Network-sensitive jobs: each application is repeated until it takes about an hour alone, and has two users.
FEELING = ("amg-128", "milc-128", "minivite-128", "umt-128")
ALONE_S, USERS_EACH = 3600.0, 2
#: Ratio of requested to usual time: people request much more than they need (Mu'alem and Feitelson 2001, section 4).
LIMIT = (1.5, 4.0)
#: Ratio of usual to undisturbed time of network-sensitive jobs if limits are as on a real machine: people request a multiple of observed times.
USUAL_OVER_ALONE = 1.5
#: Share of network-sensitive jobs in the node-seconds of a log, as in the drawn variants.
FEELING_SHARE = FEELING_LOAD / (OFFERED.load + FEELING_LOAD)


@dataclass(frozen=True)
class Job:
    """A submitted job. `application` is empty if it is insensitive to the network and takes `alone_s`; `user` is an index, -1 for the crowd."""

    user: int
    nodes: int
    alone_s: float
    limit_s: float
    submit_s: float
    application: str = ""


@dataclass(frozen=True, eq=False)
class Month:
    """All data that are the same with and without advice.

    Attributes
    ----------
    level : float32[ticks, G], background utilisation.
    names : names of the users, those of `users` first.
    counted, counted_apart : float64[ticks, G], counters of router and of processor tiles as a multiple of the truth.
    rates : jobs' rates drawn so far, equal under every policy.
    """

    variant: str
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
    counted_apart: Float
    causes: dict[str, Cause]
    rates: dict[int, NDArray[np.float32]] = field(default_factory=dict, init=False, repr=False)

    @property
    def feels_modes(self) -> bool:
        """Whether a routing mode changes the communication time; false if no job feels the network."""
        return any(cause.sensitivity.any() for cause in self.causes.values())

    @property
    def span_s(self) -> float:
        """Length of the submission period in seconds."""
        return self.days * float(DAY_S)


@lru_cache(maxsize=1)
def small_machine() -> Machine:
    """Return a machine of four groups as on Cori."""
    return Machine.of(build_dragonfly(GROUPS, io_routers_per_group=4, name="advice-value"))


def find_variant(name: str) -> Variant:
    """Return the twin's variant of this name, without users who are active for weeks only, because these require months."""
    variant = VARIANTS[{QUIET: "variation15", THETA: "plain"}.get(name, name)]
    return replace(variant, demand=replace(variant.demand, windows=0.0))


def make_month(name: str, seed: int, days: int, tick_s: float, log: JobLog | None = None) -> Month:
    """Draw a month; deterministic by its arguments. If given, `log` provides arrivals, sizes, limits and run times instead of the variant."""
    variant, machine, span = find_variant(name), small_machine(), days * float(DAY_S)
    demand = variant.demand
    users, roles = draw_users(np.random.default_rng([seed, 1]), POPULATION)
    aggressors = tuple(user for user, role in enumerate(roles) if role in MECHANISMS)
    if demand.graded:
        users, roles = _grade_users(np.random.default_rng([seed, 11]), users, roles)
    rng = np.random.default_rng([seed, 10])
    presence = np.full(len(users), np.nan)
    presence[list(aggressors)] = rng.uniform(*PRESENCE, len(aggressors))
    requests = draw_submissions(np.random.default_rng([seed, 2]), users, presence, machine.nodes, 0.0, span, OFFERED)
    by_day = demands.day_demand(demand, np.random.default_rng([seed, 12]), days)
    requests = demands.move_requests(demand, np.random.default_rng([seed, 13]), requests, roles, by_day)
    if log is not None:
        jobs = _replay_log(np.random.default_rng([seed, 21]), variant, seed, len(users), log, days, machine.nodes)
    else:
        limits = np.random.default_rng([seed, 20]).uniform(*LIMIT, len(requests))
        jobs = [
            Job(request.user, request.nodes, request.duration_s, request.duration_s * limit, request.submit_s)
            for request, limit in zip(requests, limits.tolist(), strict=True)
            if request.submit_s < span
        ]
        feeling = _draw_feeling(np.random.default_rng([seed, 3]), variant, seed, len(users), machine.nodes, span)
        if name == THETA:
            jobs, feeling = _as_theta(
                np.random.default_rng([seed, 21]), jobs, feeling, users, aggressors, machine.nodes, span
            )
        jobs += feeling
    jobs.sort(key=lambda job: job.submit_s)
    # The drain after the month needs a background too: its last day is repeated.
    ticks = int(2 * span / tick_s)
    times = np.minimum(np.arange(ticks) * tick_s, span - 1)
    nothing = np.zeros(0)
    background = Background.draw(
        np.random.default_rng([seed, 5]), machine.groups, span, *(nothing,) * 6, demands.background_by_day(demand, by_day)
    )  # fmt: skip
    era = Era.draw(variant, np.random.default_rng([seed, 14]), span, len(COUNTER_NAMES))
    causes = {
        app: _make_cause(name, APPLICATIONS[app], variant, np.random.default_rng([seed, 15, place]))
        for place, app in enumerate(FEELING)
    }
    noise = np.random.default_rng([seed, 9]).lognormal(0, next(iter(causes.values())).noise, (ticks, machine.groups))
    gain = np.array([np.mean(era.gain_at(float(at))) for at in (0.0, span)])
    shown = np.where(times >= era.firmware_s, gain[1], gain[0])[:, None]
    spread = next(iter(causes.values())).noise
    apart = np.random.default_rng([seed, 19]).lognormal(0, spread, (ticks, machine.groups))
    names = (*users.names, *(f"app{number:02d}" for number in range(1, USERS_EACH * len(FEELING) + 1)))
    level = background.level(times)
    return Month(
        name,
        seed,
        days,
        tick_s,
        machine,
        users,
        names,
        aggressors,
        tuple(jobs),
        level,
        noise * shown,
        apart * shown,
        causes,
    )


def _grade_users(rng: np.random.Generator, users: Users, roles: tuple) -> tuple[Users, tuple]:
    """Return users with continuous strengths; the campaign's weak aggressors are sized for a machine eight times as large."""
    graded, now = demands.grade_strengths(rng, users, roles)
    return replace(graded, nodes=np.minimum(graded.nodes, POPULATION.aggressor_nodes[1])), now


def _make_cause(name: str, app: Application, variant: Variant, rng: np.random.Generator) -> Cause:
    cause = Cause.of(app, variant, rng)
    return replace(cause, sensitivity=np.zeros(6)) if name == QUIET else cause


def _feeling_job(
    rng: np.random.Generator, variant: Variant, seed: int, first_user: int, name: str, at_s: float, days: int
) -> Job:
    """Return one network-sensitive job of a random user of its application."""
    era = Era.draw(variant, np.random.default_rng([seed, 14]), days * float(DAY_S), len(COUNTER_NAMES))
    app, alone_s = APPLICATIONS[name], APPLICATIONS[name].alone_s * _count_repeats(name)
    needs = era.pace_at(at_s) * draw_variation(rng, variant.variation) * (1 + abs(rng.normal(0, 0.01)))
    user = first_user + USERS_EACH * FEELING.index(name) + int(rng.integers(USERS_EACH))
    return Job(user, app.nodes, alone_s * needs, alone_s, at_s, name)


def _draw_feeling(
    rng: np.random.Generator, variant: Variant, seed: int, first_user: int, nodes: int, span_s: float
) -> list[Job]:
    era = Era.draw(variant, np.random.default_rng([seed, 14]), span_s, len(COUNTER_NAMES))
    jobs = []
    for place, name in enumerate(FEELING):
        app = APPLICATIONS[name]
        alone_s = app.alone_s * _count_repeats(name)
        count = rng.poisson(FEELING_LOAD / len(FEELING) * nodes * span_s / (app.nodes * alone_s))
        for at in np.sort(rng.uniform(0, span_s, count)).tolist():
            needs = era.pace_at(at) * draw_variation(rng, variant.variation) * (1 + abs(rng.normal(0, 0.01)))
            user = first_user + USERS_EACH * place + int(rng.integers(USERS_EACH))
            jobs.append(Job(user, app.nodes, alone_s * needs, alone_s * float(rng.uniform(*LIMIT)), at, name))
    return jobs


def _as_theta(
    rng: np.random.Generator,
    jobs: list[Job],
    feeling: list[Job],
    users: Users,
    aggressors: tuple[int, ...],
    nodes: int,
    span_s: float,
) -> tuple[list[Job], list[Job]]:
    """Return aggressors' and network-sensitive jobs with limits as on Theta, and all other jobs drawn as on Theta, up to its utilisation."""
    planted = [job for job in jobs if job.user in aggressors]
    planted_share = sum(job.nodes * job.alone_s for job in planted) / (nodes * span_s)
    others = drawn_as_theta(
        rng,
        nodes,
        max(load_theta_figures()["utilisation"] - USUAL_OVER_ALONE * FEELING_LOAD - planted_share, 0.0),
        span_s,
    )
    free = np.setdiff1d(np.arange(len(users)), aggressors)
    weight = users.activity[free] / users.activity[free].sum()
    owners = rng.choice(free, len(others), p=weight).tolist()
    ratios = limit_ratios(rng, len(planted) + len(feeling)).tolist()
    drawn = [
        Job(user, logged.nodes, logged.run_s, logged.limit_s, logged.submit_s)
        for user, logged in zip(owners, others, strict=True)
    ]
    drawn += [replace(job, limit_s=job.alone_s * ratio) for job, ratio in zip(planted, ratios, strict=False)]
    own = ratios[len(planted) :]
    feeling_jobs = [
        replace(
            job,
            limit_s=USUAL_OVER_ALONE * APPLICATIONS[job.application].alone_s * _count_repeats(job.application) * ratio,
        )
        for job, ratio in zip(feeling, own, strict=True)
    ]
    return drawn, feeling_jobs


def _replay_log(
    rng: np.random.Generator, variant: Variant, seed: int, users: int, log: JobLog, days: int, nodes: int
) -> list[Job]:
    """Return a log's jobs. Random jobs with the share `FEELING_SHARE` of node-seconds are replaced by network-sensitive ones at the same times."""
    window = log.window(rng, days, nodes)
    order = rng.permutation(len(window))
    work = np.array([window[at].nodes * window[at].run_s for at in order.tolist()])
    count = int(np.searchsorted(np.cumsum(work), FEELING_SHARE * work.sum())) if len(work) else 0
    remaining, gone = order[count:], order[:count]
    behaviour = _assign_behaviours(rng, window, users)
    jobs = [
        Job(behaviour[_label_owner(logged)], logged.nodes, logged.run_s, logged.limit_s, logged.submit_s)
        for logged in (window[at] for at in sorted(remaining.tolist()))
    ]
    unfilled = float(work[:count].sum())
    while unfilled > 0 and len(gone):
        name = FEELING[int(rng.integers(len(FEELING)))]
        logged = window[int(rng.choice(gone))]
        replacement = _feeling_job(
            rng, variant, seed, users, name, logged.submit_s + float(rng.uniform(0, 3600.0)), days
        )
        ratio = max(logged.limit_s / logged.run_s, 1.0)
        jobs.append(replace(replacement, limit_s=USUAL_OVER_ALONE * replacement.alone_s * ratio))
        unfilled -= replacement.nodes * USUAL_OVER_ALONE * replacement.alone_s
    return jobs


def _label_owner(job: LoggedJob) -> str:
    """Return the label of a job's owner; in a log without users, jobs with the same request have the same owner."""
    return job.user or f"{job.nodes} {job.limit_s:.0f}"


def _assign_behaviours(rng: np.random.Generator, jobs: list[LoggedJob], users: int) -> dict[str, int]:
    """Return, for each owner in a log, a drawn user that determines the traffic of its jobs."""
    labels = sorted({_label_owner(job) for job in jobs})
    drawn = rng.permutation(users)
    return {label: int(drawn[at % users]) for at, label in enumerate(labels)}


def _count_repeats(application: str) -> int:
    return round(ALONE_S / APPLICATIONS[application].alone_s)


def owner_name(month: Month, job: Job) -> str:
    """Return the name of a job's user; all small jobs share one."""
    return "crowd" if job.user == CROWD else month.names[job.user]
