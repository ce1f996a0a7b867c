"""Figure 5.14 of Taffet 2021: counters multiplied by a factor, for a solver that ends as TFOCS does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.papers_routes.barrier import LEVELS, MTU, SEED
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.recover import Options, build_program
from flitwatch_routing.reconstruction.study import measure_traffic
from flitwatch_simulation.loop.demand import BARRIER_BULLY_EVEN, demand_of

#: A small tree, bytes sent by a bully node, and the largest counter after each factor.
TOPOLOGY, MEGABYTES, LARGEST = "xgft:2;8,8;1,8", 16.0, (0.1, 1.0, 10.0, 100.0)
#: The solver: smoothing, repetitions from the last solution, largest relative step at the end, and iterations of a repetition.
SMOOTHING, REPETITIONS, STEP, MOST = 1.0, 3, 1e-3, 5000


@dataclass(frozen=True)
class Scaled:
    """Relative errors of both jobs' pairs; whether every repetition ended by its last step; (ranks, ranks) of the barrier, rows send, in weighted units."""

    barrier_error: float
    bully_error: float
    ended: bool
    found: NDArray[np.float64]
    sent: NDArray[np.float64]


@cache
def reconstruct_scaled() -> dict[float, Scaled]:
    """Reconstruct a barrier with a bully from mixed counters of packets and bytes, by the largest counter."""
    fabric = fabric_of(TOPOLOGY)
    ports = ftree_tables(fabric)
    demand = demand_of(BARRIER_BULLY_EVEN, fabric, MEGABYTES, 1, SEED)
    nodes = [job.endpoints for job in demand.jobs]
    rng = np.random.default_rng([SEED, 4])
    m, size = measure_traffic(fabric, ports, demand.matrix(MTU), nodes, LEVELS, LEVELS, 1, rng)
    posed = build_program(fabric, ports, m.lanes, m.pairs, m.counters, Options(noise=0.0, estimate=False))
    assert posed is not None, "no traffic"
    truth = size[np.searchsorted(m.pairs.key, posed.pairs.key)]
    rank = np.full(len(fabric.endpoints), -1)
    rank[nodes[0]] = np.arange(len(nodes[0]))
    mine = rank[posed.pairs.src] >= 0
    counters, most = posed.program.target.clone(), float(posed.target.max())
    scaled = {}
    for largest in LARGEST:
        posed.program.target.copy_(counters * (largest / most))
        x, ended = solve_smoothed(posed.program)
        found = x.double().numpy() * (most * posed.scale / largest)
        portions = []
        for values in (found, truth):
            portions.append(np.zeros((len(nodes[0]),) * 2))
            portions[-1][rank[posed.pairs.src[mine]], rank[posed.pairs.dst[mine]]] = values[mine]
        wrong = found - truth
        errors = [float(np.linalg.norm(wrong[job]) / np.linalg.norm(truth[job])) for job in (mine, ~mine)]
        scaled[largest] = Scaled(errors[0], errors[1], ended, portions[0], portions[1])
    return scaled


def solve_smoothed(program: Program) -> tuple[torch.Tensor, bool]:
    """Return the smoothed program's solution, and whether every repetition ended by its last step.

    The method is Auslender and Teboulle's on the dual. It ends when a step is below `STEP` times the larger of one and the dual's norm, which is TFOCS's
    criterion and depends on the scale of the counters.
    """
    centre, _ = program.start()
    factor, ended = program.norm() ** 2 / SMOOTHING, True
    for _ in range(REPETITIONS):
        _, dual = program.start()
        ahead, theta, small = dual, 1.0, False
        for _ in range(MOST):
            between = _mix(dual, ahead, theta)
            ahead = program.dual_step(ahead, program(_minimise(program, centre, between)), 1 / (theta * factor))
            before, dual = dual, _mix(dual, ahead, theta)
            theta = 2 / (1 + (1 + 4 / theta**2) ** 0.5)
            step = [after - earlier for after, earlier in zip(dual, before, strict=True)]
            small = _norm(step) < STEP * max(_norm(dual), 1.0)
            if small:
                break
        ended &= small
        centre = _minimise(program, centre, dual)
    return centre[0], ended


def _minimise(program: Program, centre: Vectors, dual: Vectors) -> Vectors:
    x = [part - gradient / SMOOTHING for part, gradient in zip(centre, program.adjoint(dual), strict=True)]
    return [x[0].clamp_(min=0), *x[1:]]


def _mix(first: Vectors, second: Vectors, share: float) -> Vectors:
    return [(1 - share) * a + share * b for a, b in zip(first, second, strict=True)]


def _norm(parts: Vectors) -> float:
    return float(sum(float((part**2).sum()) for part in parts) ** 0.5)
