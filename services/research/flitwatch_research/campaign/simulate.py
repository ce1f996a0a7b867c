"""Simulation of a scenario: every run of one application in four months, with its records and, separately, the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.neighbourhood import Jobs, Windows, compute_neighbourhood, large_job_nodes, measure_circumstances
from flitwatch_research.campaign import dataset
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.dataset import Campaign, CampaignTruth, label_effects
from flitwatch_research.campaign.effects import LEAST, QUEUE_HISTORY_S, io_relief, slowdown_without
from flitwatch_research.campaign.footprint import Footprints, compute_footprints
from flitwatch_research.campaign.history import DAYS, History, make_history
from flitwatch_research.campaign.observe import FLITS, Recorded, compute_components, record_steps
from flitwatch_research.campaign.step_times import step_end_times
from flitwatch_research.campaign.variants import Era, draw_variation, find_variant, split_scenario
from flitwatch_research.campaign.window import DT_S, Linear, Rates, View, Window, observe_window
from flitwatch_twin.applications import Application, find_application, noisy_steps, saturate_slowdown
from flitwatch_twin.calendar import DAY_S
from flitwatch_twin.traffic import Bursts

#: Simulated second 0 of a campaign: Monday 2026-01-05, 00:00 UTC.
EPOCH_S = 1_767_571_200
#: Single readings lost, and runs whose I/O and other routers were not read, per unit of `missing`.
SINGLE, WHOLE = 0.15, 1.0
#: Counters that are missing before a date in this part of the campaign.
LATE_COUNTERS, LATE_UNTIL = 2, (0.2, 0.5)
#: Share of a run's steps lost in a collector's outage.
OUTAGE = (0.2, 0.7)

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BackgroundTraffic:
    """Flows around a run: jobs, their footprints, and rates on the window's grid."""

    jobs: NDArray[np.int64]
    prints: Footprints
    rates: Rates
    time_s: Float


@dataclass(frozen=True, eq=False)
class _Run:
    times_s: Float
    recorded: Recorded
    placement: tuple[int, int]
    effect_s: Float
    effect_log: Float
    excess: Float
    slowdown: float


def build_campaign(scenario: str, seed: int, users: int) -> tuple[Campaign, CampaignTruth]:
    """Simulate a scenario; deterministic by its arguments. See `generate_campaign` for names and errors."""
    name, _ = split_scenario(scenario)
    variant, app = find_variant(scenario), find_application(name)
    history = make_history(seed, users, demand=variant.demand)
    era = Era.draw(variant, np.random.default_rng([seed, 14]), DAYS * float(DAY_S), len(dataset.COUNTER_NAMES))
    cause = Cause.of(app, variant, np.random.default_rng([seed, 15]))
    jobs = history.runs_of(name)
    runs = [_simulate_run(history, app, int(job), cause, era, variant.variation) for job in jobs]
    start_s = history.jobs.start_s[jobs]
    times = np.stack([run.times_s for run in runs])
    windows, neighbours = _tabulate_neighbours(history, jobs, times.sum(axis=1))
    users_there = len(history.user_names)
    met = compute_neighbourhood(windows, neighbours, users_there, large_job_nodes(history.machine.nodes))
    share = compute_neighbourhood(windows, neighbours, users_there, dataset.PRESENT_NODES).overlap
    counters, io, rest = (np.stack([getattr(run.recorded, part) for run in runs]) for part in ("own", "io", "rest"))
    if variant.missing:
        drop_samples(np.random.default_rng([seed, 16]), variant.missing, counters, io, rest)
    campaign = Campaign(
        scenario=scenario,
        seed=seed,
        application=app.name,
        executable=app.executable,
        nodes=app.nodes,
        run_key=tuple(f"{scenario}-{seed}-{job}" for job in jobs),
        run_start_s=(EPOCH_S + np.floor(start_s)).astype(np.int64),
        times_s=times,
        counters=counters,
        placement=np.array([run.placement for run in runs], np.float64),
        io=io,
        sys=rest,
        user_names=history.user_names,
        overlap=met.overlap,
        exposure=met.exposure,
        circumstances=measure_circumstances(windows, neighbours),
        machine_nodes=np.array([_in_use(history, int(job)) for job in jobs], np.float64),
    )
    effect_log = np.stack([run.effect_log for run in runs])
    sd, exposed, label = label_effects(effect_log, share, times.sum(axis=1))
    excess = np.mean([run.excess for run in runs], axis=0)
    planted = _planted_counters(excess)
    truth = CampaignTruth(
        scenario=scenario,
        seed=seed,
        roles=history.roles,
        effect_s=np.stack([run.effect_s for run in runs]),
        effect_log=effect_log,
        effect_sd=sd,
        runs_exposed=exposed,
        label=label,
        component_share=excess / excess.sum(),
        planted_counter=planted[0],
        planted_counters=planted,
        slowdown=np.array([run.slowdown for run in runs]),
    )
    return campaign, truth


