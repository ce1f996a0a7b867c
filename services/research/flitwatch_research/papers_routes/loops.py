"""Chapter 5: the loop, and routes from a reconstruction that is bad."""

from __future__ import annotations

import numpy as np

from flitwatch_research.papers_routes.rows import Measure, Row, Size
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.bounds import bounds
from flitwatch_routing.forwarding import check
from flitwatch_routing.optimise import optimise
from flitwatch_routing.patterns import traffic
from flitwatch_routing.reconstruction.recover import Options, reconstruct
from flitwatch_routing.reconstruction.study import study
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.process import MachineProcess
from flitwatch_simulation.loop.turn import turn
from flitwatch_simulation.packet.machine import fabric_of

SEED = 1


def _parameters(pattern: str, size: Size, megabytes: float | None = None, slots: int = 1) -> LoopRun:
    return LoopRun(
        pattern, size.topology, SEED, megabytes=megabytes or size.megabytes, optimise_s=min(size.optimise_s, 30.0),
        reconstruct_s=max(size.reconstruct_s * 5, 5.0), slots=slots,
    )  # fmt: skip


def _looped(pattern: str, relative_to: str, slots: int = 1) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        made = turn(_parameters(pattern, size, slots=slots)).summary()
        times = made["time_ms"]
        found = {name: time_ms / times[relative_to] for name, time_ms in times.items() if name != relative_to}
        return {
            **found,
            "true gap, %": 100 * made["true_gap"],
            "recommended": float(made["recommended"]),
            "seconds": made["wall_s"],
        }

    return measure


def _beside_bully(scale: float) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        parameters = _parameters("barrier-with-bully", size, size.megabytes * scale)
        made = turn(parameters)
        with MachineProcess(parameters) as machine:
            alone = machine.call("simulate", made.loaded, True).time_s
        times = {"ftree": made.before, "adaptive": made.adaptive, "loop": made.after}
        return {name: one.time_s / alone for name, one in times.items() if one is not None}

    return measure


def _bad_reconstruction(size: Size) -> dict[str, float]:
    """An irregular pattern with one epoch: the reconstruction is bad, and so are its routes."""
    fabric = fabric_of(size.topology)
    ports, between = ftree_tables(fabric), fabric.router_links()
    known = study(fabric, ports, "irregular-70", 5, 5, 1, SEED, offset=0)
    m = known.measured
    made = reconstruct(
        fabric, ports, m.lanes, m.pairs, m.counters, Options("od", time_limit_s=size.reconstruct_s * 3, estimate=False)
    )
    demand = traffic("irregular-70", len(fabric.endpoints), SEED)
    bound = bounds(fabric, demand, packing=False).z_ar
    keep = made.size > 1e-4 * made.size.max(initial=0)
    believed = made.pairs.src[keep], made.pairs.dst[keep], made.size[keep]
    tables: dict[str, np.ndarray] = {
        "perfect knowledge": optimise(fabric, demand, size.optimise_s, SEED).ports,
        "reconstructed": optimise(fabric, believed, size.optimise_s, SEED).ports,
        "ftree": ports, "random": random_tables(fabric, SEED),
    }  # fmt: skip
    return {
        name: 100 * (float(check(fabric, one, demand).load[between].max()) / bound - 1) for name, one in tables.items()
    }


_LESS = "messages of fewer bytes than published: ratios count"
ROWS = [
    Row("5.1", "shift", {"ftree": 1.688 / 1.691, "adaptive": 1.750 / 1.691}, _looped("shift", "loop"), _LESS),
    Row("5.1", "random shuffle", {"ftree": 6.715 / 1.691, "adaptive": 1.871 / 1.691}, _looped("bisection-shuffle", "loop"), _LESS),
    Row("5.2", "cyclic stencil", {"loop": 2.39 / 1.33}, _looped("cyclic-stencil", "ftree"), _LESS),
    Row("5.2", "cyclic stencil, counters and routes by six time slots", {}, _looped("cyclic-stencil", "ftree", 6), _LESS),
    Row("5.3", "barrier and bully", {"ftree": 29.8 / 4.19, "adaptive": 9.3 / 4.19, "loop": 4.46 / 4.19}, _beside_bully(1.0), _LESS),
    Row("5.4", "barrier and bully", {"ftree": 30.8 / 4.19, "adaptive": 60 / 4.19, "loop": 7.9 / 4.19}, _beside_bully(2.0), _LESS),
    Row("5.5", "irregular", {"perfect knowledge": 0.04, "reconstructed": 69, "ftree": 106, "random": 84}, _bad_reconstruction),
]  # fmt: skip
