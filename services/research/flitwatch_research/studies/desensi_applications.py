"""De Sensi 2019, figures 8 to 10: collectives and applications in kind, under default routing, high bias and application-aware routing.

Every iteration is a run with its own seed. Under application-aware routing each rank has its own chooser (algorithm 1), which sees its messages one
by one and, after an iteration, what its own NIC counted. All-to-all takes ADAPTIVE_1 for its default, as Cray's MPI does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import NIC_HZ, quartile_dispersion
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies.desensi import TimeBand, quartiles
from flitwatch_research.studies.packet_common import known, number, sweep, text, whole
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.background import background_generators
from flitwatch_simulation.packet.machine import Machine, build
from flitwatch_simulation.packet.run import execute
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, to_ops
from flitwatch_simulation.workloads.placement import place

#: Communication of the applications of figures 9 and 10, by the pattern that dominates it: transposes of an FFT, the four-dimensional
#: neighbours of a lattice code (here three), wavefronts.
APPLICATIONS = {"fft": "alltoall", "milc": "halo3d", "sweep": "sweep3d", "amg": "amg"}
MICROBENCHMARKS = ("allreduce", "alltoall", "barrier", "broadcast", "halo3d", "sweep3d")
ALLOCATIONS = ("contiguous", "random-node")
MODES = ("default", "high-bias", "application-aware")
_HIGH_BIAS = int(packet.DragonflyMode.ADAPTIVE_3)


@dataclass(frozen=True)
class Iteration:
    """Time of one iteration; L and s of every rank's NIC (arrays [ranks]); share of bytes that went with high bias."""

    time_s: float
    latency_cycles: NDArray[np.float64]
    stalls_per_flit: NDArray[np.float64]
    high_bias_share: float
    conserved: bool


