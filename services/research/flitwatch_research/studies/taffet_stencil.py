"""Table 5.2 of Taffet 2021: the cyclic stencil in large and in small messages, with four routings."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_string,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_routing.baselines import random_tables
from flitwatch_routing.optimise import Routes
from flitwatch_simulation.loop.estimate import reconstruct_slots, routes_for
from flitwatch_simulation.loop.machine import SimulatedMachine
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.packet.route_files import table_of_ports
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, to_ops

#: Our names of the table's rows and columns.
ROUTINGS = {
    "ftree": "Ftree",
    "optimised": "Adaptive static routes",
    "hw-adaptive": "Hardware adaptive routes",
    "random": "Random",
}
MESSAGES = {"large": "Large Messages", "small": "Small Messages"}
SMALL_BYTES = 2048


class StencilFigures(TypedDict):
    """A cell of table 5.2: simulated and published milliseconds, the time relative to large messages under ftree, and the busiest link's gap."""

    time_ms: float
    published_ms: float
    over_ftree: float
    published_over_ftree: float
    ar_gap: float | None
    conserved: bool


def split_messages(messages: Messages, size: int) -> Messages:
    """Return each message divided into messages of `size` bytes; the k-th is sent to every neighbour before the next one to any."""
    count = np.maximum(messages.size_bytes // size, 1)
    most = int(count.max())
    turn = np.repeat(np.arange(most), messages.src.size)
    which = np.tile(np.arange(messages.src.size), most)
    keep = turn < count[which]
    which = which[keep]
    return Messages(
        messages.ranks,
        messages.src[which],
        messages.dst[which],
        messages.size_bytes[which] // count[which],
        messages.send_round[which],
        messages.recv_round[which],
        messages.rounds,
        messages.compute_ns,
    )


def _looped_routes(asked: LoopRun, cancelled: Cancelled) -> Routes:
    """Return the loop's routes for the matrix reconstructed from counters on ftree's routes."""
    machine = SimulatedMachine(asked)
    seen, _ = reconstruct_slots(
        machine.fabric, machine.loaded, machine.measured(), asked.basis, asked.reconstruct_s, _silent, cancelled
    )
    return routes_for(machine.fabric, seen, asked.optimise_s, asked.seed, _silent, cancelled)


def _silent(_: str) -> None:
    pass


def run(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run table 5.2: six faces of a periodic grid, in order and without waiting, as one message each or as messages of 2 KB in turn.

    Static routes are ftree's, random ones, and the loop's, which are optimised for the counters of the whole traffic without phases.

    Parameters: seed, topology (quartz1), mbytes (0.25 to each neighbour; the dissertation has 2), optimise_s (30), reconstruct_s (60).
    """
    check_names(parameters, ("seed", "threads", "topology", "mbytes", "optimise_s", "reconstruct_s"))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    size = int(read_number(parameters, "mbytes", 0.25, 0.01, 2.0) * 1e6)
    optimise_s = read_number(parameters, "optimise_s", 30.0, 0.1, 3600.0)
    reconstruct_s = read_number(parameters, "reconstruct_s", 60.0, 1.0, 3600.0)
    topology = read_string(parameters, "topology", "quartz1")
    fabric = fabric_of(topology)
    ranks = len(fabric.endpoints)
    whole_faces = patterns.make_pattern("cyclic-stencil", ranks, 6 * size, seed)
    if not whole_faces.src.size:
        raise BadRequest(f"{fabric.name} is too small for a stencil", advice="Use a tree of more endpoints.")
    messages_by_size = {"large": whole_faces, "small": split_messages(whole_faces, SMALL_BYTES)}
    routes = _looped_routes(
        LoopRun(
            "cyclic-stencil",
            topology,
            seed,
            megabytes=6e-6 * size,
            optimise_s=optimise_s,
            reconstruct_s=reconstruct_s,
        ),
        cancelled,
    )
    tables = {"optimised": routes.ports, "random": random_tables(fabric, seed)}
    base: list[float] = []

    def machine_of(routing: str) -> Machine:
        if routing in tables:
            return build_machine(
                fabric, "ftree", packet_bytes=SMALL_BYTES, table=table_of_ports(fabric, tables[routing])
            )
        return build_machine(fabric, routing, packet_bytes=SMALL_BYTES)

    def compute(case: Parameters, stop: Cancelled) -> list[StencilFigures]:
        machine = machine_of(case["routing"])
        ops = to_ops([(messages_by_size[case["messages"]], np.arange(ranks))])
        workload = packet.Workload(ops=ops, default_mode=machine.mode)
        result = execute_workload(machine, workload, cancelled=stop, packet_bytes=SMALL_BYTES, seed=seed)
        if not base:
            base.append(result.time_s)
        value = published.published_rows("taffet2021", "table 5.2")
        printed = value[ROUTINGS[case["routing"]]][MESSAGES[case["messages"]]]
        return [
            {
                "time_ms": result.time_s * 1e3,
                "published_ms": printed,
                "over_ftree": result.time_s / base[0],
                "published_over_ftree": printed / value["Ftree"]["Large Messages"],
                "ar_gap": routes.ar_gap if case["routing"] == "optimised" else None,
                "conserved": result.conserved,
            }
        ]

    cases = [{"messages": m, "routing": r} for m in MESSAGES for r in ROUTINGS]
    # All other cases are compared with the first one.
    return sweep_cases("taffet-table5.2", cases, compute, report, cancelled, {**parameters, "threads": 1}, seed=seed)
