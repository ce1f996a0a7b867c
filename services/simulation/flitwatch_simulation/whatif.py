"""`sim.whatif`: replay of a past moment with another placement or routing mode of one job.

The jobs' nodes and the traffic of the other jobs' nodes are read from the tables. The moved job's traffic is not recorded: its pattern and bytes
are parameters. Other jobs send to random nodes of their own at their measured mean rates (Poisson).

The job is also simulated without the others. The time lost at that moment, measured by its steps, is scaled with the ratio of simulated slowdowns:
elsewhere relative to alone, over the original placement relative to alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypedDict

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs.as_of import at_moment, one_job
from flitwatch_db.jobs.explanation import explain_job
from flitwatch_db.jobs.traffic import HeldEndpoints, held_endpoints, injected_flits_per_s
from flitwatch_db.tasks import TaskContext
from flitwatch_db.tasks.executors import open_executor
from flitwatch_domain.cray import BYTES_PER_FLIT
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.explanation.chain import minutes_and_seconds
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.network_noise.observations import NIC_HZ
from flitwatch_domain.task_models.machines import AS_IT_WAS
from flitwatch_domain.task_models.simulations import WhatIf
from flitwatch_simulation.packet.engine import execute_workload, total_bytes
from flitwatch_simulation.packet.machine import Machine, build_machine, routings_of
from flitwatch_simulation.workloads import messages, patterns
from flitwatch_simulation.workloads.placement import place_ranks

#: Message size of the other jobs.
BACKGROUND_BYTES = 16384
#: Minimum relative slowdown of the simulated job by the others for statements about savings of another placement.
LEAST_SLOWER = 0.05
#: Interval of the lost time: 90 % of the pairs of seeds.
INTERVAL = (0.05, 0.95)


class AlternativeLostTime(TypedDict):
    """Seconds that the job would have lost: median of the seeds, and 90 % interval."""

    median_s: float
    low_s: float
    high_s: float


class Alternative(TypedDict):
    """Times and latencies of a placement and a routing mode by seed; `lost` is None if no time was lost, or the simulation is inconclusive."""

    label: str
    placement: str
    routing: str
    time_s: list[float]
    mean_latency_ns: list[float | None]
    lost: AlternativeLostTime | None


class BackgroundLoad(TypedDict):
    """Number of other jobs on the machine, number of those with counters, and their traffic in GiB/s."""

    jobs: int
    counted: int
    gib_per_s: float


class RouterStalls(TypedDict):
    """Stalls of each router in the first and in the best alternative; None if unknown."""

    first: str
    best: str
    stalls_first: list[float | None]
    stalls_best: list[float | None]


class AlternativesResult(TypedDict):
    """Times of a job with other placements or routing modes.

    Attributes
    ----------
    answer : summary in one sentence
    lost_s : seconds that the job lost in the slow period around the moment; None: it was not slow
    alone_s : times by seed in the original placement without the other jobs
    """

    fabric: str
    job: str
    at_s: float
    window_s: float
    pattern: str
    bytes: int
    ranks: int
    beside: BackgroundLoad
    variants: list[Alternative]
    best: str
    answer: str
    lost_s: float | None
    alone_s: list[float]
    simulated: bool
    routers: RouterStalls


class Simulated(NamedTuple):
    """One run: its job's time in seconds, mean latency in ns (None without packets), stalls per flit of each router."""

    time_s: float
    latency_ns: float | None
    stalls: NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """State shared by all runs of a what-if: the fabric, the endpoints of each job, and the traffic of the other jobs.

    It is sent to other processes without the machine, which is built there.
    """

    fabric: Fabric
    asked: WhatIf
    mine: NDArray[np.integer[Any]]
    others: tuple[NDArray[np.integer[Any]], ...]
    background: tuple[packet.Generator, ...]

    @cached_property
    def machine(self) -> Machine:
        """The fabric with its packet engine."""
        return build_machine(self.fabric, self.asked.routings[0], packet_bytes=self.asked.packet_bytes)

    def __reduce__(self) -> tuple[type[Moment], tuple[object, ...]]:
        return Moment, (self.fabric, self.asked, self.mine, self.others, self.background)

    def run(self, placement: str, routing: str, seed: int, cancelled: Callable[[], bool] = lambda: False) -> Simulated:
        """Return the result of one run with this placement and routing. Raise Cancelled if `cancelled` returned true."""
        machine = replace(self.machine, mode=routings_of(self.fabric)[routing])
        if placement == AS_IT_WAS:
            endpoints = self.mine
        else:
            used_endpoints = np.concatenate(self.others) if self.others else None
            endpoints = place_ranks(
                machine.fabric, self.mine.size, placement, np.random.default_rng(seed), used_endpoints
            )
        job_messages = patterns.make_pattern(self.asked.pattern, self.mine.size, self.asked.bytes, seed)
        ops = messages.to_ops([(job_messages, endpoints)])
        workload = packet.Workload(ops=ops, generators=self.background, default_mode=machine.mode)
        result = execute_workload(
            machine,
            workload,
            cancelled=cancelled,
            total_bytes=total_bytes(workload),
            packet_bytes=self.asked.packet_bytes,
            seed=seed,
        )
        return Simulated(result.time_s, _latency_ns(result), _stalls_per_flit(machine.fabric, result))


