"""The simulated machine of the loop: only it has the traffic, and it returns counters, times and scores (ADR 0031)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds, relative_gap
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.reconstruction.count import counters_of
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.study import Measured, inside_jobs, measure_traffic
from flitwatch_simulation.loop.demand import Demand, demand_of
from flitwatch_simulation.loop.matrices import by_place
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import build_machine
from flitwatch_simulation.packet.route_files import table_of_ports
from flitwatch_simulation.workloads.messages import to_ops

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Carried:
    """One simulation: time_s until the timed jobs end; link_bytes (links,); congested (links,) share of sampled packets, NaN without samples."""

    time_s: float
    link_bytes: Floats
    congested: Floats
    conserved: bool


@dataclass(frozen=True)
class Score:
    """Scores computed with the true traffic; for matrices by place see `by_place`.

    Loads and bounds are summed over time slots. Gaps are None if no traffic passes between switches.
    """

    relative_error: float | None
    true_gap: float | None
    ftree_gap: float | None
    z_ar_bytes: float
    max_load_bytes: dict[str, float]
    matrices: dict[str, Floats]


class SimulatedMachine:
    """A fabric with jobs, created and used in a separate process (`process.py`)."""

    def __init__(self, parameters: LoopRun) -> None:
        self.parameters = parameters
        self.fabric: Fabric = fabric_of(parameters.topology)
        self.loaded = ftree_tables(self.fabric)
        self._demand: Demand = demand_of(
            parameters.pattern, self.fabric, parameters.megabytes, parameters.iterations, parameters.seed
        )
        # Counters, routes and scores are in bytes or, with an MTU, in mixed bytes and packets.
        self._truth = self._demand.matrix(parameters.mtu)
        self._slots = self._demand.matrices(parameters.slots, parameters.mtu)

    def describe(self) -> str:
        """Describe the order of messages, if known."""
        return self._demand.time_structure

    def measured(self) -> list[Measured]:
        """Return counters of every sensing epoch and time slot on the loaded routes, with jobs and SL-to-VL tables, but without traffic."""
        p = self.parameters
        jobs = [job.endpoints for job in self._demand.jobs]
        rng = np.random.default_rng([p.seed, 4])
        first, _ = measure_traffic(self.fabric, self.loaded, self._slots[0], jobs, p.sls, p.vls, p.epochs, rng, p.noise)
        slots = [first]
        for matrix in self._slots[1:]:
            inside = inside_jobs(matrix, len(self.fabric.endpoints), first.pairs)
            counters = counters_of(self.fabric, self.loaded, first.lanes, first.pairs, inside, p.noise, rng)
            slots.append(Measured(first.pairs, first.lanes, counters))
        return slots

    def simulate(self, ports: Ints | None, alone: bool = False) -> Carried:
        """Run the jobs on static routes, or on adaptive hardware if `ports` is None; `alone`: only the timed jobs."""
        table = None if ports is None else table_of_ports(self.fabric, ports)
        mode = "hw-adaptive" if ports is None else "ftree"
        machine = build_machine(self.fabric, mode, packet_bytes=self.parameters.packet_bytes, table=table)
        jobs = [job for job in self._demand.jobs if job.timed or not alone]
        workload = packet.Workload(
            ops=to_ops([(job.messages, job.endpoints) for job in jobs]), default_mode=machine.mode
        )
        result = execute_workload(
            machine,
            workload,
            packet_bytes=self.parameters.packet_bytes,
            seed=self.parameters.seed,
            sampling=True,
        )
        timed = np.repeat([job.timed for job in jobs], [job.messages.ranks for job in jobs])
        links = len(self.fabric.links)
        at = result.raw["sample_link"].astype(np.int64)
        on_links = at < links
        weight = result.raw["sample_links"][on_links].astype(float)
        tested = np.bincount(at[on_links], weight, minlength=links)
        marked = np.bincount(at[on_links], weight * result.raw["sample_marked"][on_links], minlength=links)
        congested = np.divide(marked, tested, out=np.full(links, np.nan), where=tested > 0)
        end_s = float(np.asarray(result.raw["rank_end_ps"], np.float64)[timed].max()) * 1e-12
        return Carried(end_s, np.asarray(result.raw["link_bytes"], float), congested, bool(result.conserved))

    def score(self, pairs: Pairs | None, size: Floats | None, ports: Ints) -> Score:
        """Compare new routes, and a reconstruction if there is one, with the true traffic."""
        between = self.fabric.router_links()
        bound = sum(compute_bounds(self.fabric, item, packing=False).z_ar for item in self._slots)
        loads = {
            name: sum(float(check_routes(self.fabric, item, slot).load[between].max(initial=0)) for slot in self._slots)
            for name, item in (("ftree", self.loaded), ("loop", ports))
        }
        error = None if pairs is None or size is None else self.error(pairs, size)
        return Score(
            error,
            relative_gap(loads["loop"], bound),
            relative_gap(loads["ftree"], bound),
            bound,
            loads,
            {by: by_place(self.fabric, self._truth, by).values for by in ("router", "group")},
        )

    def error(self, pairs: Pairs, size: Floats) -> float:
        """Return |x - x_true| / |x_true| over all pairs of endpoints (Taffet 2021, section 4.6.3)."""
        true = inside_jobs(self._truth, len(self.fabric.endpoints), pairs)
        whole = float(np.linalg.norm(self._truth[2]))
        outside = max(whole**2 - float(true @ true), 0.0)
        return float(np.sqrt(float((size - true) @ (size - true)) + outside)) / whole if whole > 0 else 0.0
