"""Collectives of machine learning as messages in rounds: ring, tree and two-level all-reduce, and the all-to-all of experts.

The ring sends the minimum (Patarasu and Yuan, JPDC 2009). In two levels it runs within nodes first, like the hierarchical all-reduce of NCCL and Horovod.
Experts receive their tokens and send them back, as in GShard (Lepikhin et al., ICLR 2021).
"""

from __future__ import annotations

import numpy as np

from flitwatch_simulation.workloads.messages import Ints, Messages, in_rounds

#: Ranks per node if they divide all ranks: the number of accelerators in a current server.
NODE_RANKS = 8

_Round = tuple[Ints, Ints, int]


def ring_allreduce(ranks: int, size: int) -> Messages:
    """Return 2 (n - 1) rounds in which every rank sends a piece to the next: first reduce-scatter, then all-gather."""
    here = np.arange(ranks)
    rounds = 2 * (ranks - 1)
    return in_rounds(ranks, [(here, (here + 1) % ranks, _piece_bytes(size, rounds))] * rounds)


def tree_allreduce(ranks: int, size: int) -> Messages:
    """Return a binomial tree to rank 0 and back with whole vectors: 2 ceil(log2 n) rounds, with 2 (n - 1) vectors in total."""
    whole = max(1, round(size * ranks / (2 * (ranks - 1))))
    up: list[_Round] = []
    for k in range((ranks - 1).bit_length()):
        sender = np.arange(1 << k, ranks, 2 << k)
        up.append((sender, sender - (1 << k), whole))
    down = [(dst, src, whole) for src, dst, _ in reversed(up)]
    return in_rounds(ranks, up + down)


def hierarchical_allreduce(ranks: int, size: int) -> Messages:
    """Return a ring within each node of g ranks, then between nodes among corresponding ranks, then within nodes again.

    g is the largest number up to `NODE_RANKS` that divides `ranks`. Every rank sends as much as in one ring over all ranks. Only
    the middle part leaves the node: with m nodes, the share (m - 1) / (n - 1).
    """
    node = next(g for g in range(min(NODE_RANKS, ranks), 0, -1) if ranks % g == 0)
    nodes = ranks // node
    here = np.arange(ranks)
    within = here // node * node + (here % node + 1) % node
    between = (here + node) % ranks
    # For a vector of V bytes, a rank sends V / g per round within a node and V / n per round between nodes: 2 V (n - 1) / n in total.
    small = _piece_bytes(size, 2 * (ranks - 1))
    inner: list[_Round] = [(here, within, small * nodes)] * (node - 1)
    outer: list[_Round] = [(here, between, small)] * (2 * (nodes - 1))
    return in_rounds(ranks, inner + outer + inner)


def expert_alltoall(ranks: int, size: int) -> Messages:
    """Return two pairwise exchanges: every rank sends equal parts to the experts of all others, which send the same amount back."""
    here = np.arange(ranks)
    part = _piece_bytes(size, 2 * (ranks - 1))
    out: list[_Round] = [(here, (here + k) % ranks, part) for k in range(1, ranks)]
    back: list[_Round] = [(dst, src, part) for src, dst, _ in out]
    return in_rounds(ranks, out + back)


def _piece_bytes(size: int, rounds: int) -> int:
    return max(1, round(size / rounds))