def simulate_whatif(args: dict[str, Any], context: TaskContext) -> AlternativesResult:
    """Simulate all variants. Return times and latencies by seed, and the routers' stalls of the first and the fastest variant. Raise BadRequest or
    NotFound if the arguments do not fit, or the job had no node of the fabric at that time. Raise Cancelled."""
    request = WhatIf.of(args)
    with connect(context.dsn, role="reader") as conn:
        fabric_id = fabrics.get_fabric_row(conn, request.fabric).fabric_id
        fabric = fabrics.load_fabric(conn, fabric_id)
        held_jobs = held_endpoints(conn, fabric_id, request.at_s)
        flits_per_s = injected_flits_per_s(
            conn, fabric_id, len(fabric.routers), request.at_s - request.window_s, request.at_s
        )
        lost_s = _lost_s(conn, request, held_jobs)
    mine = next((item for item in held_jobs if item.job_id == request.job), None)
    if mine is None:
        raise NotFound(
            f"job {request.job!r} had no node of {request.fabric!r} at that moment",
            advice="Choose another time or job.",
        )
    if mine.endpoints.size < 2:
        raise BadRequest(f"job {request.job!r} has one node: it sends nothing over the fabric")
    modes = routings_of(fabric)
    if unknown := [item for item in request.routings if item not in modes]:
        raise BadRequest(f"routing {unknown[0]!r} does not fit {fabric.kind.value}", advice=f"Use {', '.join(modes)}.")
    others = [item for item in held_jobs if item is not mine]
    background, counted = _background_generators(fabric, others, flits_per_s)
    moment = Moment(fabric, request, mine.endpoints, tuple(item.endpoints for item in others), tuple(background))
    chosen = [(placement, routing) for placement in request.placements for routing in request.routings]
    simulated = _simulate_variants(moment, chosen, context)
    alone_s = [item.time_s for item in _simulate_alone(moment, context)]
    lost = _lost_elsewhere(request, chosen, simulated, alone_s, lost_s)
    variants: list[Alternative] = [
        {
            "label": f"{placement}, {routing}",
            "placement": placement,
            "routing": routing,
            "time_s": [item.time_s for item in runs],
            "mean_latency_ns": [item.latency_ns for item in runs],
            "lost": would,
        }
        for (placement, routing), runs, would in zip(chosen, simulated, lost, strict=True)
    ]
    routers = [runs[0].stalls for runs in simulated]
    best = int(np.argmin([np.median(item["time_s"]) for item in variants]))
    return {
        "fabric": fabric.name, "job": request.job, "at_s": request.at_s, "window_s": request.window_s, "pattern": request.pattern, "bytes": request.bytes,
        "ranks": int(mine.endpoints.size), "beside": {"jobs": len(others), "counted": counted, "gib_per_s": _load_gib_per_s(background)},
        "variants": variants, "best": variants[best]["label"], "answer": _summarise_result(variants, lost_s), "lost_s": lost_s, "alone_s": alone_s, "simulated": True,
        "routers": {"first": variants[0]["label"], "best": variants[best]["label"], "stalls_first": _none_if_nan(routers[0]), "stalls_best": _none_if_nan(routers[best])},
    }  # fmt: skip


def _lost_s(conn: psycopg.Connection[Any], asked: WhatIf, held: Sequence[HeldEndpoints]) -> float | None:
    """Return the seconds that the job lost in the slow period around the window's end; None if it was not slow."""
    mine = next((holder for holder in held if holder.job_id == asked.job), None)
    if mine is None:
        return None
    now_s = time.time()
    slow = explain_job(conn, at_moment(one_job(conn, mine.job_pk), now_s), now_s)["slowdown"]
    if slow is None or slow["since_low"].timestamp() > asked.at_s:
        return None
    until = slow["until"]
    return slow["lost_s"] if until is None or until.timestamp() >= asked.at_s - asked.window_s else None


def _simulate_alone(moment: Moment, context: TaskContext) -> list[Simulated]:
    """Return the results of the original placement without the other jobs, by seed."""
    runs = []
    for k in range(moment.asked.seeds):
        context.check()
        quiet = replace(moment, background=())
        runs.append(quiet.run(AS_IT_WAS, moment.asked.routings[0], moment.asked.seed + k, context.cancelled))
    return runs


