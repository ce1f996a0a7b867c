"""Tori and HyperX: routers at the points of a lattice, with endpoints at their first ports."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import (
    CountedAt,
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    Links,
    Routers,
    Technology,
    both_directions,
)
from flitwatch_domain.generators.tree import MOST_CABLES

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


def build_torus(dims: Sequence[int], *, endpoints_per_router: int = 1, bandwidth_bps: float = 10e9) -> Fabric:
    """Build a torus of the given sizes; the last dimension varies fastest.

    A router's ports, from 0, are its endpoints, then + and - of each dimension. A dimension of size 2 has one cable between its two routers; one of
    size 1 has none.

    Parameters
    ----------
    dims : sequence of int
        Sizes of 1 to 8 dimensions, each at least 1.
    bandwidth_bps : float
        Bandwidth of every link.
    """
    extents = [int(extent) for extent in dims]
    if not 1 <= len(extents) <= len(DIMENSIONS) or min(extents) < 1 or endpoints_per_router < 1:
        raise BadRequest(f"torus({list(dims)}) is not possible", advice="Give 1 to 8 extents of at least 1.")
    routers = int(np.prod(extents))
    coords = np.indices(extents).reshape(len(extents), -1)
    cables = []
    for d, extent in enumerate(extents):
        following = coords.copy()
        following[d] = (following[d] + 1) % extent
        start = np.arange(routers) if extent > 2 else np.flatnonzero(coords[d] < extent - 1)
        end = np.asarray(np.ravel_multi_index(tuple(following), extents))[start]
        plus, minus = (np.full(start.size, endpoints_per_router + 2 * d + side) for side in (0, 1))
        cables.append((start, end, plus, minus, d))
    links, endpoints = lattice_links(cables, routers, endpoints_per_router, len(extents), bandwidth_bps)
    shape = "x".join(str(extent) for extent in extents)
    return Fabric(
        name=f"torus-{shape}",
        kind=FabricKind.TORUS,
        technology=Technology.GENERIC,
        routers=lattice_routers(coords),
        endpoints=endpoints,
        links=links,
        simulated=True,
        source=f"torus({extents})",
        attributes={"dims": extents},
    )


def build_hyperx(sizes: Sequence[int], endpoints: int, cables: int = 1, *, bandwidth_bps: float = 100e9) -> Fabric:
    """Build a HyperX of the given sizes; the last dimension varies fastest.

    A router's ports, from 0, are its endpoints, then its neighbours by dimension in their order.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of 1 to 8 dimensions, each at least 2.
    endpoints : int
        Endpoints per router.
    cables : int
        Cables between two routers that differ in only one dimension.
    bandwidth_bps : float
        Bandwidth of every cable.

    Raises
    ------
    BadRequest, TooCostly
        The fabric is not possible, or it has more than `MOST_CABLES` cables.
    """
    extents = [int(size) for size in sizes]
    if not 1 <= len(extents) <= len(DIMENSIONS) or min(extents) < 2 or min(endpoints, cables) < 1:
        raise BadRequest(
            f"hyperx({extents}; {endpoints}; {cables}) is not possible",
            advice="Give 1 to 8 extents of at least 2, and at least one endpoint and one cable.",
        )
    routers = prod(extents)
    total = routers * endpoints + routers * cables * sum(extent - 1 for extent in extents) // 2
    if total > MOST_CABLES:
        raise TooCostly(f"the HyperX has {total:.3g} cables, more than {MOST_CABLES:,}", advice="Choose a smaller one.")
    coords = np.indices(extents).reshape(len(extents), -1)
    cables_of = []
    port = endpoints
    for d, extent in enumerate(extents):
        for coordinate in range(extent):
            for other in range(coordinate + 1, extent):
                start = np.flatnonzero(coords[d] == coordinate)
                there = coords[:, start].copy()
                there[d] = other
                end = np.asarray(np.ravel_multi_index(tuple(there), extents))
                for copy in range(cables):
                    # A router's neighbours do not include itself.
                    there_port = np.full(start.size, port + coordinate * cables + copy)
                    cables_of.append(
                        (start, end, np.full(start.size, port + (other - 1) * cables + copy), there_port, d)
                    )
        port += (extent - 1) * cables
    links, places = lattice_links(cables_of, routers, endpoints, len(extents), bandwidth_bps)
    text = ",".join(map(str, extents)) + f";{endpoints}" + (f";{cables}" if cables > 1 else "")
    return Fabric(
        name=f"hyperx-{text.replace(',', 'x').replace(';', '-')}",
        kind=FabricKind.GRAPH,
        technology=Technology.GENERIC,
        routers=lattice_routers(coords),
        endpoints=Endpoints(
            router=places.router, port=places.port, node=[f"n{end}" for end in range(places.router.size)]
        ),
        links=links,
        simulated=True,
        counted_at=CountedAt.SENDER,
        source=f"hyperx:{text}",
        attributes={"hyperx": extents, "cables": cables},
    )


def dimension_order(fabric: Fabric) -> np.ndarray:
    """Return routes of a HyperX that correct one dimension after the other: minimal and without cyclic dependencies.

    Parallel cables are chosen by the destination's number.

    Returns
    -------
    uint32[endpoint, router]
        The link from each router towards each endpoint.

    Raises
    ------
    BadRequest
        The fabric was not generated by `build_hyperx`.
    """
    extents, cables = fabric.attributes.get("hyperx"), int(fabric.attributes.get("cables", 1))
    if not extents:
        raise BadRequest(f"{fabric.name} is not a HyperX", advice="Use hyperx:S1,S2;ENDPOINTS.")
    links, routers, ends = fabric.links, len(fabric.routers), len(fabric.endpoints)
    between = np.flatnonzero((links.src < routers) & (links.dst < routers))
    # Sorted by their ends and port, the cables between two routers are adjacent.
    key = links.src[between].astype(np.int64) * routers + links.dst[between]
    order = between[np.lexsort((links.src_port[between], key))]
    key = np.sort(key)
    coords = np.asarray(fabric.routers.coords)
    to = np.flatnonzero((links.src < routers) & (links.dst >= routers))
    last = np.empty(ends, np.int64)
    last[links.dst[to] - routers] = to
    table = np.empty((ends, routers), np.uint32)
    everyone = np.arange(routers)
    for target in range(routers):
        there = coords.copy()
        differs = coords != coords[target]
        first = differs.argmax(axis=1)
        there[everyone, first] = coords[target][first]
        neighbour = np.ravel_multi_index(tuple(there.T), extents)
        away = everyone[differs.any(axis=1)]
        start = np.searchsorted(key, away * routers + neighbour[away])
        for end in np.flatnonzero(fabric.endpoints.router == target).tolist():
            table[end, away] = order[start + end % cables]
            table[end, target] = last[end]
    return table
