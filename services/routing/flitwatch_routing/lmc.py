"""Several LIDs per endpoint: with LMC m it has 2^m, from a base that is a multiple of 2^m, and every switch has one port for each of them.

Traffic to an endpoint is assumed to spread evenly over its LIDs, as with MPI libraries that use an LMC's paths round robin. Each LID is then a
separate destination with bytes / 2^m from every source. Tables are (routers, endpoints * 2^m): column `endpoint * 2^m + k` is for the LID `base + k`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric

#: InfiniBand's field has three bits.
MOST_LMC = 7
#: End of the unicast LIDs; higher LIDs are multicast.
LAST_LID = 0xBFFF
Traffic = tuple[NDArray, NDArray, NDArray]


def lids_each(lmc: int) -> int:
    """Return the number of LIDs per endpoint; raise BadRequest for an LMC that InfiniBand does not have."""
    if not 0 <= lmc <= MOST_LMC:
        raise BadRequest(f"the LMC is {lmc}; InfiniBand has 0 to {MOST_LMC}")
    return 1 << lmc


def first_lid(fabric: Fabric, lmc: int) -> int:
    """Return the first endpoint's base LID if switches have 1, 2, .. and endpoints follow; raise BadInput if there are not enough LIDs."""
    each, switches, endpoints = lids_each(lmc), len(fabric.routers), len(fabric.endpoints)
    first = -(-(switches + 1) // each) * each
    if first + endpoints * each - 1 > LAST_LID:
        raise BadInput(
            f"{switches:,} switches and {endpoints:,} endpoints of {each} LIDs need more than the {LAST_LID:,} LIDs of a subnet",
            advice="Use a smaller LMC" if lmc else "Route a part of the machine",
        )
    return first


def per_lid(fabric: Fabric, traffic: Traffic, lmc: int) -> Traffic:
    """Return traffic between columns of the tables: (an endpoint of the source's switch, LID, bytes / 2^m), without traffic within a switch.

    Tables do not distinguish source endpoints of a switch: there is one row per switch and LID, regardless of the number of pairs.
    """
    each, endpoints = lids_each(lmc), len(fabric.endpoints)
    leaves, first, leaf = np.unique(fabric.endpoints.router, return_index=True, return_inverse=True)
    src, dst, size = traffic[0], np.asarray(traffic[1], np.int64), np.asarray(traffic[2], float)
    crosses = leaf[src] != leaf[dst]
    flat = np.bincount(leaf[src[crosses]] * endpoints + dst[crosses], size[crosses], len(leaves) * endpoints)
    entry = np.flatnonzero(flat)
    to = (entry % endpoints)[:, None] * each + np.arange(each)
    return np.repeat(first[entry // endpoints] * each, each), to.reshape(-1), np.repeat(flat[entry] / each, each)