def _lost_elsewhere(
    asked: WhatIf,
    chosen: Sequence[tuple[str, str]],
    simulated: Sequence[Sequence[Simulated]],
    alone_s: Sequence[float],
    lost_s: float | None,
) -> list[AlternativeLostTime | None]:
    """Return the time that each variant would have lost, from pairs of seeds."""
    first = (AS_IT_WAS, asked.routings[0])
    if lost_s is None or first not in chosen:
        return [None] * len(chosen)
    alone = np.array(alone_s)
    there = np.array([run.time_s for run in simulated[chosen.index(first)]]) - alone
    if np.median(there) < LEAST_SLOWER * np.median(alone):
        return [None] * len(chosen)
    losses: list[AlternativeLostTime | None] = []
    for runs in simulated:
        share = np.maximum(np.array([run.time_s for run in runs]) - alone, 0.0) / np.median(there)
        low, median, high = (float(lost_s * np.quantile(share, q)) for q in (INTERVAL[0], 0.5, INTERVAL[1]))
        losses.append({"median_s": median, "low_s": low, "high_s": high})
    return losses


def _summarise_result(variants: Sequence[Alternative], lost_s: float | None) -> str:
    """Return a summary of the result in one sentence."""
    if lost_s is None:
        return "The job was not slow at that moment, so nothing was lost."
    losses = [(item["lost"], item) for item in variants if item["lost"] is not None]
    if not losses:
        return "The other jobs hardly slow it in the simulation, so the saving with another placement is unknown."
    would, best = min(losses, key=lambda item: item[0]["median_s"])
    interval = f"90 %: {minutes_and_seconds(would['low_s'])} to {minutes_and_seconds(would['high_s'])}"
    if would["median_s"] >= lost_s * (1 - LEAST_SLOWER):
        return f"None of the simulated placements and routings would have lost less than the {minutes_and_seconds(lost_s)} that it lost."
    where = "As it was placed" if best["placement"] == AS_IT_WAS else f"Placed by {best['placement']}"
    return f"{where}, with routing {best['routing']}, it would have lost {minutes_and_seconds(would['median_s'])} instead of {minutes_and_seconds(lost_s)} ({interval})."


def _simulate_variants(
    moment: Moment, chosen: Sequence[tuple[str, str]], context: TaskContext
) -> list[list[Simulated]]:
    """Return the runs of each variant by seed, on the task's executor."""
    request, done = moment.asked, {}
    with open_executor(context.executor) as executor:
        # Other processes have no context: there the executor ends a run.
        watched = {"cancelled": context.cancelled} if executor.in_process else {}
        calls = [
            partial(moment.run, placement, routing, request.seed + k, **watched)
            for placement, routing in chosen
            for k in range(request.seeds)
        ]
        context.check()
        context.report(0, request.runs, ", ".join(chosen[0]))
        for number, run in executor.completed(calls, context.cancelled):
            done[number] = run
            context.check()
            context.report(len(done), request.runs, ", ".join(chosen[number // request.seeds]))
    return [[done[v * request.seeds + k] for k in range(request.seeds)] for v in range(len(chosen))]


def _background_generators(
    fabric: Fabric, others: list[HeldEndpoints], flits_per_s: NDArray[np.float64]
) -> tuple[list[packet.Generator], int]:
    """Return the other jobs' traffic at measured rates, and the number of these jobs. Jobs on routers without a counter are ignored."""
    router = np.asarray(fabric.endpoints.router, np.int64)
    share = flits_per_s * BYTES_PER_FLIT / np.maximum(np.bincount(router, minlength=len(fabric.routers)), 1)
    generators, counted = [], 0
    for job in others:
        if job.endpoints.size < 2:
            continue
        rate = share[router[job.endpoints]]
        counted += bool(np.isfinite(rate).any())
        for endpoint, bytes_per_s in zip(job.endpoints.tolist(), rate.tolist(), strict=True):
            if bytes_per_s > 0:
                interval_ns = BACKGROUND_BYTES / bytes_per_s * 1e9
                generators.append(packet.Generator(endpoint, job.endpoints, BACKGROUND_BYTES, 0, interval_ns, job=1))
    return generators, counted


def _load_gib_per_s(background: list[packet.Generator]) -> float:
    return sum(generator.message_bytes / generator.interval_ns for generator in background) * 1e9 / 2**30


def _latency_ns(result: packet.Result) -> float | None:
    mine = result.jobs[0]
    return mine["latency_ps"] / mine["packets"] / 1e3 if mine["packets"] else None


def _stalls_per_flit(fabric: Fabric, result: packet.Result) -> NDArray[np.float64]:
    """Return stall cycles per flit of each router, counted at arriving links as in Aries; NaN without flits."""
    routers = len(fabric.routers)
    arrives = np.flatnonzero(fabric.links.dst < routers)
    at = fabric.links.dst[arrives]
    flits = np.bincount(at, result.raw["vc_flits"][arrives].sum(axis=1), routers)
    stalls = np.bincount(at, result.raw["vc_stall_ps"][arrives].sum(axis=1) * 1e-12 * NIC_HZ, routers)
    return np.divide(stalls, flits, out=np.full(routers, np.nan), where=flits > 0)


def _none_if_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 3) for value in values]
