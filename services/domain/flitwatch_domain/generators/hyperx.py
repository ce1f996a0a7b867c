"""HyperX: routers at the points of a lattice, every dimension joined all to all (Ahn et al., SC 2009); the flattened butterfly and HyperX of
today."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import CountedAt, Endpoints, Fabric, FabricKind, Technology
from flitwatch_domain.generators.lattice import DIMENSIONS, lattice_links, lattice_routers
from flitwatch_domain.generators.tree import MOST_CABLES


def build_hyperx(sizes: Sequence[int], endpoints: int, cables: int = 1, *, bandwidth_bps: float = 100e9) -> Fabric:
    """A HyperX of the given extents; the last dimension varies fastest.

    A router's ports from 0 are its endpoints, then its neighbours, dimension by dimension in their order.

    Parameters
    ----------
    sizes : sequence of int
        Extents, 1 to 8 of them, each at least 2.
    endpoints : int
        Of each router.
    cables : int
        Between two routers that differ in one dimension alone.
    bandwidth_bps : float
        Of every cable.

    Raises
    ------
    BadRequest, TooCostly
        There is no such fabric, or it has more than `MOST_CABLES` cables.
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
                    # A router leaves itself out of the count of its neighbours.
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
    """Routes of a HyperX that correct one dimension after the other: minimal, and no cycle of links waits for itself.

    Parallel cables are shared out by the destination's number.

    Returns
    -------
    uint32[endpoint, router]
        The link by which a router sends to an endpoint.

    Raises
    ------
    BadRequest
        The fabric is not a HyperX that was generated here.
    """
    extents, cables = fabric.attributes.get("hyperx"), int(fabric.attributes.get("cables", 1))
    if not extents:
        raise BadRequest(f"{fabric.name} is not a HyperX", advice="Use hyperx:S1,S2;ENDPOINTS.")
    links, routers, ends = fabric.links, len(fabric.routers), len(fabric.endpoints)
    between = np.flatnonzero((links.src < routers) & (links.dst < routers))
    # Between two routers the cables come one after another once they are sorted by their ends and port.
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
