"""An imported or generated fat tree in the optimiser's form: pods, spines in order of their core group, dense slots, failed links."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, TooCostly
from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, NodeRole
from flitwatch_routing.lmc import first_lid, lids_each

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Traffic = tuple[NDArray, NDArray, NDArray]
#: Limit of entries in all forwarding tables: memory contains several arrays with 8 bytes per entry. 10,000 nodes have about 7 million.
MOST_ENTRIES = 50_000_000
#: Limit of cables between two switches: the core counts them in a byte.
MOST_CABLES = 255


@dataclass(frozen=True)
class Tree:
    """A fat tree of two or three levels.

    Attributes
    ----------
    shape : (pods, leaves per pod, hosts per leaf, spines per pod, core groups, cores per group); with an LMC each LID is a host
    slot_of_endpoint : (endpoints * 2^lmc,)    the optimiser's endpoint: leaf x hosts + place; -1 for endpoints that are not on a leaf (`on_leaves`)
    leaf, spine, core : router number of each place, -1 if a place is empty
    up_port_leaf (leaves, spines, cables), down_port_spine (spines, leaves per pod, cables), up_port_spine (spines, cores per group, cables),
    down_port_core
    (cores, pods, spines per group, cables): the ports of each link's cables, -1 if a cable is absent or failed. `cables` is the maximum between two
    switches of the level.
    host_port : (leaves, hosts), -1 if there is no endpoint
    """

    shape: tuple[int, int, int, int, int, int]
    slot_of_endpoint: Ints
    leaf: Ints
    spine: Ints
    core: Ints
    up_port_leaf: Ints
    down_port_spine: Ints
    up_port_spine: Ints
    down_port_core: Ints
    host_port: Ints

    def _level_ports(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return ports in the optimiser's numbering of directed links: leaf to spine, spine to core, core to spine, spine to leaf."""
        return self.up_port_leaf, self.up_port_spine, self.down_port_core, self.down_port_spine

    def link_ports(self) -> Ints:
        """Return the ports (links, cables) of every directed link, working ones first."""
        order = self._level_ports()
        most = max(ports.shape[-1] for ports in order)
        result = np.full((sum(ports[..., 0].size for ports in order), most), -1)
        first = 0
        for ports in order:
            rows = ports.reshape(-1, ports.shape[-1])
            result[first : first + len(rows), : rows.shape[1]] = rows
            first += len(rows)
        return result

    def cables(self) -> NDArray[np.uint8]:
        """Return the number of working cables of each link, (links,) in the order of `link_ports`."""
        return (self.link_ports() >= 0).sum(axis=1).astype(np.uint8)

    def link_numbers(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return numbers of the links up from leaves (leaves, spines), up from spines (spines, cores of the group), down from cores (cores, pods, spines of
        the group), down from spines (spines, leaves of the pod); -1 if no cable works."""
        first, result = 0, []
        for works in ((ports >= 0).any(axis=-1) for ports in self._level_ports()):
            result.append(np.where(works, first + np.arange(works.size).reshape(works.shape), -1))
            first += works.size
        return result[0], result[1], result[2], result[3]

    def switches(self) -> Ints:
        """Return the router number of every leaf, spine and core, in this order; -1 if a place is empty."""
        return np.concatenate([self.leaf, self.spine, self.core])

    def heads(self) -> Ints:
        """Return the destination switch (index in `switches`) of each link, (links,)."""
        pods, leaves, _, spines, groups, cores = self.shape
        spine, core = pods * leaves, pods * leaves + pods * spines
        up_leaf, up_spine, down_core, down_spine = (np.indices(ports.shape[:-1]) for ports in self._level_ports())
        each = spines // groups if groups else 1
        return np.concatenate(
            [
                (spine + up_leaf[0] // leaves * spines + up_leaf[1]).reshape(-1),
                (core + up_spine[0] % spines // each * cores + up_spine[1]).reshape(-1),
                (spine + down_core[1] * spines + down_core[0] // max(cores, 1) * each + down_core[2]).reshape(-1),
                (down_spine[0] // spines * leaves + down_spine[1]).reshape(-1),
            ]
        )

    def working_ports(self) -> tuple[Ints, Ints]:
        """Return the numbers of working cables up from each leaf and down to it: (leaves,) each."""
        pods, leaves, _, spines, _, _ = self.shape
        downs = (self.down_port_spine >= 0).sum(axis=2).reshape(pods, spines, leaves)
        return (self.up_port_leaf >= 0).sum(axis=(1, 2)), downs.sum(axis=1).reshape(-1)

    def intact(self) -> bool:
        """Return whether every existing leaf, spine and core has all its cables to existing switches."""
        pods, leaves, _, spines, _, _ = self.shape
        there = self.leaf >= 0
        below = np.repeat(there.reshape(pods, 1, leaves), spines, axis=1).reshape(pods * spines, leaves)
        used = np.repeat(there.reshape(pods, leaves).any(axis=1), spines)
        return bool(
            (self.up_port_leaf[there] >= 0).all()
            and (self.down_port_spine[below] >= 0).all()
            and (self.up_port_spine[used] >= 0).all()
            and (self.down_port_core >= 0).all()
        )


def as_tree(fabric: Fabric, lmc: int = 0) -> Tree:
    """Find leaves, pods, spines, core groups and cores of a fabric with 2^lmc LIDs per endpoint. Raise BadInput if the fabric is not a tree of two or
    three levels, two switches have more than `MOST_CABLES` cables between them, or an LMC above 0 needs too many LIDs. Raise TooCostly if the tables
    have more than `MOST_ENTRIES` entries."""
    routers, each = len(fabric.routers.name), lids_each(lmc)
    if routers * len(fabric.endpoints) * each > MOST_ENTRIES:
        raise TooCostly(
            f"the tables of {routers:,} switches for {len(fabric.endpoints):,} endpoints{f' of {each} LIDs' if lmc else ''} have "
            f"more than {MOST_ENTRIES:,} entries",
            advice="Use a smaller LMC, or route a part of the machine." if lmc else "Route a part of the machine.",
        )
    if lmc:
        first_lid(fabric, lmc)
    links, between = fabric.links, fabric.router_links()
    src, dst, port = (
        links.src[between].astype(np.int64),
        links.dst[between].astype(np.int64),
        links.src_port[between].astype(np.int64),
    )
    cable = _cable_numbers(src * routers + dst, port)
    if cable.max(initial=0) >= MOST_CABLES:
        at = int(cable.argmax())
        raise BadInput(
            f"{fabric.routers.name[src[at]]} and {fabric.routers.name[dst[at]]} are joined by more than {MOST_CABLES} cables",
            advice="Check the file: no switch has that many ports",
        )
    is_leaf = np.zeros(routers, bool)
    is_leaf[fabric.endpoints.router[on_leaves(fabric)]] = True
    cabled = np.zeros(routers, bool)
    cabled[src] = cabled[dst] = True
    if fabric.kind is FabricKind.FAT_TREE:
        is_leaf |= cabled & (fabric.routers.level == 0)
    touches_leaf = np.zeros(routers, bool)
    touches_leaf[dst[is_leaf[src]]] = True
    touches_leaf[src[is_leaf[dst]]] = True
    is_spine = touches_leaf & ~is_leaf
    if not len(src):
        raise BadInput("no cable joins two switches", advice="Give a fat tree of two or three levels")
    is_core = ~is_leaf & ~is_spine & cabled  # a switch without any cable has no level
    bare = _leaves_without_hosts(routers, is_leaf, is_spine, is_core, np.stack([src, dst], axis=1))
    is_leaf, is_core = is_leaf | bare, is_core & ~bare
    levels = is_leaf * 0 + is_spine * 1 + is_core * 2
    bad = abs(levels[src] - levels[dst]) != 1
    if bad.any():
        at = int(np.argmax(bad))
        names = fabric.routers.name
        raise BadInput(
            f"{names[src[at]]} and {names[dst[at]]} are joined, but are on the same level or skip one",
            advice="Give a fat tree of two or three levels",
        )
    edges = np.stack([src, dst], axis=1)
    pod = _label_components(routers, edges[is_leaf[src] | is_leaf[dst]], is_leaf | is_spine)
    group = (
        _label_components(routers, edges[is_core[src] | is_core[dst]], is_spine | is_core)
        if is_core.any()
        else np.zeros(routers, np.int64)
    )
    return _with_lids(_laid_out(fabric, is_leaf, is_spine, is_core, pod, group, src, dst, port, cable), each)


def on_leaves(fabric: Fabric) -> Bools:
    """Return whether each endpoint is on a leaf (endpoints,).

    A switch with only service endpoints is not a leaf: spines and cores have aggregation units too.
    """
    router = fabric.endpoints.router
    has_hosts = np.zeros(len(fabric.routers), bool)
    has_hosts[router[fabric.endpoints.role != ROLES.index(NodeRole.SERVICE)]] = True
    result: Bools = has_hosts[router] if has_hosts.any() else np.ones(len(router), bool)
    return result


def of_leaves(fabric: Fabric, traffic: Traffic) -> Traffic:
    """Return traffic (src, dst, bytes) without endpoints that are not on a leaf."""
    placed = on_leaves(fabric)
    mask = placed[traffic[0]] & placed[traffic[1]]
    return traffic if mask.all() else (traffic[0][mask], traffic[1][mask], traffic[2][mask])


def _leaves_without_hosts(routers: int, is_leaf: Bools, is_spine: Bools, is_core: Bools, edges: Ints) -> Bools:
    """Return apparent cores whose spines all belong to one pod: they add no connection beyond those of the pod's spines."""
    pod = _label_components(routers, edges[is_leaf[edges].any(axis=1)], is_leaf | is_spine)
    both = np.concatenate([edges, edges[:, ::-1]])  # one direction of a cable may be missing
    up = both[is_spine[both[:, 0]] & is_core[both[:, 1]]]
    low, high = np.full(routers, routers), np.full(routers, -1)
    np.minimum.at(low, up[:, 1], pod[up[:, 0]])
    np.maximum.at(high, up[:, 1], pod[up[:, 0]])
    return is_core & (low == high)


def _cable_numbers(pair: Ints, port: Ints) -> Ints:
    """Return the number of each directed link among those of its pair of switches, from 0 in order of known ports."""
    order = np.lexsort((port, port < 0, pair))
    first = np.r_[True, pair[order][1:] != pair[order][:-1]] if len(pair) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(pair)), 0))
    result = np.empty(len(pair), np.int64)
    result[order] = np.arange(len(pair)) - starts
    return result


