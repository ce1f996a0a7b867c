"""Tori: k-ary n-cubes with wrap-around links (Hoefler 2009, table 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import (
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    Routers,
    Technology,
    both_directions,
)

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


def torus(dims: Sequence[int], *, endpoints_per_router: int = 1, bandwidth_bps: float = 10e9) -> Fabric:
    """A torus of the given extents; the last dimension varies fastest.

    A router's port 0... are its endpoints, then + and - of each dimension. A dimension of extent 2 has one cable between its two routers, one
    of extent 1 has none.

    Parameters
    ----------
    dims : sequence of int
        Extents, 1 to 8 of them, each at least 1.
    endpoints_per_router : int
    bandwidth_bps : float
        Of every link.
    """
    extents = [int(extent) for extent in dims]
    if not 1 <= len(extents) <= len(DIMENSIONS) or min(extents) < 1 or endpoints_per_router < 1:
        raise BadRequest(f"torus({list(dims)}) is not possible", advice="Give 1 to 8 extents of at least 1.")
    routers = int(np.prod(extents))
    coords = np.indices(extents).reshape(len(extents), -1)
    a, b, a_port, b_port, dimension = [], [], [], [], []
    for d, extent in enumerate(extents):
        following = coords.copy()
        following[d] = (following[d] + 1) % extent
        start = np.arange(routers) if extent > 2 else np.flatnonzero(coords[d] < extent - 1)
        a.append(start)
        b.append(np.asarray(np.ravel_multi_index(tuple(following), extents))[start])
        a_port.append(np.full(start.size, endpoints_per_router + 2 * d))
        b_port.append(np.full(start.size, endpoints_per_router + 2 * d + 1))
        dimension.append(np.full(start.size, d))
    owner = np.repeat(np.arange(routers), endpoints_per_router)
    slot = np.arange(owner.size) % endpoints_per_router
    host = len(extents)
    kinds = np.concatenate([*dimension, np.full(owner.size, host)])
    links = both_directions(
        np.concatenate([*a, owner]),
        np.concatenate([*b, routers + np.arange(owner.size)]),
        np.concatenate([*a_port, slot]),
        np.concatenate([*b_port, np.zeros_like(slot)]),
        kinds,
        kinds,
        bandwidth_bps,
        (*DIMENSIONS[:host], LinkClass.HOST),
    )
    shape = "x".join(str(extent) for extent in extents)
    return Fabric(
        name=f"torus-{shape}",
        kind=FabricKind.TORUS,
        technology=Technology.GENERIC,
        routers=Routers(name=["r" + ".".join(map(str, place)) for place in coords.T.tolist()], coords=coords.T),
        endpoints=Endpoints(router=owner, port=slot),
        links=links,
        simulated=True,
        source=f"torus({extents})",
        attributes={"dims": extents},
    )
