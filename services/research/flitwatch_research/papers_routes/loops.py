"""Chapter 5: the loop, and routes from a bad reconstruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.papers_routes.barrier import (
    BARRIER_PORTION,
    MEGABYTES,
    SHOWN,
    keep_barrier_portions,
    reconstruct_barrier,
)
from flitwatch_research.papers_routes.rows import Measure, Row, Size
from flitwatch_research.papers_routes.seen import keep_seen
from flitwatch_research.studies import published
from flitwatch_research.studies.taffet import congestion_of
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import Traffic, optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import build_study
from flitwatch_simulation.loop.demand import BARRIER_BULLY, BARRIER_BULLY_EVEN, demand_of
from flitwatch_simulation.loop.machine import Carried
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.process import MachineProcess
from flitwatch_simulation.loop.turn import simulate_turn
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.packet.route_files import table_of_ports
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops

SEED = 1
#: The pattern of figures 5.2 and 5.3.
SHUFFLE = "bisection-shuffle"
#: The pattern of figure 5.5.
STENCIL = "cyclic-stencil"
#: Units of the synthetic pattern of section 5.4.1: traffic of a bully node to its partner, and of a barrier node to each of its partners.
BULLY_UNITS, BARRIER_UNITS = 100.0, 1.0
#: A megabyte per node is too little for a bully: it sends a hundred messages of 200 KB per round.
BULLY_SCALE = 16.0
#: Number of searched draws of an allocation; on quartz1, one of the first 1,200 matches the dissertation.
DRAWS = 400
#: Factor on the time limit of these searches; the dissertation's took 12 and 23 minutes.
LONGER = 5.0
#: A tree with enough up links for the changed allocation.
QUICK_BARRIER = "xgft:2;12,6;1,8"


def _make_parameters(pattern: str, size: Size, megabytes: float | None = None, slots: int = 1) -> LoopRun:
    return LoopRun(
        pattern,
        size.topology,
        SEED,
        megabytes=megabytes or size.megabytes,
        optimise_s=min(size.optimise_s, 30.0),
        reconstruct_s=max(size.reconstruct_s * 5, 5.0),
        slots=slots,
    )


def _measure_loop(pattern: str, relative_to: str, slots: int = 1) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        turned = simulate_turn(_make_parameters(pattern, size, slots=slots))
        summary = turned.summary()
        times, gap = summary["time_ms"], summary["true_gap"]
        _keep_plots(
            size, {f"{pattern}-ftree": turned.before, f"{pattern}-loop": turned.after} if pattern == SHUFFLE else {}
        )
        if pattern == STENCIL and slots == 1:
            _keep_plots(size, {f"{pattern}-minus-y": carry_minus_y(turned.parameters, turned.routes.ports)})
        assert gap is not None, "traffic that crosses no switch"
        ratios = {name: time_ms / times[relative_to] for name, time_ms in times.items() if name != relative_to}
        return {
            **ratios,
            "true gap, %": 100 * gap,
            "recommended": float(summary["recommended"]),
            "seconds": summary["wall_s"],
        }

    return measure


def carry_minus_y(asked: LoopRun, ports: NDArray[np.int64]) -> Carried:
    """Simulate the stencil, and return the congestion seen by the packets of its -y messages (figure 5.5)."""
    fabric = fabric_of(asked.topology)
    nodes = len(fabric.endpoints)
    (job,) = demand_of(asked.pattern, fabric, asked.megabytes, asked.iterations, asked.seed).jobs
    table = table_of_ports(fabric, ports)
    machine = build_machine(fabric, "ftree", packet_bytes=asked.packet_bytes, table=table)
    workload = packet.Workload(ops=to_ops([(job.messages, job.endpoints)]), default_mode=machine.mode)
    result = execute_workload(machine, workload, packet_bytes=asked.packet_bytes, seed=asked.seed, sampling=True)
    src, dst = patterns.neighbour_pairs(patterns.grid_of(nodes), (0, -1, 0), periodic=True)
    pair = result.raw["sample_src"].astype(np.int64) * nodes + result.raw["sample_dst"]
    seen = congestion_of(machine, result, 0, np.isin(pair, src * nodes + dst))
    capacity = np.asarray(fabric.links.bandwidth_bps, float) / 8 * result.time_s
    return Carried(result.time_s, seen.utilisation * capacity, seen.congested_fraction, bool(result.conserved))


def _keep_plots(size: Size, runs: dict[str, Carried | None]) -> None:
    """Store the data of a figure; small machines are not drawn."""
    for name, carried in runs.items():
        if carried is not None and not size.quick:
            keep_seen(name, size.topology, carried)


def unlucky_seed(fabric: Fabric) -> int:
    """Return the first random draw of nodes that matches the dissertation (section 5.4.1): two leaf switches, both in the first pod, have one bully node more than
    up links, and none of those nodes has its partner there. Others have at most as many bully nodes as up links; those with exactly as many are in the second and
    third pods. Return `SEED` if none matches.
    """
    leaf, links = np.asarray(fabric.endpoints.router), fabric.links
    leaves, pod = np.unique(leaf), np.asarray(fabric.routers.group)
    up = np.bincount(np.asarray(links.src)[fabric.router_links()], minlength=len(fabric.routers))
    for seed in range(SEED, SEED + DRAWS):
        bully = demand_of(BARRIER_BULLY, fabric, 1.0, 1, seed).jobs[1]
        over = np.bincount(leaf[bully.endpoints], minlength=len(fabric.routers)) - up
        src, dst, _ = bully.messages.matrix()
        here, there = leaf[bully.endpoints[src]], leaf[bully.endpoints[dst]]
        inside = ((here == there) & (over[here] == 1)).any()
        crowded, full = (pod[leaves[over[leaves] == more]].tolist() for more in (1, 0))
        if over[leaves].max() == 1 and crowded == [0, 0] and {*full} == {1, 2} and not inside:
            return seed
    return SEED


def synthetic_traffic(fabric: Fabric, parameters: LoopRun) -> Traffic:
    """Return section 5.4.1's synthetic pattern for the nodes of a random allocation."""
    barrier, bully = demand_of(BARRIER_BULLY, fabric, parameters.megabytes, 1, parameters.seed).jobs
    parts = []
    for entry, units in ((barrier, BARRIER_UNITS), (bully, BULLY_UNITS)):
        src, dst, _ = entry.messages.matrix()
        parts.append((entry.endpoints[src], entry.endpoints[dst], np.full(len(src), units)))
    ends, others, amount = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ends, others, amount


