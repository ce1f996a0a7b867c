"""Measurement of a routing mode's effect on a job in the packet engine, with the same job, seed and background under each mode.

    python -m flitwatch_research.advice_value.mode_fit [--write]

prints the table; `--write` stores it for `modes`. The machine is the study's own. A job has neighbouring or random nodes of one to all of
its groups, equally many in each, with ranks in order of the nodes. The rest of the machine sends uniform traffic.
"""

from __future__ import annotations

import argparse
import json
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.network_noise.observations import NIC_HZ
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.advice_value.modes import MODES, PLACINGS, TABLE_FILE
from flitwatch_research.packet.background import background_generators
from flitwatch_research.studies.desensi_applications import MICROBENCHMARKS
from flitwatch_simulation.application_aware import DEFAULT_MODE
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads.messages import Messages, repeat_messages, to_ops
from flitwatch_twin.users import Exchange

#: Four groups as on Cori; ranks and bytes per rank as in De Sensi's figure 10, on as many nodes as the network-sensitive jobs.
TOPOLOGY, GROUPS, RANKS, SIZE_BYTES = "dragonfly:4,6,16,24", 4, 128, 32768
ITERATIONS, LOADS_GIB_PER_S, SEEDS = 2, (0.0, 3.0), (1, 2, 3)
#: All-to-all has a separate variable (MPICH_GNI_A2A_ROUTING_MODE), which advice does not set: such jobs keep their mode.
PATTERNS = {Exchange.NEIGHBOUR: "halo3d"}
ENGINE_MODES = {"ADAPTIVE_0": packet.DragonflyMode.ADAPTIVE_0, "ADAPTIVE_3": packet.DragonflyMode.ADAPTIVE_3}

Ints = NDArray[np.int64]


class Run(TypedDict):
    """One run: seconds, NIC latency in cycles, stalls per flit, non-minimal share of all packets, utilisation of the shared links."""

    time_s: float
    latency_cycles: float
    stalls_per_flit: float
    non_minimal: float
    utilisation: float


class ModeFigures(TypedDict):
    """A mode at each load: time relative to the default mode, counters of network cards; non-minimal share without background."""

    time: list[float]
    latency_cycles: list[float]
    stalls_per_flit: list[float]
    non_minimal: float


class Case(TypedDict):
    """A job with one exchange over this many groups, by mode; utilisation under the default mode at each load."""

    exchange: int
    groups: int
    placing: str
    routers_per_node: float
    utilisation: list[float]
    modes: dict[str, ModeFigures]


def nodes_of(machine: Machine, groups: int, placing: str, rng: np.random.Generator) -> Ints:
    """Return endpoints of `RANKS` ranks over the first `groups` groups, equally many in each, packed or scattered, in order of the nodes."""
    group = np.asarray(machine.fabric.routers.group)[np.asarray(machine.fabric.endpoints.router)]
    parts = []
    for at in range(groups):
        own, count = np.flatnonzero(group == at), (RANKS + groups - 1 - at) // groups
        if placing == "packed":
            first = rng.integers(len(own) - count + 1)
            parts.append(own[first : first + count])
        else:
            parts.append(rng.choice(own, count, replace=False))
    return np.sort(np.concatenate(parts)).astype(np.int64)


