"""Section 1 and 2 of Hoefler 2009 on the packet engine: OS noise alongside network noise (figure 1), and the microbenchmark (figures 3 to 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, repeat_messages, to_ops

Floats = NDArray[np.float64]
#: Figure 1: a time slice, and the cases.
SLICE_NS, SOURCES = 2000, ("noiseless", "OS noise", "network noise")
#: The benchmark: bytes of the measured collective and of the perturbing messages, measured repetitions, and time for the perturbation to spread.
COLLECTIVE_BYTES, PERTURBING_BYTES, REPETITIONS, WARM_UP_NS = 8, 10 << 20, 10, 100_000
PACKET_BYTES, SEED = 2048, 1
#: A fat tree of CHiC's size and bisection from 24-port switches, and the data rate of its 4x SDR InfiniBand: 10 Gbit/s, of which 8b/10b coding leaves eight tenths.
FAT_TREE, SDR_BPS = "xgft:3;12,12,4;1,12,2;1,1,6", 8e9


def run_source(source: str) -> Floats:
    """Return the slices after which each of figure 1's four processes ends.

    Each computes one slice. The first then sends to the second and, a slice later, to the third; the second sends on to the fourth. A message takes about two slices. OS noise stops the second process for two slices after it has received. Network noise is a burst from three other nodes on the second one's link.
    """
    # Five leaf switches with two nodes each, of which four have a process. A path has four links, which together take two slices.
    fabric = fabric_of("xgft:2;2,5;1,1")
    machine = build_machine(fabric, "ftree", packet_bytes=64, credit_delay_ns=SLICE_NS / 2)
    rounds = 4
    compute = np.zeros((4, rounds), np.int64)
    compute[:, 0], compute[0, 1] = SLICE_NS, SLICE_NS
    if source == "OS noise":
        compute[1, 2] = 2 * SLICE_NS
    messages = Messages(
        4,
        src=np.array([0, 0, 1]),
        dst=np.array([1, 2, 3]),
        size_bytes=np.full(3, 8),
        send_round=np.array([1, 2, 3]),
        recv_round=np.array([2, 2, 3]),
        rounds=rounds,
        compute_ns=compute,
    )
    generators = []
    if source == "network noise":
        line_bytes_per_ns = machine.terminal_bytes_per_s / 1e9
        generators = [
            packet.Generator(sender, [3], 64, int(8 * SLICE_NS * line_bytes_per_ns), 0.0, False, job=1)
            for sender in (5, 7, 8)
        ]
    workload = packet.Workload(
        ops=to_ops([(messages, np.array([0, 2, 4, 6]))]), generators=generators, default_mode=machine.mode
    )
    result = execute_workload(machine, workload, packet_bytes=64, seed=SEED)
    return np.asarray(result.raw["rank_end_ps"], float)[:4] / (1e3 * SLICE_NS)


@dataclass(frozen=True)
class Benchmark:
    """Microseconds of an 8-byte allreduce, by random split of the nodes, without and with the perturbation."""

    quiet_us: Floats
    perturbed_us: Floats

    @property
    def slowdown(self) -> float:
        """Mean time with the perturbation over that without, over the splits."""
        return float((self.perturbed_us / self.quiet_us).mean())


def measure_benchmark(machine: Machine, nodes: NDArray[np.int64], ratio: float, splits: int) -> Benchmark:
    """Run the microbenchmark: each random split of the nodes has its perturbing part exchange large messages in a random permutation, and the rest the allreduce."""
    rng, times = np.random.default_rng(SEED), []
    for split in range(splits):
        order = rng.permutation(nodes)
        perturbing, measuring = np.split(order, [round(ratio * len(nodes))])
        times.append([_time_allreduce(machine, measuring, part, split) for part in (perturbing[:0], perturbing)])
    quiet, perturbed = np.array(times).T
    return Benchmark(quiet, perturbed)


def _time_allreduce(machine: Machine, measuring: NDArray[np.int64], perturbing: NDArray[np.int64], seed: int) -> float:
    messages = repeat_messages(patterns.make_pattern("allreduce", len(measuring), 64, SEED), REPETITIONS + 1)
    # The first repetition is the warm-up.
    compute = np.zeros(messages.rounds, np.int64)
    compute[messages.rounds // (REPETITIONS + 1) - 1] = WARM_UP_NS
    messages = replace(messages, size_bytes=np.full_like(messages.size_bytes, COLLECTIVE_BYTES), compute_ns=compute)
    # In a random order, each sending to the next is a random permutation.
    generators = [
        packet.Generator(int(sender), [int(peer)], PERTURBING_BYTES, poisson=False, job=1)
        for sender, peer in zip(perturbing, np.roll(perturbing, -1), strict=True)
    ]
    workload = packet.Workload(ops=to_ops([(messages, measuring)]), generators=generators, default_mode=machine.mode)
    result = execute_workload(machine, workload, packet_bytes=PACKET_BYTES, seed=seed)
    ends_us = np.asarray(result.raw["rank_end_ps"], float)[: len(measuring)] / 1e6
    return float(ends_us.max() - WARM_UP_NS / 1e3) / REPETITIONS


def build_benchmark_machine(topology: str = FAT_TREE) -> Machine:
    """Return the machine with static routes and SDR, as CHiC's InfiniBand, or with dimension order on a torus."""
    fabric = fabric_of(topology)
    if topology.startswith("torus"):
        return build_machine(fabric, "dor", packet_bytes=PACKET_BYTES)
    links = replace(fabric.links, bandwidth_bps=np.full(len(fabric.links), SDR_BPS))
    return build_machine(replace(fabric, links=links), "ftree", packet_bytes=PACKET_BYTES)


def notch(times: Floats) -> tuple[float, float]:
    """Return the ends of a box plot's notch: the median and 1.57 interquartile ranges over the root of the sample's size. Samples whose notches do not overlap differ with 95 % confidence."""
    first, median, third = np.percentile(times, [25, 50, 75])
    half = 1.57 * (third - first) / np.sqrt(len(times))
    return float(median - half), float(median + half)
