"""Common parts of tori and HyperX: routers at the points of a lattice, with endpoints at their first ports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Endpoints, LinkClass, Links, Routers, both_directions

DIMENSIONS = (
    LinkClass.DIM0,
    LinkClass.DIM1,
    LinkClass.DIM2,
    LinkClass.DIM3,
    LinkClass.DIM4,
    LinkClass.DIM5,
    LinkClass.DIM6,
    LinkClass.DIM7,
)


def lattice_routers(coords: NDArray[np.int64]) -> Routers:
    """Return routers named by their coordinates; `coords` is (dimensions, routers)."""
    return Routers(name=["r" + ".".join(map(str, place)) for place in coords.T.tolist()], coords=coords.T)


def lattice_links(
    cables: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]],
    routers: int,
    endpoints: int,
    dimensions: int,
    bandwidth_bps: float,
) -> tuple[Links, Endpoints]:
    """Return the endpoints and the links of both directions, with the endpoints' links last.

    Parameters
    ----------
    cables : sequence of (a, b, a_port, b_port, dimension)
        Cables of one dimension: the routers at their ends, and their ports.
    routers, endpoints : int
        Number of routers, and endpoints per router, which use its ports from 0.
    dimensions : int
        Number of dimensions of the lattice.
    bandwidth_bps : float
        Bandwidth of every link.
    """
    owner = np.repeat(np.arange(routers), endpoints)
    slot = np.arange(owner.size) % endpoints
    kinds = np.concatenate(
        [*(np.full(a.size, dimension) for a, *_, dimension in cables), np.full(owner.size, dimensions)]
    )
    links = both_directions(
        np.concatenate([*(a for a, *_ in cables), owner]),
        np.concatenate([*(b for _, b, *_ in cables), routers + np.arange(owner.size)]),
        np.concatenate([*(port for _, _, port, *_ in cables), slot]),
        np.concatenate([*(port for *_, port, _ in cables), np.zeros_like(slot)]),
        kinds,
        kinds,
        bandwidth_bps,
        (*DIMENSIONS[:dimensions], LinkClass.HOST),
    )
    return links, Endpoints(router=owner, port=slot)
