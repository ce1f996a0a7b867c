"""Application kinds (De Sensi 2019, figure 10): the dominant communication of each, and the computation in between."""

from __future__ import annotations

import math
from typing import NamedTuple

_GIB = 2**30
#: Highest rate of a node per second. Contention reduces it, so this gives the shortest duration of an exchange.
NODE_BYTES_PER_S = 8e9
#: Rounds, latencies and waits of the shortest exchange, in seconds.
LEAST_S = 1e-5
#: Bytes of a message of the pattern `bully`, and of a barrier.
_BULLY_BYTES, _BARRIER_BYTES = 200_000, 8
#: Patterns in which every rank sends to every other.
_TO_ALL = {"alltoall", "pairwise-alltoall", "ring"}
#: Patterns with twice as many messages: there and back, or two rounds for every other rank.
_TO_ALL_TWICE = {"ring-allreduce", "expert-alltoall"}
#: Messages per rank: one, one per round, or one per neighbour.
_ONE = {
    "binomial-bcast",
    "binomial-reduce",
    "broadcast",
    "transpose",
    "bit-reversal",
    "shift",
    "permutation",
    "incast",
    "pingpong",
}
_ROUNDS = {"recursive-doubling-allreduce", "dissemination-barrier", "allreduce"}
_NEIGHBOURS = {"halo-2d": 4, "halo-3d": 6, "halo-27": 26, "sweep-3d": 24}
#: Messages per rank of all other patterns: neighbours and rounds.
_MOST_A_RANK = 280


def messages_of(pattern: str, ranks: float, bytes_per_rank: float = 0.0) -> float:
    """Return the messages of all ranks together; for some patterns the number increases with the bytes."""
    kind = pattern.partition(":")[0]
    if kind in _TO_ALL:
        return ranks * ranks
    if kind in _TO_ALL_TWICE:
        return 2 * ranks * ranks
    if kind == "hierarchical-allreduce":
        # Two rounds for every other node, at worst with two ranks per node; 28 messages within a node of eight.
        return ranks * (ranks + 28)
    if kind == "tree-allreduce":
        return 2 * ranks
    if kind in _ONE:
        return ranks
    if kind in _ROUNDS:
        return ranks * math.ceil(math.log2(max(ranks, 2))) if math.isfinite(ranks) else math.inf
    if kind in ("barrier", "barrier-with-bully"):
        return ranks * max(bytes_per_rank / _BARRIER_BYTES, _MOST_A_RANK)
    if kind == "bully":
        return ranks * max(bytes_per_rank / _BULLY_BYTES, 1)
    return ranks * _NEIGHBOURS.get(kind, _MOST_A_RANK)


def exchange_s(bytes_per_rank: float) -> float:
    """Return the shortest duration of an exchange, in simulated seconds."""
    return bytes_per_rank / NODE_BYTES_PER_S + LEAST_S


def background_packets(nodes: float, load_gib_per_s: float, lasts_s: float, packet_bytes: float) -> float:
    """Return the number of packets that nodes send alongside an exchange."""
    return nodes * load_gib_per_s * _GIB * lasts_s / packet_bytes


#: Bandwidth of a rank's NIC link: computation is given as a multiple of the time that a step's bytes take on it.
NIC_BYTES_PER_NS = 10.0


class ApplicationKind(NamedTuple):
    """A step: a pattern, a computation that takes `compute` times as long as its bytes on the NIC's link, and all-reduces of 8 bytes."""

    pattern: str
    compute: float = 0.0
    reductions: int = 0

    def compute_ns(self, bytes_per_rank: float) -> float:
        """Return a rank's computing time in a step, in nanoseconds."""
        return self.compute * bytes_per_rank / NIC_BYTES_PER_NS


#: MILC's conjugate gradient exchanges faces, computes and reduces twice per step; halo3d (ember) only exchanges.
APPLICATIONS = {
    "fft": ApplicationKind("alltoall", 1.0),
    "milc": ApplicationKind("halo3d", 4.0, 2),
    "halo3d": ApplicationKind("halo3d"),
    "hpcg": ApplicationKind("halo3d", 4.0, 3),
    "sweep": ApplicationKind("sweep3d", 1.0, 1),
    "amg": ApplicationKind("amg", 2.0, 1),
}