def _random_allocation(size: Size) -> dict[str, float]:
    """Measure routes for the synthetic pattern instead of a reconstruction; the special formulation also minimises the number of worst links. The bytes are as
    published: with fewer, adaptive routing is better (docs/benchmarks/paper-studies.md).
    """
    fabric = fabric_of(size.topology)
    megabytes = size.megabytes * BULLY_SCALE if size.quick else MEGABYTES
    parameters = replace(_make_parameters(BARRIER_BULLY, size, megabytes), seed=unlucky_seed(fabric))
    believed = synthetic_traffic(fabric, parameters)
    tables = {
        name: optimise_routes(fabric, believed, LONGER * size.optimise_s, SEED, fewest_worst=fewest)
        for name, fewest in (("optimised", False), ("fewest worst links", True))
    }
    between = fabric.router_links()
    shared = {
        name: float((check_routes(fabric, entry.ports, believed).load[between] >= 2 * BULLY_UNITS).sum())
        for name, entry in tables.items()
    }
    with MachineProcess(parameters) as machine:
        alone = machine.call("simulate", ftree_tables(fabric), True).time_s
        times = {
            "ftree": machine.call("simulate", ftree_tables(fabric)),
            "adaptive": machine.call("simulate", None),
            **{name: machine.call("simulate", entry.ports) for name, entry in tables.items()},
        }
    _keep_plots(size, {f"random-{name.replace(' ', '-')}": entry for name, entry in times.items()})
    ratios = {name: entry.time_s / alone for name, entry in times.items()}
    return {
        **ratios,
        "AR gap, %": 100 * (tables["optimised"].ar_gap or 0.0),
        "links with two flows": shared["optimised"],
        "of the fewest": shared["fewest worst links"],
    }


