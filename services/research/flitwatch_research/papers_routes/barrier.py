"""Section 5.4.2: a barrier's small messages with a concurrent bully, reconstructed from counters of bytes and of mixed packets and bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import measure_traffic
from flitwatch_simulation.loop.demand import BARRIER_BULLY_EVEN, demand_of

SEED, LEVELS, MTU = 1, 5, 4096.0
#: Bytes sent by a bully node, as published (400 rounds of messages of 200 KB); they determine the number of barriers.
MEGABYTES = 320.0
#: Upper left portion in figure 5.15: its side, and its file.
SHOWN, BARRIER_PORTION = 256, Path("docs/papers-routes/barrier.npz")


@dataclass(frozen=True)
class Barrier:
    """error, barrier_error : relative errors of all pairs and of the barrier's pairs;  sent, found : (ranks, ranks) of the barrier, rows send, in weighted units"""

    error: float
    barrier_error: float
    seconds: float
    iterations: int
    converged: bool
    sent: NDArray[np.float32]
    found: NDArray[np.float32]


def reconstruct_barrier(topology: str, megabytes: float, mixed: bool, limit_s: float, device: str = "cpu") -> Barrier:
    """Reconstruct both jobs on ftree's routes with five service levels on five lanes. mixed: counters include packets."""
    fabric = fabric_of(topology)
    ports = ftree_tables(fabric)
    demand = demand_of(BARRIER_BULLY_EVEN, fabric, megabytes, 1, SEED)
    nodes = [job.endpoints for job in demand.jobs]
    (timed,) = [number for number, job in enumerate(demand.jobs) if job.timed]
    matrix, rng = demand.matrix(MTU if mixed else None), np.random.default_rng([SEED, 4])
    m, size = measure_traffic(fabric, ports, matrix, nodes, LEVELS, LEVELS, 1, rng)
    began = time.monotonic()
    options = Options("od", device, time_limit_s=limit_s, estimate=False)
    estimate = reconstruct_matrix(fabric, ports, m.lanes, m.pairs, m.counters, options)
    seconds = time.monotonic() - began
    guess = np.zeros(len(size))
    guess[np.searchsorted(m.pairs.key, estimate.pairs.key)] = estimate.size
    rank = np.full(len(fabric.endpoints), -1)
    rank[nodes[timed]] = np.arange(len(nodes[timed]))
    mine = rank[m.pairs.src] >= 0
    parts = []
    for values in (size, guess):
        part = np.zeros((len(nodes[timed]),) * 2, np.float32)
        part[rank[m.pairs.src[mine]], rank[m.pairs.dst[mine]]] = values[mine]
        parts.append(part)
    wrong = guess - size
    return Barrier(
        float(np.linalg.norm(wrong) / np.linalg.norm(size)),
        float(np.linalg.norm(wrong[mine]) / np.linalg.norm(size[mine])),
        seconds,
        estimate.iterations,
        estimate.converged,
        parts[0],
        parts[1],
    )


def keep_barrier_portions(path: Path, sent: NDArray[np.float32], found: NDArray[np.float32]) -> None:
    """Store both portions for the picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, sent=sent, found=found)
