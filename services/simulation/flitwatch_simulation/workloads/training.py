"""Collectives of machine learning as messages in rounds: all-reduce by ring, by tree and in two levels, and the all-to-all of experts.

The ring sends as little as can be (Patarasu and Yuan, JPDC 2009); in two levels it runs within nodes first, as NCCL's and Horovod's hierarchical all-reduce;
experts get their tokens and send them back, as in GShard (Lepikhin et al., ICLR 2021).
"""

from __future__ import annotations

import numpy as np

from flitwatch_simulation.workloads.messages import Ints, Messages, in_rounds

#: Ranks of a node, where they divide all ranks: the accelerators of a server of today.
NODE_RANKS = 8

_Round = tuple[Ints, Ints, int]


def ring_allreduce(ranks: int, size: int) -> Messages:
    """2 (n - 1) rounds, and in each one every rank sends a piece to the next: first the sums are made, then they go round."""
    here = np.arange(ranks)
    rounds = 2 * (ranks - 1)
    return in_rounds(ranks, [(here, (here + 1) % ranks, _piece_bytes(size, rounds))] * rounds)


def tree_allreduce(ranks: int, size: int) -> Messages:
    """Return a binomial tree to rank 0 and back, of whole vectors: 2 ceil(log2 n) rounds, in which 2 (n - 1) vectors are sent."""
    whole = max(1, round(size * ranks / (2 * (ranks - 1))))
    up: list[_Round] = []
    for k in range((ranks - 1).bit_length()):
        sender = np.arange(1 << k, ranks, 2 << k)
        up.append((sender, sender - (1 << k), whole))
    down = [(dst, src, whole) for src, dst, _ in reversed(up)]
    return in_rounds(ranks, up + down)


def hierarchical_allreduce(ranks: int, size: int) -> Messages:
    """Ring within each node of g ranks, then between nodes among ranks of one place, then within nodes again.

    g is the largest number up to `NODE_RANKS` that divides `ranks`. Every rank sends as much as in one ring over all, and only
    the middle part leaves the node: (m - 1) / (n - 1) of it, of m nodes.
    """
    node = next(g for g in range(min(NODE_RANKS, ranks), 0, -1) if ranks % g == 0)
    nodes = ranks // node
    here = np.arange(ranks)
    within = here // node * node + (here % node + 1) % node
    between = (here + node) % ranks
    # Of a vector of V bytes a rank sends V / g in a round within, V / n in one between: 2 V (n - 1) / n in all.
    small = _piece_bytes(size, 2 * (ranks - 1))
    inner: list[_Round] = [(here, within, small * nodes)] * (node - 1)
    outer: list[_Round] = [(here, between, small)] * (2 * (nodes - 1))
    return in_rounds(ranks, inner + outer + inner)


def expert_alltoall(ranks: int, size: int) -> Messages:
    """Return every rank sends equal parts to the experts of all others, and they send as much back: two pairwise exchanges."""
    here = np.arange(ranks)
    part = _piece_bytes(size, 2 * (ranks - 1))
    out: list[_Round] = [(here, (here + k) % ranks, part) for k in range(1, ranks)]
    back: list[_Round] = [(dst, src, part) for src, dst, _ in out]
    return in_rounds(ranks, out + back)


def _piece_bytes(size: int, rounds: int) -> int:
    return max(1, round(size / rounds))