def _even_allocation(size: Size) -> dict[str, float]:
    """Measure table 5.3's draw of nodes after the change, with routes for its traffic in bytes and in mixed packets and bytes, which a switch counts both.

    Section 5.4.2 covers the counters of this traffic.
    """
    fabric = fabric_of(size.topology)
    seed, megabytes = unlucky_seed(fabric), size.megabytes * BULLY_SCALE
    parameters = replace(_make_parameters(BARRIER_BULLY_EVEN, size, megabytes), seed=seed)
    demand = demand_of(BARRIER_BULLY_EVEN, fabric, megabytes, 1, seed)
    ports = {
        name: optimise_routes(fabric, demand.matrix(mtu), parameters.optimise_s, SEED).ports
        for name, mtu in (("optimised, bytes", None), ("optimised, mixed", float(parameters.packet_bytes)))
    }
    with MachineProcess(parameters) as machine:
        alone = machine.call("simulate", ftree_tables(fabric), True).time_s
        times = {
            "ftree": machine.call("simulate", ftree_tables(fabric)),
            "adaptive": machine.call("simulate", None),
            **{name: machine.call("simulate", carried) for name, carried in ports.items()},
        }
    _keep_plots(
        size,
        {f"even-{name.replace(', ', '-')}": carried for name, carried in times.items() if name != "optimised, bytes"},
    )
    return {name: carried.time_s / alone for name, carried in times.items()}


def _bad_reconstruction(size: Size) -> dict[str, float]:
    """Measure BoxLib CNS on consecutive nodes after the first ten, with a bad reconstruction and therefore bad routes."""
    pattern = "irregular-70" if size.quick else "boxlib-cns-1024"
    fabric = fabric_of(size.topology)
    ports, between = ftree_tables(fabric), fabric.router_links()
    truth = build_study(fabric, ports, pattern, 5, 5, 1, SEED)
    m = truth.measured
    estimate = reconstruct_matrix(
        fabric, ports, m.lanes, m.pairs, m.counters, Options("od", time_limit_s=size.reconstruct_s * 3, estimate=False)
    )
    src, dst, amount = load_traffic(pattern, len(fabric.endpoints), SEED)
    first = int(m.pairs.src.min())
    demand = src + first, dst + first, amount
    bound = compute_bounds(fabric, demand, packing=False).z_ar
    keep = estimate.size > 1e-4 * estimate.size.max(initial=0)
    believed = estimate.pairs.src[keep], estimate.pairs.dst[keep], estimate.size[keep]
    tables: dict[str, np.ndarray] = {
        "perfect knowledge": optimise_routes(fabric, demand, size.optimise_s, SEED).ports,
        "reconstructed": optimise_routes(fabric, believed, size.optimise_s, SEED).ports,
        "ftree": ports,
        "random": random_tables(fabric, SEED),
    }
    return {
        name: 100 * (float(check_routes(fabric, table, demand).load[between].max()) / bound - 1)
        for name, table in tables.items()
    }


def _compute_time_ratios(place: str, column: str, alone: str, **rows: str) -> dict[str, float]:
    """Return published times relative to the row `alone`, by our names of the rows."""
    value = published.published_rows("taffet2021", place)
    return {ours: value[theirs][column] / value[alone][column] for ours, theirs in rows.items()}