def _planted_counters(excess: Float) -> tuple[str, ...]:
    """Return the local counters of the slowdown, in descending order.

    Router and global waiting are in the network tiles' stalls, processor waiting in those of requests. Waiting for answers and column
    buffers has separate counters.
    """
    router, processor, global_, _, responses, buffers = (excess / excess.sum()).tolist()
    carried = {
        "RT_RB_STL": router + global_,
        "PT_RB_STL_RQ": processor,
        "PT_RB_STL_RS": responses,
        "PT_CB_STL_RQ": buffers,
    }
    first, *rest = sorted(carried, key=carried.__getitem__, reverse=True)
    return first, *(name for name in rest if carried[name] >= dataset.PLANTED_SHARE)


def _simulate_run(history: History, app: Application, job: int, cause: Cause, era: Era, variation: float = 0.0) -> _Run:
    machine, begin_s = history.machine, float(history.jobs.start_s[job])
    nodes = history.jobs.nodes_of(job)
    view = View.of(machine, nodes)
    own = compute_footprints(
        machine, [nodes], np.array([int(app.exchange)]), [(history.seed, 8, job)], np.zeros(1, bool)
    )
    compute_s, communicate_s = noisy_steps(np.random.default_rng([history.seed, 7, job]), app)
    needs = era.pace_at(begin_s) * draw_variation(np.random.default_rng([history.seed, 17, job]), variation)
    compute_s, communicate_s = needs * compute_s, needs * communicate_s
    horizon_s = 1.7 * needs * app.alone_s
    while True:
        around = collect_surroundings(history, job, begin_s, horizon_s)
        linear = Linear(machine, view, around.prints)
        window = observe_window(machine, view, app, own, linear, around.rates, history.background, around.time_s)
        own_s = cause.own(np.random.default_rng([history.seed, 18, job]), len(around.time_s))
        parts = compute_components(cause, view, window, own_s)
        raw = parts.sum(axis=1)
        felt = saturate_slowdown(raw, app.most_slowdown)
        ends = step_end_times(felt[None, :], DT_S, compute_s, communicate_s)
        if ends is not None:
            break
        horizon_s *= 1.6
    end = int(np.ceil(ends[0, -1] / DT_S)) + 1
    flits = (
        app.demand * float(own.router[0, view.own].sum()) * FLITS,
        app.demand * float(own.processor[0, view.own].sum()) * FLITS,
    )
    recorded = record_steps(
        np.random.default_rng([history.seed, 9, job]), window, view, flits, ends[0], communicate_s, cause, own_s
    )
    gain = era.gain_at(begin_s) * cause.gain(np.random.default_rng([history.seed, 19, job]), len(dataset.COUNTER_NAMES))
    recorded = replace(recorded, own=recorded.own * gain)
    without = _slowdown_without(history, app, cause, view, window, linear, around, raw, begin_s)
    effect_s, effect_log = _compute_effects(history, around.jobs, felt, without, ends[0, -1], compute_s, communicate_s)
    times: Float = np.diff(ends[0], prepend=0.0)
    return _Run(
        times_s=times,
        recorded=recorded,
        placement=(len(view.own), len(np.unique(view.groups))),
        effect_s=effect_s,
        effect_log=effect_log,
        excess=parts[:end].mean(axis=0) - _components_alone(cause, view, window, machine.groups),
        slowdown=float(felt[:end].mean()),
    )


