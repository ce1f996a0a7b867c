"""Tori: k-ary n-cubes with wrap-around links (Hoefler 2009, table 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric, FabricKind, Technology
from flitwatch_domain.generators.lattice import DIMENSIONS, lattice_links, lattice_routers


def build_torus(dims: Sequence[int], *, endpoints_per_router: int = 1, bandwidth_bps: float = 10e9) -> Fabric:
    """Build a torus of the given sizes; the last dimension varies fastest.

    A router's ports, from 0, are its endpoints, then + and - of each dimension. A dimension of size 2 has one cable between its two routers; one of
    size 1 has none.

    Parameters
    ----------
    dims : sequence of int
        Sizes of 1 to 8 dimensions, each at least 1.
    endpoints_per_router : int
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