_LESS = "messages with fewer bytes than published: only ratios are compared"
_STRATEGIES = {"ftree": "Ftree", "adaptive": "Hardware adaptive routes"}
_ROUTES = {
    "perfect knowledge": "Combined formulation with perfect knowledge",
    "reconstructed": "CoGARFrSN",
    "ftree": "Ftree",
    "random": "Random",
}


def _of_barrier(row: str) -> float:
    return published.published_value("taffet2021", "section 5.4.2", row, "relative error")


def _barrier_reconstructed(mixed: bool) -> Measure:
    """Return a measurement of both jobs together in the dictionary, with the bully's published bytes."""

    def measure(size: Size) -> dict[str, float]:
        megabytes, limit_s = (size.megabytes, 4.0) if size.quick else (MEGABYTES, size.reconstruct_s)
        topology = QUICK_BARRIER if size.quick else size.topology
        result = reconstruct_barrier(topology, megabytes, mixed, limit_s, size.device)
        if mixed and not size.quick:
            keep_barrier_portions(BARRIER_PORTION, sent=result.sent[:SHOWN, :SHOWN], found=result.found[:SHOWN, :SHOWN])
        return {"whole": 100 * result.error, "barrier": 100 * result.barrier_error, "seconds": result.seconds}

    return measure


ROWS = [
    Row("5.1", "shift", _compute_time_ratios("table 5.1", "Bisection Shift", "Adaptive static routes", **_STRATEGIES), _measure_loop("shift", "loop"), _LESS),
    Row("5.1", "random shuffle", _compute_time_ratios("table 5.1", "Bisection Random Shuffle", "Adaptive static routes", **_STRATEGIES), _measure_loop(SHUFFLE, "loop"), _LESS),
    Row("5.2", "cyclic stencil", _compute_time_ratios("table 5.2", "Large Messages", "Ftree", loop="Adaptive static routes", adaptive="Hardware adaptive routes"), _measure_loop(STENCIL, "ftree"), _LESS),
    Row("5.2", "cyclic stencil, counters and routes by six time slots", {}, _measure_loop(STENCIL, "ftree", 6), _LESS),
    Row("5.3", "barrier and bully, random allocation", {
        **_compute_time_ratios("table 5.3", "runtime", "No bully", ftree="Ftree static routing", adaptive="Hardware adaptive routing", optimised="Combined formulation"),
        "fewest worst links": _compute_time_ratios("table 5.3", "runtime", "No bully", special="Special formulation")["special"],
        **{ours: published.published_value("taffet2021", "table 5.3", "Combined formulation", ours) for ours in ("AR gap, %", "links with two flows")}}, _random_allocation, "the bytes as published"),
    Row("5.4", "barrier and bully, at most fifteen bully nodes per leaf", {
        **_compute_time_ratios("table 5.4", "runtime", "No bully", ftree="Ftree", adaptive="Hardware adaptive"),
        "optimised, bytes": _compute_time_ratios("table 5.4", "runtime", "No bully", loop="Combined form., pure byte weighting")["loop"],
        "optimised, mixed": _compute_time_ratios("table 5.4", "runtime", "No bully", loop="Combined form., mixed weighting")["loop"]}, _even_allocation, _LESS),
    Row("5.4.2", "counters of bytes", {"whole": _of_barrier("whole, pure byte weighting"), "barrier": _of_barrier("barrier, pure byte weighting")}, _barrier_reconstructed(mixed=False), "the barrier is not found, as published"),
    Row("5.4.2", "counters of packets and bytes mixed", {"whole": _of_barrier("whole, mixed weighting"), "barrier": _of_barrier("barrier, mixed weighting")}, _barrier_reconstructed(mixed=True)),
    Row("5.5", "BoxLib CNS", {ours: published.published_value("taffet2021", "table 5.5", theirs, "AR gap") for ours, theirs in _ROUTES.items()}, _bad_reconstruction),
]  # fmt: skip
