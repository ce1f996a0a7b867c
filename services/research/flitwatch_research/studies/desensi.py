"""Studies of De Sensi 2019: allocations, dispersion, routing modes and application-aware routing on an Aries dragonfly.

Ping-pongs use the NIC protocol (64-byte packets, responses, 1024 outstanding) with background traffic. Every iteration is a run with its own
seed, so its noise comes only from that traffic. Times, L and s come from the same runs. `runs`, the studies' common name for draws per point, means
repeats, and allocations in `run_model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import (
    NIC_HZ,
    message_time_s,
    quartile_dispersion,
)
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.packet.background import background_generators
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_numbers,
    read_string,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops

MODES = {"adaptive": packet.DragonflyMode.ADAPTIVE_0, "high-bias": packet.DragonflyMode.ADAPTIVE_3}
#: Number of ranks on figure 4's node.
HOST_RANKS = 8
#: A virtual channel's buffer for 64-byte packets: enough for the round trip of a global cable (1.5 KiB), in whole KiB. The paper does not state it.
BUFFER_BYTES = 2048
PLACES = ("inter-nodes", "inter-blades", "inter-chassis", "inter-groups")


@dataclass(frozen=True)
class PingPong:
    """One iteration: its time, the predictions of equations 2 and 1 from both NICs' counters (round trip), and the counts of the first sender's NIC."""

    time_s: float
    predicted_s: float
    predicted_without_window_s: float
    latency_cycles: float
    stalls_per_flit: float
    conserved: bool


def message_time_without_window_s(size_bytes: int, latency_cycles: float, stalls_per_flit: float) -> float:
    """Return equation 1: T = L / 2 + f (s + 1), without the cost of the window of 1,024 packets, for a PUT of 64-byte packets."""
    flits = -(-size_bytes // 64) - (-size_bytes // 16)
    return (latency_cycles / 2 + flits * (stalls_per_flit + 1)) / NIC_HZ


def pair_of(machine: Machine, place: str, rng: np.random.Generator) -> tuple[int, int]:
    """Return two endpoints: on one blade, on two blades of a chassis, on two chassis of a group, or in two groups."""
    routers = machine.fabric.routers
    router = np.asarray(machine.fabric.endpoints.router)
    group, row = np.asarray(routers.group)[router], np.asarray(routers.row)[router]
    first = int(rng.integers(machine.endpoints))
    fits = {
        "inter-nodes": router == router[first],
        "inter-blades": (group == group[first]) & (row == row[first]) & (router != router[first]),
        "inter-chassis": (group == group[first]) & (row != row[first]),
        "inter-groups": group != group[first],
    }[place]
    fits = fits & (np.arange(machine.endpoints) != first)
    if not fits.any():
        raise BadRequest(
            f"{machine.fabric.name} has no pair of nodes {place}",
            advice="Use a dragonfly of several groups, rows and columns.",
        )
    return first, int(rng.choice(np.flatnonzero(fits)))


def detours_of(parameters: Parameters, interval_us: float = 0.0, detour_us: float = 0.0) -> packet.Detours | None:
    """Return the hosts' OS noise from `detour_interval_us` (0: none) and `detour_us`, the mean length of a detour."""
    every = read_number(parameters, "detour_interval_us", interval_us, 0.0, 1e9)
    lasts = read_number(parameters, "detour_us", detour_us or every / 100, 0.0, 1e9)
    if every and lasts > every / 2:
        raise BadRequest(f"detours of {lasts:g} us every {every:g} us take half of a host or more")
    return packet.Detours(every * 1e3, lasts * 1e3) if every else None


