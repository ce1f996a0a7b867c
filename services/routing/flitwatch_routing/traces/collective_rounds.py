"""Collectives of a trace as point-to-point messages by rank, in the textbook forms of MPI libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: A signal without data is still a packet.
_SIGNAL_BYTES = 1
#: Bytes of one number.
REDUCED_BYTES = 8
Ints = NDArray[np.int64]
Round = tuple[Ints, Ints, Ints]


@dataclass(frozen=True)
class Call:
    """One rank's call of a collective.

    Attributes
    ----------
    sent_bytes, received_bytes : int
        Bytes of one block: send count and receive count times the sizes of their types.
    sent_to, received_from : tuple of int
        Bytes by peer if the call contains them (all-to-all with counts); else empty.
    """

    rank: int
    ranks: int
    root: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    sent_to: tuple[int, ...] = ()
    received_from: tuple[int, ...] = ()


@dataclass(frozen=True)
class RankRound:
    """Messages that a rank sends and receives in one round: (peer, bytes) each. The next round begins when all are complete."""

    sends: tuple[tuple[int, int], ...] = ()
    receives: tuple[tuple[int, int], ...] = ()


def rounds_of(name: str, call: Call) -> list[RankRound] | None:
    """Return rounds of a collective by its MPI name; None for an unsupported one.

    `MPI_Barrier` disseminates, `MPI_Bcast` and `MPI_Reduce` are binomial trees, `MPI_Allreduce` doubles recursively, `MPI_Allgather` is a ring,
    `MPI_Alltoall` and `MPI_Alltoallv` exchange pairwise, `MPI_Gather` and `MPI_Scatter` send directly to and from the root.
    """
    if (make := _FORMS.get(name)) is None:
        return None
    rounds = make(call)
    trimmed_rounds = [
        RankRound(tuple(m for m in step.sends if m[1] > 0), tuple(m for m in step.receives if m[1] > 0))
        for step in rounds
    ]
    return [step for step in trimmed_rounds if step.sends or step.receives]


def _barrier_rounds(call: Call) -> list[RankRound]:
    n, here = call.ranks, call.rank
    steps = [1 << k for k in range((n - 1).bit_length())]
    return [RankRound((((here + s) % n, _SIGNAL_BYTES),), (((here - s) % n, _SIGNAL_BYTES),)) for s in steps]


def _broadcast_rounds(call: Call) -> list[RankRound]:
    n, place = call.ranks, (call.rank - call.root) % call.ranks
    rounds = []
    for k in range((n - 1).bit_length()):
        reach = 1 << k
        if reach <= place < 2 * reach:
            rounds.append(RankRound(receives=(((place - reach + call.root) % n, call.sent_bytes),)))
        elif place < reach and place + reach < n:
            rounds.append(RankRound(sends=(((place + reach + call.root) % n, call.sent_bytes),)))
    return rounds


def _reduce_rounds(call: Call) -> list[RankRound]:
    return [RankRound(step.receives, step.sends) for step in reversed(_broadcast_rounds(call))]


def all_reduce(nodes: int, size: int = REDUCED_BYTES) -> list[Round]:
    """Return rounds of recursive doubling. Nodes beyond the largest power of two send their data first and get the result at the end."""
    core = 1 << (nodes.bit_length() - 1)
    here, extra = np.arange(core), np.arange(core, nodes)

    def one(src: Ints, dst: Ints) -> Round:
        return src, dst, np.full(src.size, size)

    rounds = [one(extra, extra - core)] if extra.size else []
    rounds += [one(here, here ^ (1 << k)) for k in range(core.bit_length() - 1)]
    return rounds + ([one(extra - core, extra)] if extra.size else [])


@lru_cache(maxsize=8)
def _doubling_pairs(ranks: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    return tuple((src, dst) for src, dst, _ in all_reduce(ranks))


def _allreduce_rounds(call: Call) -> list[RankRound]:
    rounds = []
    for src, dst in _doubling_pairs(call.ranks):
        to, came = dst[src == call.rank].tolist(), src[dst == call.rank].tolist()
        rounds.append(
            RankRound(tuple((peer, call.sent_bytes) for peer in to), tuple((peer, call.sent_bytes) for peer in came))
        )
    return rounds


def _allgather_rounds(call: Call) -> list[RankRound]:
    n, here = call.ranks, call.rank
    step = RankRound((((here + 1) % n, call.sent_bytes),), (((here - 1) % n, call.sent_bytes),))
    return [step] * (n - 1)


def _alltoall_rounds(call: Call) -> list[RankRound]:
    n, here = call.ranks, call.rank
    to, came = call.sent_to or (call.sent_bytes,) * n, call.received_from or (call.sent_bytes,) * n
    return [
        RankRound((((here + k) % n, to[(here + k) % n]),), (((here - k) % n, came[(here - k) % n]),))
        for k in range(1, n)
    ]


def _gather_rounds(call: Call) -> list[RankRound]:
    if call.rank != call.root:
        return [RankRound(sends=((call.root, call.sent_bytes),))]
    return [RankRound(receives=tuple((peer, call.received_bytes) for peer in range(call.ranks) if peer != call.root))]


def _scatter_rounds(call: Call) -> list[RankRound]:
    if call.rank != call.root:
        return [RankRound(receives=((call.root, call.received_bytes),))]
    return [RankRound(sends=tuple((peer, call.sent_bytes) for peer in range(call.ranks) if peer != call.root))]


_FORMS: dict[str, Callable[[Call], list[RankRound]]] = {
    "MPI_Barrier": _barrier_rounds,
    "MPI_Bcast": _broadcast_rounds,
    "MPI_Reduce": _reduce_rounds,
    "MPI_Allreduce": _allreduce_rounds,
    "MPI_Allgather": _allgather_rounds,
    "MPI_Alltoall": _alltoall_rounds,
    "MPI_Alltoallv": _alltoall_rounds,
    "MPI_Gather": _gather_rounds,
    "MPI_Scatter": _scatter_rounds,
}
#: Calls that move data between all ranks of a communicator; unsupported ones are omitted and reported.
COLLECTIVES = {
    *_FORMS,
    *(f"MPI_I{name.removeprefix('MPI_').lower()}" for name in _FORMS),
    *("MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallw", "MPI_Reduce_scatter"),
    *("MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan"),
}
