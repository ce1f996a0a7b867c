"""Trustworthy part of a reconstruction where the whole matrix is open: its largest pairs, with the intervals that contain their bytes."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction.recover import Reconstruction

#: Of the largest pair; below that a pair is what the solver left over.
LEAST = 1e-7
#: An estimated error from here on says that nothing of the matrix is sure, and guides nobody.
OPEN = 0.999


class RankedPair(TypedDict):
    """A pair by the names of its nodes, its bytes and the interval that contains them if the counters are exact; null: unknown."""

    src: str
    dst: str
    bytes: float
    low: float | None
    high: float | None


class Ranking(TypedDict):
    """The largest pairs, and how much of the traffic is certain regardless of the rest: bytes that every matrix that explains the counters gives a
    pair.

    pairs : with traffic, of `possible_pairs`, which no counter rules out, of `allowed_pairs`, which jobs and service levels admit
    """

    largest: list[RankedPair]
    certain_pairs: int | None
    certain_share: float | None
    pairs: int
    possible_pairs: int
    allowed_pairs: int


def rank_pairs(fabric: Fabric, found: Reconstruction, most: int) -> Ranking:
    """Return the `most` largest pairs, largest first; of equal ones the one that is certain of more."""
    low = np.nan_to_num(found.low)
    with_traffic = found.size > LEAST * found.size.max(initial=0)
    order = np.lexsort((-low, -found.size))[:most]
    has_intervals = bool(len(found.low)) and not np.isnan(found.low).any()
    total_bytes = float(found.size.sum())

    def named(endpoint: int) -> str:
        return str(fabric.endpoints.node[endpoint])

    return {
        "largest": [
            {
                "src": named(int(found.pairs.src[k])),
                "dst": named(int(found.pairs.dst[k])),
                "bytes": float(found.size[k]),
                "low": None if np.isnan(found.low[k]) else float(found.low[k]),
                "high": None if np.isnan(found.high[k]) else float(found.high[k]),
            }
            for k in order.tolist()
            if with_traffic[k]
        ],
        "certain_pairs": int((low > LEAST * found.size.max(initial=0)).sum()) if has_intervals else None,
        "certain_share": min(1.0, float(low.sum()) / total_bytes) if has_intervals and total_bytes > 0 else None,
        "pairs": int(with_traffic.sum()),
        "possible_pairs": len(found.pairs),
        "allowed_pairs": found.unknowns,
    }


def told_error(found: Reconstruction) -> tuple[float | None, dict[str, str]]:
    """Return the estimated error, and what is unknown and why: one that leaves the whole matrix open is none."""
    if found.estimated_error is None or found.estimated_error < OPEN:
        return found.estimated_error, found.unknown
    why = "the counters do not determine the traffic: use the largest pairs and their intervals"
    return None, {"estimated_error": why} | found.unknown