def collect_surroundings(history: History, job: int, begin_s: float, horizon_s: float) -> BackgroundTraffic:
    """Return all other jobs in [begin, begin + horizon), with their footprints and rates."""
    jobs, users = history.jobs, history.users
    active = np.flatnonzero(
        (jobs.start_s < begin_s + horizon_s) & (jobs.end_s > begin_s) & (np.arange(len(jobs.start_s)) != job)
    )
    time_s: Float = begin_s + DT_S * (np.arange(int(np.ceil(horizon_s / DT_S)), dtype=np.float64) + 0.5)
    exchange, io, incast = (np.zeros((len(time_s), len(active)), np.float32) for _ in range(3))
    kinds = np.zeros(len(active), np.int64)
    hot = np.zeros(len(active), bool)
    for column, other in enumerate(active.tolist()):
        user = int(jobs.user[other])
        since = time_s - jobs.start_s[other]
        live = (since >= 0) & (time_s < jobs.end_s[other])
        if user == len(users):
            neighbour = find_application(jobs.application[other])
            kinds[column] = neighbour.exchange
            exchange[:, column] = neighbour.demand * live
            continue
        kinds[column] = users.exchange[user]
        bursts = Bursts.draw(
            np.random.default_rng([history.seed, 6, other]),
            float(users.duty[user]),
            float(users.burst_s[user]),
            float(jobs.end_s[other] - jobs.start_s[other]),
        )
        on = bursts.at(since) * live * jobs.vigour[other]
        position = (since / users.checkpoint_every_s[user] + jobs.phase[other]) % 1.0
        exchange[:, column] = users.rate[user] * on
        writing = live & (position < users.checkpoint_s[user] / users.checkpoint_every_s[user])
        io[:, column] = users.io_rate[user] * jobs.vigour[other] * writing
        hot[column] = users.incast_rate[user] > 0
        incast[:, column] = users.incast_rate[user] * on
    prints = compute_footprints(
        history.machine,
        [jobs.nodes_of(int(k)) for k in active],
        kinds,
        [(history.seed, 8, int(k)) for k in active],
        hot,
    )
    return BackgroundTraffic(active, prints, Rates(exchange, io, incast), time_s)


def _slowdown_without(
    history: History,
    app: Application,
    cause: Cause,
    view: View,
    window: Window,
    linear: Linear,
    around: BackgroundTraffic,
    raw: Float,
    begin_s: float,
) -> tuple[NDArray[np.int64], Float]:
    """Return the present owners, and F without each of them."""
    jobs, users = history.jobs, history.users
    owner = jobs.user[around.jobs]
    owners = np.unique(owner)
    near = np.flatnonzero((jobs.start_s < begin_s + len(raw) * DT_S) & (jobs.end_s > begin_s - QUEUE_HISTORY_S))
    writers: list[tuple[Float, ...]] = []
    for user in owners.tolist():
        mine = near[(jobs.user[near] == user) & (user < len(users))]
        who = np.full(len(mine), min(user, len(users) - 1))
        rate = jobs.size[mine] * users.io_rate[who] * jobs.vigour[mine]
        habits = (users.checkpoint_every_s[who], users.checkpoint_s[who])
        writers.append((jobs.start_s[mine], jobs.end_s[mine], rate, *habits, jobs.phase[mine]))
    relief = io_relief(window, history.background, begin_s, writers)
    flows_of = [np.flatnonzero(owner == user) for user in owners]
    return owners, slowdown_without(app, cause, view, window, linear, around.rates, raw, flows_of, relief)


