"""Shortest ways up and down a fat tree: which links an entry may take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.tree import Tree

Ints = NDArray[np.int64]


def next_links(fabric: Fabric, tree: Tree, out: Ints) -> NDArray[np.bool_]:
    """Mark where the link `out` (routers, ports), -1 for none, leads on by a shortest way up and then down: (routers, routers as leaves, ports)."""
    routers = len(fabric.routers)
    level = np.full(fabric.vertices, -1)
    for height, there in enumerate((tree.leaf, tree.spine, tree.core)):
        level[there[there >= 0]] = height
    src, dst = fabric.links.src.astype(np.int64), fabric.links.dst.astype(np.int64)
    down = np.full((routers, routers), np.inf)
    leaves = tree.leaf[tree.leaf >= 0]
    down[leaves, leaves] = 0
    for height in (1, 2):
        below = (level[src] == height) & (level[dst] == height - 1)
        np.minimum.at(down, src[below], down[dst[below]] + 1)
    hops = down.copy()
    for height in (1, 0):
        above = (level[src] == height) & (level[dst] == height + 1)
        up = np.full_like(hops, np.inf)
        np.minimum.at(up, src[above], hops[dst[above]] + 1)
        here = level[:routers] == height
        hops[here] = np.where(np.isinf(down[here]), up[here], down[here])
    between = (out >= 0) & (dst[out] < routers)
    head = np.where(between, dst[out], 0)
    climbs = level[head] > level[:routers, None]
    nearer = hops[head] == (hops - 1)[:, None, :]  # (routers, ports, leaves)
    reaches = np.isfinite(hops)[:, None, :] & (climbs[:, :, None] == np.isinf(down)[:, None, :])
    return (between[:, :, None] & nearer & reaches).transpose(0, 2, 1)