def ping_pong(
    machine: Machine,
    pair: tuple[int, int],
    size: int,
    mode: int,
    seed: int,
    load_gib_per_s: float,
    stop: Cancelled | None = None,
    detours: packet.Detours | None = None,
) -> PingPong:
    """Run one ping-pong of `size` bytes with uniform background on a quarter of the other endpoints."""
    ops = to_ops([(patterns.make_pattern("pingpong", 2, size, seed), np.array(pair))], [np.full(2, mode, np.uint8)])
    generators = []
    if load_gib_per_s:
        others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(machine.endpoints), pair))
        generators = background_generators(
            machine, "uniform", load_gib_per_s, np.sort(others[: machine.endpoints // 4]), 1
        )
    workload = packet.Workload(
        ops=ops, generators=generators, default_mode=packet.DragonflyMode.ADAPTIVE_0, detours=detours
    )
    result = execute_workload(machine, workload, cancelled=stop, packet_bytes=64, nic_protocol=True, seed=seed)
    raw = result.raw
    packets, flits, latency, stalled = (
        np.asarray(raw[f"nic_{what}"], float)[list(pair)]
        for what in ("request_packets", "request_flits", "latency_ps", "stalled_ps")
    )
    latency_cycles = latency * 1e-12 * NIC_HZ / np.maximum(packets, 1)
    stalls_per_flit = stalled * 1e-12 * NIC_HZ / np.maximum(flits, 1)
    counters = list(zip(latency_cycles.tolist(), stalls_per_flit.tolist(), strict=True))
    return PingPong(
        time_s=result.time_s,
        predicted_s=sum(message_time_s(size, *pair_counters) for pair_counters in counters),
        predicted_without_window_s=sum(
            message_time_without_window_s(size, *pair_counters) for pair_counters in counters
        ),
        latency_cycles=float(latency_cycles[0]),
        stalls_per_flit=float(stalls_per_flit[0]),
        conserved=result.conserved,
    )


def _read_setting(parameters: Parameters, *own: str) -> tuple[int, int, float, Machine]:
    check_names(parameters, ("seed", "threads", "runs", "load_gib_per_s", "topology", *own))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = read_whole_number(parameters, "repeats", read_whole_number(parameters, "runs", 8, 1, 10_000), 1, 10_000)
    load = read_number(parameters, "load_gib_per_s", 1.0, 0.0, 16.0)
    return seed, repeats, load, aries_of(parameters)


def aries_of(parameters: Parameters) -> Machine:
    """Return the dragonfly named by `topology`, with the network cards' protocol."""
    fabric = fabric_of(read_string(parameters, "topology", "dragonfly:4,6,16,24"))
    return build_machine(fabric, "adaptive0", packet_bytes=64, nic_protocol=True, buffer_bytes=BUFFER_BYTES)


class TimeBand(TypedDict):
    """Quartiles of times in microseconds."""

    q1: float
    median: float
    q3: float


def time_quartiles(times_us: list[float]) -> TimeBand:
    """Return quartiles of times in microseconds."""
    first, median, third = np.percentile(times_us, [25, 50, 75]).tolist()
    return {"q1": first, "median": median, "q3": third}


class PingPongFigures(TypedDict):
    """Figures of repeated ping-pongs: times, their quartile dispersion, NIC latency in cycles, stalls per flit, and the model's one-way time."""

    time_us: TimeBand
    qcd_time: float
    qcd_latency: float
    latency_cycles: float
    stalls_per_flit: float
    predicted_one_way_us: float
    conserved: bool
    repeats: int


class ModeFigures(PingPongFigures):
    """The same for a routing mode."""

    mode: str


class ChoiceFigures(ModeFigures):
    """The same for the application's choice, with the share of messages with high bias."""

    high_bias_share: float


class ModelFigures(TypedDict):
    """Correlation of the message model with simulated times, with and without the window."""

    correlation: float
    correlation_without_window: float
    allocations: int


def _summarize_runs(runs: list[PingPong], size: int) -> PingPongFigures:
    times = [run.time_s * 1e6 for run in runs]
    return {
        "time_us": time_quartiles(times),
        "qcd_time": quartile_dispersion(times),
        "qcd_latency": quartile_dispersion([run.latency_cycles for run in runs]),
        "latency_cycles": float(np.mean([run.latency_cycles for run in runs])),
        "stalls_per_flit": float(np.mean([run.stalls_per_flit for run in runs])),
        "predicted_one_way_us": float(
            np.mean([message_time_s(size, r.latency_cycles, r.stalls_per_flit) for r in runs]) * 1e6
        ),
        "conserved": all(run.conserved for run in runs),
        "repeats": len(runs),
    }


def run_fig3(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 3: a 16 KiB ping-pong on one blade, on two blades, two chassis, two groups. Parameters: seed, repeats, load_gib_per_s, topology."""
    seed, repeats, load, machine = _read_setting(parameters, "repeats")

    def compute(case: Parameters, stop: Cancelled) -> list[PingPongFigures]:
        pair = pair_of(machine, case["place"], np.random.default_rng(seed))
        runs = [ping_pong(machine, pair, 16384, MODES["adaptive"], seed + k, load, stop) for k in range(repeats)]
        return [_summarize_runs(runs, 16384)]

    return sweep_cases(
        "desensi-fig3", [{"place": p} for p in PLACES], compute, report, cancelled, parameters, seed=seed
    )


class HostFigures(TypedDict):
    """Times of an all-to-all inside one node, their quartile dispersion, and the flits sent by its NIC (none)."""

    time_us: TimeBand
    qcd_time: float
    request_flits: int
    conserved: bool
    repeats: int


def run_fig4(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 4: an all-to-all of eight ranks on one node over sizes. Its times vary because of the host's detours; the network is not used.

    Parameters: seed, repeats (32), sizes, detour_interval_us (5; 0: no OS noise), detour_us (1), topology.
    """
    check_names(
        parameters, ("seed", "threads", "runs", "repeats", "sizes", "detour_interval_us", "detour_us", "topology")
    )
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = read_whole_number(parameters, "repeats", read_whole_number(parameters, "runs", 32, 4, 10_000), 4, 10_000)
    sizes = [int(s) for s in read_numbers(parameters, "sizes", [128, 1024, 16384, 262144], 1, 1 << 24)]
    detours = detours_of(parameters, 5.0, 1.0)
    machine = aries_of(parameters)

    def compute(case: Parameters, stop: Cancelled) -> list[HostFigures]:
        messages = patterns.make_pattern("alltoall", HOST_RANKS, case["size_bytes"] * (HOST_RANKS - 1), seed)
        ops = to_ops([(messages, np.zeros(HOST_RANKS, np.int64))])
        workload = packet.Workload(ops=ops, default_mode=machine.mode, detours=detours)
        runs = [
            execute_workload(machine, workload, cancelled=stop, packet_bytes=64, nic_protocol=True, seed=seed + k)
            for k in range(repeats)
        ]
        times = [run.time_s * 1e6 for run in runs]
        return [
            {
                "time_us": time_quartiles(times),
                "qcd_time": quartile_dispersion(times),
                "request_flits": int(sum(run.raw["nic_request_flits"].sum() for run in runs)),
                "conserved": all(run.conserved for run in runs),
                "repeats": len(runs),
            }
        ]

    return sweep_cases(
        "desensi-fig4", [{"size_bytes": s} for s in sizes], compute, report, cancelled, parameters, seed=seed
    )


def run_fig5(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 5: dispersion of times and of packet latencies over message sizes, between two groups.

    Parameters: seed, repeats, load_gib_per_s, topology, largest_bytes, detour_interval_us (5; 0: no OS noise), detour_us (1). Times depend also
    on the hosts, latencies only on the network.
    """
    seed, repeats, load, machine = _read_setting(
        parameters, "repeats", "largest_bytes", "detour_interval_us", "detour_us"
    )
    pair = pair_of(machine, "inter-groups", np.random.default_rng(seed))
    detours = detours_of(parameters, 5.0, 1.0)

    def compute(case: Parameters, stop: Cancelled) -> list[PingPongFigures]:
        runs = [
            ping_pong(machine, pair, case["size_bytes"], MODES["adaptive"], seed + k, load, stop, detours)
            for k in range(repeats)
        ]
        return [_summarize_runs(runs, case["size_bytes"])]

    sizes = [128, 1024, 16384, 262144, read_whole_number(parameters, "largest_bytes", 1 << 20, 128, 1 << 24)]
    return sweep_cases(
        "desensi-fig5", [{"size_bytes": s} for s in sizes], compute, report, cancelled, parameters, seed=seed
    )


def run_fig7(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 7: a large ping-pong inside a group and between groups, adaptive and high bias: time, s, L, model. Parameter: size_bytes."""
    seed, repeats, load, machine = _read_setting(parameters, "repeats", "size_bytes")
    size = read_whole_number(parameters, "size_bytes", 1 << 20, 64, 1 << 24)

    def compute(case: Parameters, stop: Cancelled) -> list[PingPongFigures]:
        pair = pair_of(machine, case["place"], np.random.default_rng(seed))
        runs = [ping_pong(machine, pair, size, MODES[case["mode"]], seed + k, load, stop) for k in range(repeats)]
        return [_summarize_runs(runs, size)]

    cases = [{"place": p, "mode": m} for p in ("inter-chassis", "inter-groups") for m in MODES]
    return sweep_cases("desensi-fig7", cases, compute, report, cancelled, parameters, seed=seed)


def run_fig8(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run the ping-pong of figure 8: adaptive, high bias and application-aware, over sizes and two allocations."""
    seed, repeats, load, machine = _read_setting(parameters, "repeats", "largest_bytes")

    def compute(case: Parameters, stop: Cancelled) -> list[ModeFigures]:
        pair, size = pair_of(machine, case["place"], np.random.default_rng(seed)), case["size_bytes"]
        points: list[ModeFigures] = []
        for name, mode in MODES.items():
            runs = [ping_pong(machine, pair, size, mode, seed + k, load, stop) for k in range(repeats)]
            points.append({"mode": name, **_summarize_runs(runs, size)})
        choice = packet.RoutingChoice()
        runs, modes = [], []
        for k in range(repeats):
            modes.append(choice.select(size))
            runs.append(ping_pong(machine, pair, size, modes[-1], seed + k, load, stop))
            if choice.decided:
                choice.observe(runs[-1].latency_cycles, runs[-1].stalls_per_flit)
        share = float(np.mean(np.array(modes) == MODES["high-bias"]))
        chosen: ChoiceFigures = {"mode": "application-aware", "high_bias_share": share, **_summarize_runs(runs, size)}
        return [*points, chosen]

    sizes = (128, 4096, 65536, read_whole_number(parameters, "largest_bytes", 1 << 20, 128, 1 << 24))
    cases = [{"place": p, "size_bytes": s} for p in ("inter-chassis", "inter-groups") for s in sizes]
    return sweep_cases("desensi-fig8", cases, compute, report, cancelled, parameters, seed=seed)


def run_model(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run section 2.4: correlation of equation 2 with simulated ping-pongs over allocations for each size, with the published mean.

    A ping-pong is two messages; each is predicted from the counters of its sending NIC. The result also contains the correlation of equation 1,
    which does not add a latency per 1,024 packets: it is better if the window never fills.

    Parameters: seed, allocations (40), load_gib_per_s, topology, sizes.
    """
    seed, _, load, machine = _read_setting(parameters, "allocations", "sizes")
    allocations = read_whole_number(
        parameters, "allocations", read_whole_number(parameters, "runs", 40, 3, 1000), 3, 1000
    )
    sizes = [int(s) for s in read_numbers(parameters, "sizes", [128, 1024, 16384, 262144, 1 << 20], 1, 1 << 24)]

    def compute(case: Parameters, stop: Cancelled) -> list[ModelFigures]:
        size, runs = case["size_bytes"], []
        for k in range(allocations):
            rng = np.random.default_rng([seed, k])
            pair = pair_of(machine, PLACES[k % len(PLACES)], rng)
            runs.append(ping_pong(machine, pair, size, MODES["adaptive"], seed + k, load, stop))
        rows = [[run.time_s, run.predicted_s, run.predicted_without_window_s] for run in runs]
        correlation = np.atleast_2d(np.corrcoef(rows, rowvar=False))[0]
        return [
            {
                "correlation": float(correlation[1]),
                "correlation_without_window": float(correlation[2]),
                "allocations": allocations,
            }
        ]

    answer = sweep_cases(
        "desensi-model", [{"size_bytes": s} for s in sizes], compute, report, cancelled, parameters, seed=seed
    )
    return {
        **answer,
        "mean_correlation": float(np.mean([p["correlation"] for p in answer["points"]])),
        "published_mean_correlation": published.published_value(
            "desensi2019", "section 2.4", "message model", "correlation"
        )
        / 100,
    }
