"""Flows between endpoints. A flow has ends and a rate but no owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flitwatch_twin.machine import IntArray
from flitwatch_twin.users import Exchange

#: Peers per node in an all-to-all exchange: enough for an even load on a router, few enough for fast routing.
ALL_TO_ALL_PEERS = 12


@dataclass(frozen=True, eq=False)
class Pattern:
    """Flows that change together: int32[F] endpoints and each flow's share of one node's unit rate."""

    src: IntArray
    dst: IntArray
    share: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flows:
    """Load offered to the fabric: P patterns and the rate of each in bytes per second per unit share (float64[P])."""

    patterns: tuple[Pattern, ...]
    rate: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FabricState:
    """State of the fabric in one step of `dt_s`.

    Attributes
    ----------
    link_bytes : float64[L]; carried by each link of the fabric, terminals included.
    link_utilisation : float64[L]; offered load over capacity (above 1 if more is offered than fits).
    link_wait : float64[L]; mean waiting over service time of the link's traffic (the stall curve).
    accepted : float64[P]; share of each pattern's offered rate that was carried.
    """

    dt_s: float
    link_bytes: NDArray[np.float64]
    link_utilisation: NDArray[np.float64]
    link_wait: NDArray[np.float64]
    accepted: NDArray[np.float64]


class FabricModel(Protocol):
    """Converts flows to loads and waiting. The twin is independent of the implementation."""

    def step(self, flows: Flows, dt_s: float) -> FabricState:
        """Carry `flows` for `dt_s` seconds."""
        ...

    def release(self, pattern: Pattern) -> None:
        """Drop the stored data of a pattern that is no longer used."""
        ...


def exchange_pattern(endpoints: IntArray, exchange: int, rng: np.random.Generator) -> Pattern | None:
    """Return the flows among a job's endpoints (rank order); None for a job of one node.

    Neighbour exchange is a three-dimensional halo over the ranks, reduction a recursive doubling, all-to-all a random regular
    graph of `ALL_TO_ALL_PEERS` peers. Every node sends one unit in total.
    """
    count = len(endpoints)
    if count < 2:
        return None
    rank = np.arange(count)
    if exchange == Exchange.NEIGHBOUR:
        side = max(1, round(count ** (1 / 3)))
        offsets = sorted({1, side, side * side} - {0, count})
        peers = np.concatenate([np.stack([(rank + o) % count, (rank - o) % count]) for o in offsets])
    elif exchange == Exchange.REDUCE:
        rounds = [1 << bit for bit in range(int(np.ceil(np.log2(count))))]
        peers = np.stack(
            [np.where((rank ^ distance) < count, rank ^ distance, (rank + distance) % count) for distance in rounds]
        )
    else:
        most = min(ALL_TO_ALL_PEERS, count - 1)
        shifts = rng.choice(np.arange(1, count), most, replace=False)
        order = rng.permutation(count)
        place = np.argsort(order)
        peers = np.stack([order[(place + shift) % count] for shift in shifts])
    return _make_pattern(endpoints[np.tile(rank, len(peers))], endpoints[peers.ravel()], 1 / len(peers))


def io_pattern(endpoints: IntArray, io_endpoints: IntArray, rng: np.random.Generator) -> Pattern | None:
    """Return flows from every node to four of half of the machine's I/O endpoints; None if the machine has none."""
    if not len(io_endpoints):
        return None
    used = rng.choice(io_endpoints, max(1, len(io_endpoints) // 2), replace=False)
    rank = np.arange(len(endpoints))
    targets = np.stack([used[(4 * rank + k) % len(used)] for k in range(4)])
    return _make_pattern(endpoints[np.tile(rank, 4)], targets.ravel(), 0.25)


def incast_pattern(endpoints: IntArray, rng: np.random.Generator) -> Pattern | None:
    """Return flows from every node to one of a few hot nodes (one in 24)."""
    if len(endpoints) < 3:
        return None
    hot = rng.choice(endpoints, max(2, len(endpoints) // 24), replace=False)
    target = hot[np.arange(len(endpoints)) % len(hot)]
    return _make_pattern(endpoints, target, 1.0)


def _make_pattern(src: IntArray, dst: IntArray, share: float) -> Pattern:
    other = src != dst
    return Pattern(src[other].astype(np.int32), dst[other].astype(np.int32), np.full(int(other.sum()), share))
