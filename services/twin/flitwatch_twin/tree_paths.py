"""Static paths over a fat tree's links by d-mod-k, as sparse link loads.

D-mod-k (Zahavi 2012): at level l, a switch sends traffic for target d up over the cable floor(d / (w_1 .. w_l)) mod w_(l+1). Each switch thus has one
path to every target. OpenSM's ftree computes such tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import Gather
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_twin.paths import Loads

Int = NDArray[np.int64]


class TreePaths:
    """Routes all flows to a target over the same cables: up by the target's number, down over the first cable that leads there."""

    def __init__(self, fabric: Fabric) -> None:
        if fabric.kind is not FabricKind.FAT_TREE:
            raise BadRequest(f"fabric {fabric.name!r} is not a fat tree")
        self._gather = Gather(len(fabric.links))
        self._routers, self._dst = len(fabric.routers), fabric.links.dst.astype(np.int64)
        inject = np.flatnonzero(fabric.links.src >= self._routers)
        self._up = np.full(len(fabric.endpoints), -1, np.int64)
        self._up[fabric.links.src[inject] - self._routers] = inject
        self._next = build_tables(fabric)
        if (self._next < 0).any() or (self._up < 0).any():
            raise BadRequest(f"fabric {fabric.name!r} has endpoints that some switch does not reach")

    def loads(
        self, src: NDArray[np.int32], dst: NDArray[np.int32], share: NDArray[np.float64], routers: NDArray[np.int32]
    ) -> Loads:
        """Return the bytes on links per unit rate; see `DragonflyPaths.loads`."""
        hops = self.hops(src, dst, routers)
        loads: Loads = self._gather(
            np.concatenate([link for _, link in hops]), np.concatenate([share[flow] for flow, _ in hops])
        )
        return loads

    def hops(self, src: NDArray[np.int32], dst: NDArray[np.int32], routers: NDArray[np.int32]) -> list[tuple[Int, Int]]:
        """Return, for each number of hops, the flows that are still travelling and the link that each takes next."""
        flow = np.arange(len(src))
        hops = [(flow, self._up[src])]
        at = routers[src].astype(np.int64)
        while len(flow):
            link = self._next[at, dst[flow]]
            hops.append((flow, link))
            on = self._dst[link] < self._routers
            flow, at = flow[on], self._dst[link][on]
        return hops


def build_tables(fabric: Fabric) -> Int:
    """Return the link from each switch towards each endpoint, (switches, endpoints); -1 if there is none."""
    links, routers, ends = fabric.links, len(fabric.routers), len(fabric.endpoints)
    level = np.append(fabric.routers.level, np.full(ends, -1)).astype(np.int64)
    end = np.arange(ends)
    below = np.zeros((fabric.vertices, ends), bool)
    below[routers + end, end] = True
    table = np.full((routers, ends), -1, np.int64)
    order = np.lexsort((links.src_port, links.dst))
    leaving = [order[links.src[order] == switch] for switch in range(routers)]
    by_level = np.argsort(fabric.routers.level, kind="stable").tolist()
    for switch in by_level:
        for link in leaving[switch][::-1].tolist():
            if level[links.dst[link]] < level[switch]:
                leads = below[links.dst[link]]
                table[switch, leads] = link
                below[switch] |= leads
    width = dict.fromkeys(set(level[:routers].tolist()), 1)
    for switch in by_level:
        up = leaving[switch][level[links.dst[leaving[switch]]] > level[switch]]
        at = int(level[switch])
        if len(up):
            width[at + 1] = max(width[at + 1], width[at] * len(up))
            table[switch] = np.where(table[switch] >= 0, table[switch], up[end // width[at] % len(up)])
    return table
