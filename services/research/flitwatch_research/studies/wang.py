"""Studies of Wang 2018: placement against routing, message load, background traffic on Theta."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies.packet_common import known, number, sweep, text, whole
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.background import TABLE_2_BURST_MESSAGE_BYTES, background_generators
from flitwatch_simulation.packet.machine import build
from flitwatch_simulation.packet.run import execute
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops
from flitwatch_simulation.workloads.placement import place

#: Section II-A: ranks, and KB that a rank sends in our runs (fill boundary: the mean of a load of 100 to 2,560 KB).
APPLICATIONS = {"crystal-router": (1000, 190), "fill-boundary": (1000, 760), "amg": (1728, 75)}
PLACEMENTS = ("contiguous", "random-cabinet", "random-chassis", "random-router", "random-node")


class TimeRange(TypedDict):
    """Milliseconds of ranks: extremes and quartiles."""

    min: float
    q1: float
    median: float
    q3: float
    max: float


class PlacementFigures(TypedDict):
    """Times of an application's ranks, hops and latency of its packets, and how long local and global links waited for credit."""

    time_ms: TimeRange
    mean_hops: float
    conserved: bool
    local_saturation_ms: float
    global_saturation_ms: float
    mean_latency_us: float


def _run(
    case: Parameters, seed: int, stop: Cancelled, fabric: Any, packet_bytes: int, ranks: int | None
) -> PlacementFigures:
    routing = "minimal" if case["routing"] == "minimal" else "adaptive0"
    # The paper's adaptive packets go through a random intermediate router.
    machine = build(fabric, routing, packet_bytes=packet_bytes, through_router=True)
    papers_ranks, kbytes = APPLICATIONS[case["application"]]
    ranks = ranks or papers_ranks
    rng = np.random.default_rng(seed)
    made = patterns.make(case["application"], ranks, int(kbytes * 1000 * case.get("scale", 1.0)), seed)
    endpoints = place(machine.fabric, ranks, case["placement"], rng)
    generators = []
    if case.get("background", "none") != "none":
        free = np.setdiff1d(np.arange(machine.endpoints), endpoints)
        generators = background_generators(
            machine,
            case["background"],
            case["load_gib_per_s"],
            free,
            1,
            TABLE_2_BURST_MESSAGE_BYTES[case["application"]],
        )
    workload = packet.Workload(ops=to_ops([(made, endpoints)]), generators=generators, default_mode=machine.mode)
    result = execute(machine, workload, cancelled=stop, packet_bytes=packet_bytes, seed=seed)
    times_ms = result.raw["rank_end_ps"] * 1e-9
    job = result.jobs[0]
    wait = result.raw["link_wait_ps"] * 1e-9
    blue = machine.fabric.of_class("blue")
    local = machine.fabric.of_class("green", "black")
    low, first, median, third, high = np.percentile(times_ms, [0, 25, 50, 75, 100]).tolist()
    return {
        "time_ms": {"min": low, "q1": first, "median": median, "q3": third, "max": high},
        "mean_hops": job["hops"] / max(job["packets"], 1),
        "conserved": result.conserved,
        "local_saturation_ms": float(wait[local].sum()),
        "global_saturation_ms": float(wait[blue].sum()),
        "mean_latency_us": job["latency_ps"] / max(job["packets"], 1) / 1e6,
    }


def _study(
    name: str, cases: list[Parameters], parameters: Parameters, report: Report, cancelled: Cancelled
) -> Parameters:
    background = ("load_gib_per_s",) if "background" in cases[0] else ()
    known(parameters, ("seed", "threads", "packet_bytes", "load", "topology", "applications", "ranks", *background))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    packet_bytes = whole(parameters, "packet_bytes", 2048, 256, 8192)
    factor = number(parameters, "load", 1.0, 0.001, 100)
    fabric = fabric_of(text(parameters, "topology", "theta"))
    wanted = parameters.get("applications", list(APPLICATIONS))
    if not isinstance(wanted, list) or not set(wanted) <= set(APPLICATIONS):
        raise BadRequest(f"applications is {wanted!r}", advice=f"Choose from {', '.join(APPLICATIONS)}.")
    ranks = whole(parameters, "ranks", 0, 0, 10**6) or None
    cases = [{**case, "scale": case.get("scale", 1.0) * factor} for case in cases if case["application"] in wanted]
    return sweep(
        name,
        cases,
        lambda case, stop: [_run(case, seed, stop, fabric, packet_bytes, ranks)],
        report,
        cancelled,
        parameters,
        seed=seed,
    )


def run_fig3(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Figure 3: communication times of the three applications, five placements, minimal and adaptive.

    Parameters: seed, packet_bytes, load (factor on all sizes), topology, applications, ranks (the paper's).
    """
    cases = [
        {"application": a, "placement": p, "routing": r}
        for a in APPLICATIONS
        for p in PLACEMENTS
        for r in ("minimal", "adaptive")
    ]
    return _study("wang-fig3", cases, parameters, report, cancelled)


def run_fig7(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Figure 7: message load from 1 % to 200 % (AMG 50 % to 2000 %), contiguous and random-node, minimal and adaptive."""
    scales = {
        "crystal-router": (0.01, 0.1, 0.5, 1, 2),
        "fill-boundary": (0.01, 0.1, 0.5, 1, 2),
        "amg": (0.5, 1, 5, 10, 20),
    }
    cases = [
        {"application": a, "placement": p, "routing": r, "scale": s}
        for a in APPLICATIONS
        for p in ("contiguous", "random-node")
        for r in ("minimal", "adaptive")
        for s in scales[a]
    ]
    return _study("wang-fig7", cases, parameters, report, cancelled)


def run_fig8(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Figures 8-10: the three applications beside uniform and bursty background traffic, messages as in table II.

    Parameter: load_gib_per_s (1), which puts the intervals between messages into the paper's ranges: 0.015 ms, and 2 to 37 ms.
    """
    load = number(parameters, "load_gib_per_s", 1.0, 0.001, 16)
    cases = [
        {"application": a, "placement": p, "routing": r, "background": b, "load_gib_per_s": load}
        for a in APPLICATIONS
        for p in ("contiguous", "random-cabinet", "random-node")
        for r in ("minimal", "adaptive")
        for b in ("none", "uniform", "bursty")
    ]
    return _study("wang-fig8-10", cases, parameters, report, cancelled)