def iterate(
    machine: Machine,
    messages: Messages,
    endpoints: NDArray[np.int64],
    modes: NDArray[np.uint8],
    seed: int,
    load: float,
    stop: Cancelled,
) -> Iteration:
    """Run the messages once, each under its own mode, beside uniform background on a quarter of the other endpoints."""
    generators = []
    if load:
        others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(machine.endpoints), endpoints))
        beside = np.sort(others[: machine.endpoints // 4])
        generators = background_generators(machine, "uniform", load, beside, 1)
    workload = packet.Workload(
        ops=to_ops([(messages, endpoints)], [modes]),
        generators=generators,
        default_mode=packet.DragonflyMode.ADAPTIVE_0,
    )
    result = execute(machine, workload, cancelled=stop, packet_bytes=64, nic_protocol=True, seed=seed)
    packets, flits, latency, stalled = (
        np.asarray(result.raw[f"nic_{what}"], float)[endpoints]
        for what in ("request_packets", "request_flits", "latency_ps", "stalled_ps")
    )
    high = messages.size_bytes[modes == _HIGH_BIAS].sum() / messages.total_bytes
    return Iteration(
        time_s=result.time_s,
        latency_cycles=latency * 1e-12 * NIC_HZ / np.maximum(packets, 1),
        stalls_per_flit=stalled * 1e-12 * NIC_HZ / np.maximum(flits, 1),
        high_bias_share=float(high),
        conserved=result.conserved,
    )


class RoutingChoices:
    """Algorithm 1 at every rank of one job."""

    def __init__(self, ranks: int, all_to_all: bool) -> None:
        self._choosers = [packet.RoutingChoice() for _ in range(ranks)]
        self._all_to_all = all_to_all

    def modes(self, messages: Messages) -> NDArray[np.uint8]:
        """Mode of each message, in the order in which its source sends them."""
        chosen = np.zeros(messages.src.size, np.uint8)
        for m in np.argsort(messages.send_round, kind="stable"):
            chosen[m] = self._choosers[messages.src[m]].select(int(messages.size_bytes[m]), self._all_to_all)
        return chosen

    def observe(self, seen: Iteration) -> None:
        """What the NICs counted during the iteration."""
        for rank, chooser in enumerate(self._choosers):
            if chooser.decided and seen.latency_cycles[rank] > 0:
                chooser.observe(float(seen.latency_cycles[rank]), float(seen.stalls_per_flit[rank]))


def run_fig8(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Figure 8 without its ping-pong (`desensi-fig8`): collectives on two allocations. Parameters as `run_fig10`, with `patterns`."""
    wanted = parameters.get("patterns", list(MICROBENCHMARKS))
    if not isinstance(wanted, list) or not set(wanted) <= set(MICROBENCHMARKS):
        raise BadRequest(f"patterns is {wanted!r}", advice=f"Choose from {', '.join(MICROBENCHMARKS)}.")
    return _study("desensi-fig8-collectives", {name: name for name in wanted}, parameters, report, cancelled)


def run_fig10(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Figures 9 and 10: applications in kind on two allocations, three ways to route.

    Parameters: seed, repeats (4), ranks (64: figure 10; 256: figure 9), kbytes a rank (32), load_gib_per_s (1), topology, applications.
    """
    wanted = parameters.get("applications", list(APPLICATIONS))
    if not isinstance(wanted, list) or not set(wanted) <= set(APPLICATIONS):
        raise BadRequest(f"applications is {wanted!r}", advice=f"Choose from {', '.join(APPLICATIONS)}.")
    return _study("desensi-fig10", {name: APPLICATIONS[name] for name in wanted}, parameters, report, cancelled)


def _study(
    name: str, pattern_of: dict[str, str], parameters: Parameters, report: Report, cancelled: Cancelled
) -> Parameters:
    which = "patterns" if name == "desensi-fig8-collectives" else "applications"
    known(parameters, ("seed", "threads", "runs", "repeats", "ranks", "kbytes", "load_gib_per_s", "topology", which))
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = whole(parameters, "repeats", whole(parameters, "runs", 4, 1, 10_000), 1, 10_000)
    ranks = whole(parameters, "ranks", 64, 2, 100_000)
    size = int(number(parameters, "kbytes", 32, 0.064, 1e5) * 1000)
    load = number(parameters, "load_gib_per_s", 1.0, 0.0, 16.0)
    fabric = fabric_of(text(parameters, "topology", "dragonfly:4,6,16,24"))
    machine = build(fabric, "adaptive0", packet_bytes=64, nic_protocol=True)

    def compute(case: Parameters, stop: Cancelled) -> list[ApplicationFigures]:
        pattern = pattern_of[case["application"]]
        messages = patterns.make(pattern, ranks, size, seed)
        endpoints = place(machine.fabric, ranks, case["allocation"], np.random.default_rng(seed))
        all_to_all = pattern == "alltoall"
        usual = packet.DragonflyMode.ADAPTIVE_1 if all_to_all else packet.DragonflyMode.ADAPTIVE_0
        choosers = RoutingChoices(ranks, all_to_all)
        runs = []
        for k in range(repeats):
            if case["mode"] == "application-aware":
                modes = choosers.modes(messages)
            else:
                modes = np.full(messages.src.size, _HIGH_BIAS if case["mode"] == "high-bias" else usual, np.uint8)
            runs.append(iterate(machine, messages, endpoints, modes, seed + k, load, stop))
            choosers.observe(runs[-1])
        return [_summary(runs)]

    cases = [{"application": a, "allocation": w, "mode": m} for a in pattern_of for w in ALLOCATIONS for m in MODES]
    return sweep(name, cases, compute, report, cancelled, parameters, seed=seed, ranks=ranks)


class ApplicationFigures(TypedDict):
    """What the repeats of an application say: times, their quartile dispersion, mean NIC latency in cycles, stalls per flit, and the share with high bias."""

    time_us: TimeBand
    qcd_time: float
    latency_cycles: float
    stalls_per_flit: float
    high_bias_share: float
    conserved: bool
    repeats: int


def _summary(runs: list[Iteration]) -> ApplicationFigures:
    times = [run.time_s * 1e6 for run in runs]
    return {
        "time_us": quartiles(times),
        "qcd_time": quartile_dispersion(times),
        "latency_cycles": float(np.mean([run.latency_cycles.mean() for run in runs])),
        "stalls_per_flit": float(np.mean([run.stalls_per_flit.mean() for run in runs])),
        "high_bias_share": float(np.mean([run.high_bias_share for run in runs])),
        "conserved": all(run.conserved for run in runs),
        "repeats": len(runs),
    }
