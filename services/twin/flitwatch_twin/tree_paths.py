"""Static paths over a fat tree's cables by d-mod-k, as sparse loads on links.

D-mod-k (Zahavi 2012): at level l a switch sends up over the cable floor(d / (w_1 .. w_l)) mod w_(l+1) for target d, so that every target has one
way from each switch. OpenSM's ftree gives such tables.
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
    """Routes every flow to a target over the same cables: up by the target's number, down over the first cable that leads there."""

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
        """Bytes on links per unit rate: as `DragonflyPaths.loads`."""
        hops = self.hops(src, dst, routers)
        loads: Loads = self._gather(
            np.concatenate([link for _, link in hops]), np.concatenate([share[flow] for flow, _ in hops])
        )
        return loads

    def hops(self, src: NDArray[np.int32], dst: NDArray[np.int32], routers: NDArray[np.int32]) -> list[tuple[Int, Int]]:
        """The flows that are still on their way after this many hops, in order, and the link that each takes then."""
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
    """The link that each switch sends on to each endpoint, (switches, endpoints); -1 if none leads there."""
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
