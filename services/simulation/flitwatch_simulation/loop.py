"""The closed loop (Taffet 2021, chapter 5): simulate, count, reconstruct, optimise, and simulate again before anything is recommended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadInput, Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import adaptive_bound
from flitwatch_routing.forwarding import check
from flitwatch_routing.optimise import optimise
from flitwatch_routing.patterns import traffic
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, reconstruct
from flitwatch_routing.reconstruction.study import Measured, relative_error, study
from flitwatch_simulation.packet.machine import build, fabric_of
from flitwatch_simulation.packet.route_files import table_of_ports
from flitwatch_simulation.packet.run import execute

Ints = NDArray[np.int64]
Traffic = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
#: report(stages done, stages, what runs now)
Report = Callable[[int, int, str], None]
STAGES = 5
#: New routes may be slower by this before they count as a loss: the spread of arbitration.
EVEN = 1.01


@dataclass(frozen=True)
class LoopRun:
    """Parameters of `flitwatch loop run`; megabytes is what the busiest node sends."""

    pattern: str
    topology: str = "quartz1"
    seed: int = 1
    sls: int = 5
    vls: int = 5
    epochs: int = 1
    megabytes: float = 10.0
    packet_bytes: int = 4096
    optimise_s: float = 30.0
    reconstruct_s: float = 900.0


def run(
    parameters: LoopRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> tuple[dict[str, Any], Ints]:
    """One turn of the loop with the blind dictionary; returns the object that the command prints, and the new tables.

    The reconstruction gets counters and the optimiser gets its result; the true traffic feeds the simulator and `_scored` alone.
    """
    started = time.monotonic()
    fabric = fabric_of(parameters.topology)
    loaded = ftree_tables(fabric)
    demand = _scaled(traffic(parameters.pattern, len(fabric.endpoints.router), parameters.seed), parameters.megabytes)

    def stage(done: int, what: str) -> None:
        if cancelled is not None and cancelled():
            raise Cancelled("the loop was cancelled")
        if report is not None:
            report(done, STAGES, what)

    stage(0, "simulating the loaded routes")
    before = _simulated(parameters, fabric, loaded, demand, cancelled)
    stage(1, "simulating adaptive routing")
    adaptive = _simulated(parameters, fabric, None, demand, cancelled)
    stage(2, "reconstructing traffic from counters")
    known = study(
        fabric, loaded, parameters.pattern, parameters.sls, parameters.vls, parameters.epochs, parameters.seed, offset=0
    )
    found = _blind(parameters, fabric, loaded, known.measured, cancelled)
    stage(3, "optimising routes")
    ports = _routes(parameters, fabric, found, cancelled)
    stage(4, "simulating the new routes")
    after = _simulated(parameters, fabric, ports, demand, cancelled)
    times = {"ftree": before * 1e3, "adaptive": adaptive * 1e3, "loop": after * 1e3}
    result = {
        "time_ms": times, "speedup_over_ftree": before / after, **_scored(fabric, demand, loaded, ports),
        "reconstruction": {
            "relative_error": relative_error(known, found), "estimated_error": found.estimated_error, "residual": found.residual,
            "iterations": found.iterations, "converged": found.converged, "wall_s": found.wall_s,
        },
        **_advice(times, found), "simulated": True, "wall_s": time.monotonic() - started,
    }  # fmt: skip
    return result, ports


def _scaled(demand: Traffic, megabytes: float) -> Traffic:
    src, dst, size = demand
    busiest = float(np.bincount(src, size).max(initial=0))
    if busiest <= 0:
        raise BadInput("the traffic is empty")
    return src, dst, np.maximum(1, np.rint(size * (megabytes * 1e6 / busiest))).astype(np.int64)


def _simulated(
    parameters: LoopRun, fabric: Fabric, ports: Ints | None, demand: Traffic, cancelled: Callable[[], bool] | None
) -> float:
    """Seconds until the last byte; hardware-adaptive routing without tables."""
    table = None if ports is None else table_of_ports(fabric, ports)
    machine = build(
        fabric, "hw-adaptive" if ports is None else "ftree", packet_bytes=parameters.packet_bytes, table=table
    )
    src, dst, size = (np.asarray(part, np.int64) for part in demand)
    workload = packet.Workload(flows=(src, dst, size), default_mode=machine.mode)
    result = execute(machine, workload, cancelled=cancelled, packet_bytes=parameters.packet_bytes, seed=parameters.seed)
    return float(result.time_s)


def _blind(
    parameters: LoopRun, fabric: Fabric, loaded: Ints, measured: Measured, cancelled: Callable[[], bool] | None
) -> Reconstruction:
    def go_on(*_: Any) -> bool:
        return cancelled is None or not cancelled()

    options = Options(basis="od", time_limit_s=parameters.reconstruct_s)
    return reconstruct(fabric, loaded, measured.lanes, measured.pairs, measured.counters, options, go_on)


def _routes(parameters: LoopRun, fabric: Fabric, found: Reconstruction, cancelled: Callable[[], bool] | None) -> Ints:
    keep = found.size > 1e-4 * found.size.max(initial=0)
    believed = found.pairs.src[keep], found.pairs.dst[keep], found.size[keep]

    def go_on(*_: Any) -> bool:
        return cancelled is None or not cancelled()

    ports = optimise(fabric, believed, parameters.optimise_s, parameters.seed, go_on).ports
    if cancelled is not None and cancelled():
        raise Cancelled("the loop was cancelled")
    return ports


def _scored(fabric: Fabric, demand: Traffic, loaded: Ints, ports: Ints) -> dict[str, float]:
    """Gaps of the tables under the true traffic: (largest load - z_AR) / z_AR."""
    between = fabric.router_links()
    bound = adaptive_bound(fabric, demand)
    loads = {
        name: float(check(fabric, one, demand).load[between].max())
        for name, one in (("true", ports), ("ftree", loaded))
    }
    return {f"{name}_gap": load / bound - 1 if bound > 0 else 0.0 for name, load in loads.items()}


def _advice(times: dict[str, float], found: Reconstruction) -> dict[str, Any]:
    """Recommend where the simulation does not lose, else say why not."""
    if times["loop"] <= EVEN * times["ftree"]:
        return {"recommended": True, "reason": f"simulated {times['loop']:.3f} ms instead of {times['ftree']:.3f} ms"}
    doubt = found.estimated_error
    cause = (
        f"the reconstruction is unsure (estimated error {doubt:.0%})" if doubt is not None and doubt > 0.1
        else "balanced loads do not help where the order of messages decides"
    )  # fmt: skip
    return {
        "recommended": False,
        "reason": f"simulated {times['loop']:.3f} ms, slower than {times['ftree']:.3f} ms: {cause}",
    }
