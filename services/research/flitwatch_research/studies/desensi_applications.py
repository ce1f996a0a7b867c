"""De Sensi 2019, figures 8 to 10: collectives and approximated applications under default routing, high bias and application-aware routing.

Every repeat is a run with its own seed, in which the job repeats its pattern several times. Under application-aware routing each rank has its own
chooser (algorithm 1): before a message, it reads its NIC's counts since its last reading, during the run. All-to-all uses
ADAPTIVE_1 as its default, as in Cray's MPI.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import NIC_HZ, quartile_dispersion
from flitwatch_domain.task_models.applications import APPLICATIONS, ApplicationKind
from flitwatch_research.packet.background import background_generators
from flitwatch_research.studies.desensi import TimeBand, aries_of, detours_of, time_quartiles
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_numbers,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, in_rounds, repeat_messages, to_ops
from flitwatch_simulation.workloads.minighost import all_reduce
from flitwatch_simulation.workloads.placement import place_ranks

ALLOCATIONS = ("contiguous", "random-node")
MODES = ("default", "high-bias", "application-aware")
_HIGH_BIAS = int(packet.DragonflyMode.ADAPTIVE_3)

Maker = Callable[[int, int, int], Messages]


def _make_pattern(name: str) -> Maker:
    return lambda ranks, size, seed: patterns.make_pattern(name, ranks, size, seed)


def _make_step(kind: ApplicationKind) -> Maker:
    """Return a function for one step of an application."""

    def make(ranks: int, size: int, seed: int) -> Messages:
        exchange = patterns.make_pattern(kind.pattern, ranks, size, seed)
        reduced = in_rounds(ranks, all_reduce(ranks) * kind.reductions) if kind.reductions else None
        compute_ns = np.zeros((ranks, exchange.rounds), np.int64)
        compute_ns[:, -1] = round(kind.compute_ns(size))
        worked = Messages(
            ranks,
            exchange.src,
            exchange.dst,
            exchange.size_bytes,
            exchange.send_round,
            exchange.recv_round,
            exchange.rounds,
            compute_ns,
        )
        return worked if reduced is None else worked.then(reduced)

    return make


MICROBENCHMARKS = {
    name: _make_pattern(name) for name in ("allreduce", "alltoall", "barrier", "broadcast", "halo3d", "sweep3d")
}


def sizes_of(name: str, ranks: int, sizes: list[int]) -> list[int]:
    """Return the bytes per rank of a microbenchmark or application. A barrier has no data, so its only size is that of its 8-byte signals."""
    return [8 * (ranks - 1).bit_length()] if name == "barrier" else sizes


MAKERS: dict[str, Maker] = {name: _make_step(kind) for name, kind in APPLICATIONS.items()}
_ALL_TO_ALL = ("alltoall", "fft")


@dataclass(frozen=True)
class Iteration:
    """Time of one pass; L and s of every rank's NIC (arrays [ranks]); share of bytes sent with high bias."""

    time_s: float
    latency_cycles: NDArray[np.float64]
    stalls_per_flit: NDArray[np.float64]
    high_bias_share: float
    conserved: bool