def run_once(machine: Machine, messages: Messages, nodes: Ints, mode: str, load: float, seed: int) -> Run:
    """Run one job under one mode with uniform background."""
    generators = []
    if load:
        others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(machine.endpoints), nodes))
        generators = background_generators(machine, "uniform", load, np.sort(others[: machine.endpoints // 4]), 1)
    number = int(ENGINE_MODES[mode])
    ops = to_ops([(messages, nodes)], [np.full(messages.src.size, number, np.uint8)])
    workload = packet.Workload(ops=ops, generators=generators, default_mode=packet.DragonflyMode.ADAPTIVE_0)
    result = execute_workload(machine, workload, packet_bytes=64, nic_protocol=True, seed=seed)
    raw = result.raw
    packets, flits, latency, stalled = (
        float(np.asarray(raw[f"nic_{what}"], float)[nodes].sum())
        for what in ("request_packets", "request_flits", "latency_ps", "stalled_ps")
    )
    return {
        "time_s": result.time_s,
        "latency_cycles": latency * 1e-12 * NIC_HZ / packets,
        "stalls_per_flit": stalled * 1e-12 * NIC_HZ / flits,
        "non_minimal": raw["non_minimal"] / max(raw["non_minimal"] + raw["minimal"], 1),
        "utilisation": _mean_utilisation(machine, nodes, np.asarray(raw["link_bytes"], float), result.time_s),
    }


def _mean_utilisation(machine: Machine, nodes: Ints, link_bytes: NDArray[np.float64], time_s: float) -> float:
    """Return the mean utilisation of the global links of the job's groups, or of the links in its group if it has only one."""
    fabric, routers = machine.fabric, len(machine.fabric.routers)
    group = np.asarray(fabric.routers.group)
    job_groups = np.unique(group[np.asarray(fabric.endpoints.router)[nodes]])
    src, dst = np.asarray(fabric.links.src), np.asarray(fabric.links.dst)
    between = (src < routers) & (dst < routers)
    own = np.zeros(len(src), bool)
    begin, end = group[src[between]], group[dst[between]]
    own[between] = np.isin(begin, job_groups) & ((begin != end) == (len(job_groups) > 1))
    capacity = np.asarray(fabric.links.bandwidth_bps, float)[own] / 8
    return float((link_bytes[own] / capacity / time_s).mean())


def measure_case(exchange: Exchange, groups: int, placing: str, seeds: tuple[int, ...] = SEEDS) -> Case:
    """Return one case of the table: medians over seeds; times are ratios to the default mode."""
    machine = build_machine(fabric_of(TOPOLOGY), "adaptive0", packet_bytes=64, nic_protocol=True)
    messages = repeat_messages(MICROBENCHMARKS[PATTERNS[exchange]](RANKS, SIZE_BYTES, 1), ITERATIONS)
    placed = {seed: nodes_of(machine, groups, placing, np.random.default_rng(seed)) for seed in seeds}
    router = np.asarray(machine.fabric.endpoints.router)
    runs = {
        mode: [
            [run_once(machine, messages, placed[seed], mode, load, seed) for seed in seeds] for load in LOADS_GIB_PER_S
        ]
        for mode in MODES
    }
    usual = runs[DEFAULT_MODE]
    return {
        "exchange": int(exchange),
        "groups": groups,
        "placing": placing,
        "routers_per_node": _median_of([len(np.unique(router[nodes])) / RANKS for nodes in placed.values()]),
        "utilisation": [_median_of([sample["utilisation"] for sample in own]) for own in usual],
        "modes": {mode: _summarize_mode(own, usual) for mode, own in runs.items()},
    }


def _summarize_mode(runs: list[list[Run]], usual: list[list[Run]]) -> ModeFigures:
    """Return the figures of one mode from runs by load and seed, relative to the default mode."""
    ratios = [
        [sample["time_s"] / other["time_s"] for sample, other in zip(own, before, strict=True)]
        for own, before in zip(runs, usual, strict=True)
    ]
    return {
        "time": [_median_of(own) for own in ratios],
        "latency_cycles": [_median_of([sample["latency_cycles"] for sample in own]) for own in runs],
        "stalls_per_flit": [_median_of([sample["stalls_per_flit"] for sample in own]) for own in runs],
        "non_minimal": _median_of([sample["non_minimal"] for sample in runs[0]]),
    }


def _median_of(values: list[float]) -> float:
    return float(np.median(values))


def main() -> None:
    """Measure, print and optionally store the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="store the table as the study's")
    options = parser.parse_args()
    answer = {
        "topology": TOPOLOGY,
        "ranks": RANKS,
        "bytes_a_rank": SIZE_BYTES,
        "iterations": ITERATIONS,
        "background_gib_per_s": list(LOADS_GIB_PER_S),
        "seeds": list(SEEDS),
        "cases": [
            measure_case(exchange, groups, placing)
            for exchange in PATTERNS
            for groups in range(1, GROUPS + 1)
            for placing in PLACINGS
        ],
    }
    text = json.dumps(answer, indent=1) + "\n"
    if options.write:
        TABLE_FILE.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