def _with_lids(tree: Tree, each: int) -> Tree:
    """Return the tree with every endpoint in `each` adjacent places, one per LID."""
    pods, leaves, hosts, spines, groups, cores = tree.shape
    slots = np.where(tree.slot_of_endpoint[:, None] >= 0, tree.slot_of_endpoint[:, None] * each + np.arange(each), -1)
    shape = (pods, leaves, hosts * each, spines, groups, cores)
    return replace(
        tree, shape=shape, slot_of_endpoint=slots.reshape(-1), host_port=np.repeat(tree.host_port, each, axis=1)
    )


def _label_components(vertices: int, edges: Ints, members: NDArray[np.bool_]) -> Ints:
    """Return dense component numbers (-1 for others), in order of the smallest member."""
    label = np.arange(vertices)
    while len(edges):
        low = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, edges[:, 0], low)
        np.minimum.at(label, edges[:, 1], low)
        if (label == before).all():
            break
    result = np.full(vertices, -1)
    result[members] = np.unique(label[members], return_inverse=True)[1]
    return result


def _laid_out(
    fabric: Fabric,
    is_leaf: Bools,
    is_spine: Bools,
    is_core: Bools,
    pod: Ints,
    group: Ints,
    src: Ints,
    dst: Ints,
    port: Ints,
    cable: Ints,
) -> Tree:
    routers = len(is_leaf)
    pods = int(pod[is_leaf | is_spine].max()) + 1
    has_cores = bool(is_core.any())
    lonely = is_spine & ~np.isin(group, group[is_core]) if has_cores else np.zeros(routers, bool)
    if lonely.any():
        raise BadInput(
            f"the fabric is disconnected: {fabric.routers.name[int(np.argmax(lonely))]} is joined to leaves and to no core",
            advice="Leave the switch out, or import the fabric again once its cables are repaired",
        )
    groups = int(group[is_core].max()) + 1 if has_cores else 0
    if not has_cores and pods > 1:
        raise BadInput(f"the leaves are in {pods} separate parts")
    place = np.full(routers, -1)
    leaves = _number_members(place, is_leaf, pod)
    if has_cores:
        cell = pod * max(groups, 1) + group
        per_group = _number_members(place, is_spine, np.where(is_spine, cell, -1))
        place[is_spine] += group[is_spine] * per_group
        cores = _number_members(place, is_core, group)
        spines = per_group * groups
    else:
        spines, cores = _number_members(place, is_spine, pod), 0
        per_group = 0
    router = fabric.endpoints.router.astype(np.int64)
    placed = is_leaf[router]
    counts = np.bincount(router[placed], minlength=routers)
    hosts = int(counts.max())
    shape = (pods, leaves, hosts, spines, groups, cores)
    leaf_at = np.where(is_leaf, pod * leaves + place, -1)
    spine_at = np.where(is_spine, pod * spines + place, -1)
    core_at = np.where(is_core, group * cores + place, -1) if has_cores else np.full(routers, -1)
    low = is_leaf[src] | is_leaf[dst]
    below, above = (int(cable[level].max(initial=0)) + 1 for level in (low, ~low))
    up_leaf, down_spine = np.full((pods * leaves, spines, below), -1), np.full((pods * spines, leaves, below), -1)
    up_spine, down_core = (
        np.full((pods * spines, cores, above), -1),
        np.full((groups * cores, pods, per_group, above), -1),
    )
    for a, b, p, c in zip(src.tolist(), dst.tolist(), port.tolist(), cable.tolist(), strict=True):
        if leaf_at[a] >= 0:
            up_leaf[leaf_at[a], place[b], c] = p
        elif leaf_at[b] >= 0:
            down_spine[spine_at[a], place[b], c] = p
        elif spine_at[a] >= 0:
            up_spine[spine_at[a], place[b], c] = p
        else:
            down_core[core_at[a], pod[b], place[b] % per_group, c] = p
    rank = _cable_numbers(router, np.zeros(len(router), np.int64))
    host_port = np.full((pods * leaves, hosts), -1)
    host_port[leaf_at[router[placed]], rank[placed]] = fabric.endpoints.port[placed]
    return Tree(
        shape,
        np.where(placed, leaf_at[router] * hosts + rank, -1),
        _invert_index(leaf_at, pods * leaves),
        _invert_index(spine_at, pods * spines),
        _invert_index(core_at, groups * cores),
        up_leaf,
        down_spine,
        up_spine,
        down_core,
        host_port,
    )


def _number_members(place: Ints, members: NDArray[np.bool_], cell: Ints) -> int:
    """Number the members within their cell, in router order; return the largest cell's size."""
    index = np.flatnonzero(members)
    order = index[np.argsort(cell[index], kind="stable")]
    sizes = np.bincount(cell[order])
    starts = np.cumsum(sizes) - sizes
    place[order] = np.arange(len(order)) - starts[cell[order]]
    return int(sizes.max())


def _invert_index(at: Ints, size: int) -> Ints:
    result = np.full(size, -1)
    positions = np.flatnonzero(at >= 0)
    result[at[positions]] = positions
    return result


def next_links(fabric: Fabric, tree: Tree, out: Ints) -> NDArray[np.bool_]:
    """Return whether the link `out` (routers, ports), -1 for none, is on a shortest up/down path: (routers, routers as leaves, ports)."""
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