def run_once(
    machine: Machine,
    messages: Messages,
    endpoints: NDArray[np.int64],
    mode: int,
    seed: int,
    load: float,
    stop: Cancelled,
    choice: packet.ChoiceOptions | None = None,
    detours: packet.Detours | None = None,
) -> Iteration:
    """Run the messages once, all under one mode (or CHOOSES), with uniform background on a quarter of the other endpoints."""
    generators = []
    if load:
        others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(machine.endpoints), endpoints))
        neighbours = np.sort(others[: machine.endpoints // 4])
        generators = background_generators(machine, "uniform", load, neighbours, 1)
    sends = messages.src.size
    workload = packet.Workload(
        ops=to_ops([(messages, endpoints)], [np.full(sends, mode, np.uint8)]),
        generators=generators,
        default_mode=packet.DragonflyMode.ADAPTIVE_0,
        choice=choice or packet.ChoiceOptions(),
        detours=detours,
    )
    result = execute_workload(machine, workload, cancelled=stop, packet_bytes=64, nic_protocol=True, seed=seed)
    packets, flits, latency, stalled = (
        np.asarray(result.raw[f"nic_{what}"], float)[endpoints]
        for what in ("request_packets", "request_flits", "latency_ps", "stalled_ps")
    )
    modes = result.raw["chosen_modes"][:sends] if mode >= packet.CHOOSES else np.full(sends, mode)
    return Iteration(
        time_s=result.time_s,
        latency_cycles=latency * 1e-12 * NIC_HZ / np.maximum(packets, 1),
        stalls_per_flit=stalled * 1e-12 * NIC_HZ / np.maximum(flits, 1),
        high_bias_share=float(messages.size_bytes[modes == _HIGH_BIAS].sum() / messages.total_bytes),
        conserved=result.conserved,
    )


def mode_number(mode: str, all_to_all: bool) -> int:
    """Return the number of a send's mode for a routing."""
    if mode == "application-aware":
        return packet.CHOOSES_ALL_TO_ALL if all_to_all else packet.CHOOSES
    if mode == "high-bias":
        return _HIGH_BIAS
    return int(packet.DragonflyMode.ADAPTIVE_1 if all_to_all else packet.DragonflyMode.ADAPTIVE_0)


def run_fig8(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figures 8 and 9 without their ping-pong (`desensi-fig8`): collectives of all sizes on two allocations with three routings.

    Parameters: as in `run_fig10`, with `patterns` instead of `applications`; sizes: bytes per rank, [1024, 16384, 131072] by default; a barrier has none.
    """
    pattern_names = parameters.get("patterns", list(MICROBENCHMARKS))
    if not isinstance(pattern_names, list) or not set(pattern_names) <= set(MICROBENCHMARKS):
        raise BadRequest(f"patterns is {pattern_names!r}", advice=f"Choose from {', '.join(MICROBENCHMARKS)}.")
    return _run_cases(
        "desensi-fig8-collectives",
        {name: MICROBENCHMARKS[name] for name in pattern_names},
        [1024, 16384, 131072],
        parameters,
        report,
        cancelled,
    )


def run_fig10(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run figure 10: approximated applications with their computation, on two allocations with three routings.

    Parameters: seed, repeats (4), iterations of the pattern in a run (4), ranks (64), sizes: bytes per rank and iteration ([8192, 32768]),
    load_gib_per_s (1), latency_factor and stall_factor of the choice (0.8 and 1.5), detour_interval_us and detour_us of the hosts (0: no OS noise),
    topology, applications.
    """
    application_names = parameters.get("applications", list(APPLICATIONS))
    if not isinstance(application_names, list) or not set(application_names) <= set(APPLICATIONS):
        raise BadRequest(f"applications is {application_names!r}", advice=f"Choose from {', '.join(APPLICATIONS)}.")
    makers = {name: MAKERS[name] for name in application_names}
    return _run_cases("desensi-fig10", makers, [8192, 32768], parameters, report, cancelled)


_OWN = ("repeats", "iterations", "ranks", "sizes", "load_gib_per_s", "latency_factor", "stall_factor", "topology")
DETOURS = ("detour_interval_us", "detour_us")


def _run_cases(
    name: str,
    makers: dict[str, Maker],
    usual_sizes: list[float],
    parameters: Parameters,
    report: Report,
    cancelled: Cancelled,
) -> Parameters:
    which = "patterns" if name == "desensi-fig8-collectives" else "applications"
    check_names(parameters, ("seed", "threads", "runs", which, *_OWN, *DETOURS))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = read_whole_number(parameters, "repeats", read_whole_number(parameters, "runs", 4, 1, 10_000), 1, 10_000)
    iterations = read_whole_number(parameters, "iterations", 4, 1, 1000)
    ranks = read_whole_number(parameters, "ranks", 64, 2, 100_000)
    sizes = [int(value) for value in read_numbers(parameters, "sizes", usual_sizes, 64, 1e8)]
    load = read_number(parameters, "load_gib_per_s", 1.0, 0.0, 16.0)
    choice = packet.ChoiceOptions(
        read_number(parameters, "latency_factor", 0.8, 0.01, 100.0),
        read_number(parameters, "stall_factor", 1.5, 0.01, 100.0),
    )
    detours = detours_of(parameters)
    machine = aries_of(parameters)

    def compute(case: Parameters, stop: Cancelled) -> list[ApplicationFigures]:
        messages = repeat_messages(makers[case["application"]](ranks, case["size_bytes"], seed), iterations)
        endpoints = place_ranks(machine.fabric, ranks, case["allocation"], np.random.default_rng(seed))
        points: list[ApplicationFigures] = []
        usual_us = None
        for mode in MODES:
            number_of = mode_number(mode, case["application"] in _ALL_TO_ALL)
            runs = [
                run_once(machine, messages, endpoints, number_of, seed + k, load, stop, choice, detours)
                for k in range(repeats)
            ]
            figures = _summarize_mode(mode, runs, iterations)
            usual_us = figures["time_us"]["median"] if usual_us is None else usual_us
            points.append({**figures, "over_default": figures["time_us"]["median"] / usual_us})
        return points

    cases = [
        {"application": name, "allocation": allocation, "size_bytes": size}
        for name in makers
        for allocation in ALLOCATIONS
        for size in sizes_of(name, ranks, sizes)
    ]
    return sweep_cases(name, cases, compute, report, cancelled, parameters, seed=seed, ranks=ranks)


class ModeSummary(TypedDict):
    """Figures of an application's repeats: times of an iteration, their quartile dispersion, mean NIC latency in cycles,
    stalls per flit, and the share sent with high bias."""

    mode: str
    time_us: TimeBand
    qcd_time: float
    latency_cycles: float
    stalls_per_flit: float
    high_bias_share: float
    conserved: bool
    repeats: int


class ApplicationFigures(ModeSummary):
    """The same, with the median relative to default routing, as in the figures."""

    over_default: float


def _summarize_mode(mode: str, runs: list[Iteration], iterations: int) -> ModeSummary:
    times = [run.time_s * 1e6 / iterations for run in runs]
    return {
        "mode": mode,
        "time_us": time_quartiles(times),
        "qcd_time": quartile_dispersion(times),
        "latency_cycles": float(np.mean([run.latency_cycles.mean() for run in runs])),
        "stalls_per_flit": float(np.mean([run.stalls_per_flit.mean() for run in runs])),
        "high_bias_share": float(np.mean([run.high_bias_share for run in runs])),
        "conserved": all(run.conserved for run in runs),
        "repeats": len(runs),
    }
