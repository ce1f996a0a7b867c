"""miniGhost's 27-point stencil as messages between nodes (Taffet 2021, section 2.4.2, figure 2.8).

Ranks are on a grid without periodic boundaries. A variable's boundary is exchanged axis after axis (y, x, z: both neighbours, the higher first), because
faces forward edges and corners: six messages thus serve 26 neighbours. Traffic between the ranks of two nodes is one message.

bspma : exchange all variables at once; then for each the stencil and an all-reduce
svaf : for each variable the exchange, the stencil and an all-reduce
svafp : for each variable the exchange and the stencil; the all-reduces are at the end of the time step
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flitwatch_domain.errors import BadRequest
from flitwatch_routing.traces.collective_rounds import Round, all_reduce
from flitwatch_simulation.workloads.messages import Ints, Messages, in_rounds

STRATEGIES = ("bspma", "svaf", "svafp")
#: The exchange's axes in order; x is axis 0.
AXES = (1, 0, 2)


@dataclass(frozen=True)
class Faces:
    """Traffic of one variable's exchange in one direction: pairs of nodes, and ranks' faces between them."""

    axis: int
    sign: int
    src: Ints
    dst: Ints
    count: Ints


def faces_of(shape: tuple[int, ...], node_of_rank: Ints) -> list[Faces]:
    """Return six directions in the exchange's order, without traffic inside a node; x is fastest in the numbering of ranks."""
    ranks = np.arange(int(np.prod(shape)))
    place = np.array(np.unravel_index(ranks, shape, order="F"))
    nodes = int(node_of_rank.max()) + 1
    faces = []
    for axis in AXES:
        for sign in (1, -1):
            there = place.copy()
            there[axis] += sign
            inside = (there[axis] >= 0) & (there[axis] < shape[axis])
            src = node_of_rank[ranks[inside]]
            dst = node_of_rank[np.ravel_multi_index(tuple(there[:, inside]), shape, order="F")]
            pair, count = np.unique(src[src != dst] * nodes + dst[src != dst], return_counts=True)
            faces.append(Faces(axis, sign, pair // nodes, pair % nodes, count))
    return faces


def minighost_messages(
    faces: list[Faces],
    nodes: int,
    strategy: str,
    variables: int,
    face_bytes: float,
    compute_ns: float = 0.0,
    imbalance: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Messages:
    """Return the messages of one time step.

    face_bytes : bytes of one rank's face of one variable
    compute_ns : time of the stencil on one variable
    imbalance : relative standard deviation of this time over nodes and variables (needs `rng`)

    Raises
    ------
    BadRequest
        The strategy is unknown.
    """
    if strategy not in STRATEGIES:
        raise BadRequest(f"unknown strategy {strategy!r}", advice=f"Use {', '.join(STRATEGIES)}.")
    rounds: list[Round] = []
    computed: list[int] = []  # rounds followed by a stencil

    def exchange(times: int) -> None:
        for axis in AXES:
            both = [face for face in faces if face.axis == axis]
            size = np.maximum(np.rint(np.concatenate([face.count for face in both]) * face_bytes * times), 1)
            rounds.append(
                (np.concatenate([face.src for face in both]), np.concatenate([face.dst for face in both]), size)
            )

    if strategy == "bspma":
        exchange(variables)
    for _ in range(variables):
        if strategy != "bspma":
            exchange(1)
        computed.append(len(rounds) - 1)
        if strategy != "svafp":
            rounds += all_reduce(nodes)
    if strategy == "svafp":
        rounds += all_reduce(nodes) * variables
    noise = np.zeros((nodes, variables)) if rng is None else rng.normal(0, imbalance, (nodes, variables))
    compute = np.zeros((nodes, len(rounds)), np.int64)
    compute[:, computed] = np.maximum(np.rint(compute_ns * (1 + noise)), 0)
    return in_rounds(nodes, rounds, compute)
