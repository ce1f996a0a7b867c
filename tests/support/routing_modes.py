"""NIC counters of a job under a routing mode, and the job's fabric."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.network_noise.observations import NicObservation

#: Neighbouring nodes at the border of the two groups of `stored`.
NODES = ["nid00068", "nid00069", "nid00384", "nid00385"]


def stored(url: str) -> None:
    """Store a fabric of two groups of eight nodes; the second begins with nid00384."""
    with connect(url, role="writer") as conn:
        fabrics.save_fabric(conn, build_dragonfly(2, 2, 2, endpoints_per_router=2, name="modes"))
        conn.commit()


def observed(
    latency_us: float,
    stalls: float,
    spread: float = 0.05,
    count: int = 12,
    seed: int = 1,
    pace: float = 1.0,
    nodes: list[str] = NODES,
) -> list[NicObservation]:
    """Return observations of a job that sends `pace` times 30,000 flits per second."""
    rng = np.random.default_rng(seed)
    made = []
    for factor in rng.normal(1, spread, count):
        packets, flits = round(10_000 * pace), round(30_000 * pace)
        made.append(
            NicObservation(
                tuple(nodes), 1.0, flits, packets, round(flits * stalls * factor), packets * latency_us * factor
            )
        )
    return made


def as_json(ones: list[NicObservation]) -> list[dict[str, Any]]:
    return [{**vars(one), "allocation": list(one.allocation)} for one in ones]
