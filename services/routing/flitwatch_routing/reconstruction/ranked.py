"""Reliable part of a reconstruction whose whole matrix is uncertain: the largest pairs, with intervals that contain their bytes."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction.recover import Reconstruction

#: Share of the largest pair; smaller pairs are solver residue.
LEAST = 1e-7
#: From this estimated error on, nothing of the matrix is certain, and the error is not useful.
OPEN = 0.999


class RankedPair(TypedDict):
    """A pair by the names of its nodes, its bytes and the interval that contains them if the counters are exact; null: unknown."""

    src: str
    dst: str
    bytes: float
    low: float | None
    high: float | None


class Ranking(TypedDict):
    """The largest pairs, and the certain part of the traffic: bytes that a pair has in every matrix that explains the
    counters.

    pairs : number with traffic, among `possible_pairs` not excluded by counters, among `allowed_pairs` permitted by jobs and service levels
    """

    largest: list[RankedPair]
    certain_pairs: int | None
    certain_share: float | None
    pairs: int
    possible_pairs: int
    allowed_pairs: int


def rank_pairs(fabric: Fabric, found: Reconstruction, most: int) -> Ranking:
    """Return the `most` largest pairs in descending order. Ties go to the pair with the larger lower bound."""
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


def report_error(found: Reconstruction) -> tuple[float | None, dict[str, str]]:
    """Return the estimated error, and the unknown values with reasons. An error that leaves the whole matrix uncertain becomes None."""
    if found.estimated_error is None or found.estimated_error < OPEN:
        return found.estimated_error, found.unknown
    why = "the counters do not determine the traffic: use the largest pairs and their intervals"
    return None, {"estimated_error": why} | found.unknown