def _compute_effects(
    history: History,
    jobs: NDArray[np.int64],
    felt: Float,
    without: tuple[NDArray[np.int64], Float],
    time_s: float,
    compute_s: Float,
    communicate_s: Float,
) -> tuple[Float, Float]:
    owners, variants = without
    effect_s, effect_log = np.zeros(len(history.user_names)), np.zeros(len(history.user_names))
    changed = np.flatnonzero(np.abs(variants - felt).max(axis=1, initial=0.0) > LEAST)
    if len(changed):
        ends = step_end_times(variants[changed], DT_S, compute_s, communicate_s)
        if ends is None:
            raise AssertionError("a run without a user's traffic took longer than with it")
        effect_s[owners[changed]] = time_s - ends[:, -1]
        effect_log[owners[changed]] = np.log(time_s / ends[:, -1])
    return effect_s, effect_log


def _components_alone(cause: Cause, view: View, window: Window, groups: int) -> Float:
    """Return the components of F caused by the run itself on an empty machine: float64[6]."""
    quiet = Window(
        router=window.router[:1] - window.others_router[:1],
        processor=window.processor[:1] - window.others_processor[:1],
        global_=np.zeros((1, groups), np.float32),
        io=np.zeros(1),
        queue_s=np.zeros(1),
        others_router=window.others_router[:1],
        others_processor=window.others_processor[:1],
        io_router=window.io_router[:1],
        rest_router=window.rest_router[:1],
        rest_processor=window.rest_processor[:1],
        io_served=np.zeros(1),
    )
    alone: Float = compute_components(cause, view, quiet, np.zeros((1, 2)))[0]
    return alone


def _tabulate_neighbours(history: History, runs: NDArray[np.int64], time_s: Float) -> tuple[Windows, Jobs]:
    """Return the runs' windows and all overlapping jobs, in the form of the neighbourhood definitions."""
    jobs, machine = history.jobs, history.machine
    begin, end = jobs.start_s[runs], jobs.start_s[runs] + time_s
    met = np.zeros(len(jobs.start_s), bool)
    for low, high in zip(begin, end, strict=True):
        met |= (jobs.start_s < high) & (jobs.end_s > low)
    met[runs] = True
    rows = np.flatnonzero(met)
    place = np.full(len(met), -1, np.int64)
    place[rows] = np.arange(len(rows))
    groups = np.stack([machine.nodes_per_group(jobs.nodes_of(int(job))) for job in rows]).astype(np.float64)
    table = Jobs(jobs.user[rows], jobs.start_s[rows], jobs.end_s[rows], jobs.size[rows].astype(np.float64), groups)
    return Windows(begin, end, place[runs]), table


def _in_use(history: History, job: int) -> float:
    """Return the number of nodes in use at the start of a job."""
    jobs, begin = history.jobs, float(history.jobs.start_s[job])
    return float(jobs.size[(jobs.start_s <= begin) & (jobs.end_s > begin)].sum())


def drop_samples(rng: np.random.Generator, missing: float, counters: Float, io: Float, rest: Float) -> None:
    """Replace lost readings by NaN, in (runs, steps, counters) in order of time; step times are kept."""
    runs, steps, width = counters.shape
    until = int(rng.uniform(*LATE_UNTIL) * runs)
    counters[:until, :, rng.choice(width, LATE_COUNTERS, replace=False)] = np.nan
    share = np.mean(OUTAGE)
    for run in np.flatnonzero(rng.random(runs) < missing / share):
        length = max(1, int(rng.uniform(*OUTAGE) * steps))
        first = int(rng.integers(0, steps - length + 1))
        for values in (counters, io, rest):
            values[run, first : first + length] = np.nan
    counters[rng.random((runs, steps)) < SINGLE * missing] = np.nan
    for values in (io, rest):
        values[rng.random(runs) < WHOLE * missing] = np.nan
