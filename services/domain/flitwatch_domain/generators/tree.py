"""Trees: extended generalised fat trees and quartz1.

XGFT(h; m1..mh; w1..wh): Oehring et al. 1995; used by Hoefler 2009, section IV (table 1). quartz1: Taffet 2021, section 3.4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
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
    Routers,
    Technology,
    both_directions,
)

Ints = NDArray[np.int64]
CLASSES = (LinkClass.HOST, LinkClass.UP, LinkClass.DOWN)
_NAMES = ("leaf", "spine", "core")


def build_quartz1(*, bandwidth_bps: float = 100e9) -> Fabric:
    """Build quartz1: 3,072 nodes, 96 leaves in 4 pods, 64 spines, 48 cores in 2 groups; 12,288 directed links.

    A leaf has 32 nodes and one cable to each of its pod's 16 spines. In each pod, 8 spines belong to each core group and have one cable to each of
    its 24 cores.
    """
    return core_groups("quartz1", "quartz1()", 4, 24, 16, 2, 24, 32, bandwidth_bps)


def core_groups(
    name: str,
    made_by: str,
    pods: int,
    leaves: int,
    spines: int,
    groups: int,
    cores: int,
    hosts: int,
    bandwidth_bps: float = 100e9,
) -> Fabric:
    """Build a tree of three levels with core groups, with one cable between neighbours.

    Parameters
    ----------
    pods, leaves, spines : number of pods, and of leaves and spines per pod
    groups, cores : number of core groups, and of cores per group; a pod's spines are divided equally among them, in order
    hosts : endpoints per leaf
    """
    leaf = np.arange(pods * leaves)
    spine = pods * leaves + np.arange(pods * spines)
    first_core = pods * (leaves + spines)
    leaf_up = np.repeat(leaf, spines)
    spine_of = pods * leaves + (leaf_up // leaves) * spines + np.tile(np.arange(spines), leaf.size)
    spine_up = np.repeat(spine, cores)
    number = spine_up - pods * leaves
    core_of = first_core + (number % spines) // (spines // groups) * cores + np.tile(np.arange(cores), spine.size)
    host_leaf = np.repeat(leaf, hosts)
    counts = (pods * leaves, pods * spines, groups * cores)
    level = np.repeat([0, 1, 2], counts)
    group = np.concatenate([leaf // leaves, np.arange(pods * spines) // spines, np.full(groups * cores, -1)])
    names = [f"{_NAMES[n]}{i}" for n, count in enumerate(counts) for i in range(count)]
    return _build_tree(
        name,
        made_by,
        names,
        level,
        group,
        host_leaf,
        [(leaf_up, spine_of), (spine_up, core_of)],
        bandwidth_bps,
        {"pods": pods, "core_groups": groups},
    )


#: The largest present machines have half a million.
MOST_CABLES = 2_000_000


def build_xgft(
    h: int, m: Sequence[int], w: Sequence[int], p: Sequence[float] | None = None, *, bandwidth_bps: float = 100e9
) -> Fabric:
    """Build XGFT(h; m; w) with switches on levels 1 to h over prod(m) endpoints.

    Parameters
    ----------
    h : int
        Number of switch levels.
    m, w : sequences of h ints
        Children of a level-l switch, parents of a level-(l-1) vertex; w[0] is 1.
    p : sequence of h numbers, optional
        Cables between a level-(l-1) vertex and each of its parents; 1.5 alternates 1 and 2. Each cable is a separate link.
    bandwidth_bps : float
        Bandwidth of every cable.
    """
    counts, ups, cables = _xgft_cables(h, m, w, p)
    level_of = np.repeat(np.arange(h), counts)
    groups = [np.arange(n) // (n // m[-1]) if h > 2 and at < h - 1 else np.full(n, -1) for at, n in enumerate(counts)]
    if h <= 2:
        groups = [np.zeros(n, int) for n in counts]
    names = [f"{_level_name(at, h)}{i}" for at, n in enumerate(counts) for i in range(n)]
    text = ";".join([str(h), ",".join(map(str, m)), ",".join(map(str, w))] + ([",".join(map(str, p))] if p else []))
    attributes = {"h": h, "m": list(m), "w": list(w), "p": [float(value) for value in cables]}
    host_leaf = np.repeat(np.arange(counts[0]), m[0])
    return _build_tree(
        "xgft-" + re.sub(r"[;,]", "-", text),
        f"xgft:{text}",
        names,
        level_of,
        np.concatenate(groups),
        host_leaf,
        ups,
        bandwidth_bps,
        attributes,
    )


def _xgft_cables(
    h: int, m: Sequence[int], w: Sequence[int], p: Sequence[float] | None, most_cables: int = MOST_CABLES
) -> tuple[list[int], list[tuple[Ints, Ints]], list[Fraction]]:
    """Return switches by level, (lower switch, upper switch) of each cable by level, and cables per pair by level; raises like `build_xgft`."""
    cables = [Fraction(1)] * h if p is None else [Fraction(value).limit_denominator(64) for value in p]
    if h < 1 or len(m) != h or len(w) != h or len(cables) != h or min([*m, *w]) < 1 or min(cables) < 1:
        raise BadRequest(
            f"XGFT(h={h}; m={list(m)}; w={list(w)}; p={None if p is None else list(p)}) is not possible",
            advice="Give h positive numbers for m and w, and cables of at least 1.",
        )
    if w[0] != 1 or cables[0] != 1:
        raise BadRequest("endpoints with several parents are not supported", advice="Use w[0] = 1 and p[0] = 1.")
    counts = [prod(w[:level]) * prod(m[level:]) for level in range(1, h + 1)]
    links = prod(m) + sum(n * up * copies for n, up, copies in zip(counts, w[1:], cables[1:], strict=False))
    if links > most_cables:
        raise TooCostly(
            f"a tree has {float(links):.3g} cables, more than {most_cables:,}",
            advice="Choose a smaller one.",
        )
    starts = np.concatenate([[0], np.cumsum(counts)])
    ups = []
    for level in range(2, h + 1):
        # A vertex of level l - 1 is (a_h .. a_l, b_(l-1) .. b_1); its parents differ in digit l: b_l instead of a_l.
        lower = np.arange(counts[level - 2])
        roots = prod(w[: level - 1])
        high, low = lower // roots, lower % roots
        subtree, child = high // m[level - 1], high % m[level - 1]
        child_of = np.repeat(lower, w[level - 1])
        b = np.tile(np.arange(w[level - 1]), lower.size)
        parent = (np.repeat(subtree, w[level - 1]) * w[level - 1] + b) * roots + np.repeat(low, w[level - 1])
        copies = _spread_cables(cables[level - 1], np.repeat(child, w[level - 1]) + b)
        ups.append((np.repeat(starts[level - 2] + child_of, copies), np.repeat(starts[level - 1] + parent, copies)))
    return counts, ups, cables


def build_planes(
    count: int,
    h: int,
    m: Sequence[int],
    w: Sequence[int],
    p: Sequence[float] | None = None,
    *,
    bandwidth_bps: float = 400e9,
) -> Fabric:
    """Build equal fat trees in parallel, with one NIC of every node in each; no cable joins two of them.

    An accelerator reaches a plane other than its own NIC's through its node, as in DeepSeek-V3's network of eight planes (Zhao et al., ISCA 2025) and
    NCCL's PXN. Therefore each node is a switch below the leaves, with `count` endpoints and a cable to one leaf of each plane.
    Routes by destination (d-mod-k) use the plane of the destination's NIC; adaptive routing and spraying use any plane.

    Parameters
    ----------
    count : int
        Number of planes, and of NICs per node.
    h, m, w, p
        XGFT(h; m; w) of one plane, as in `build_xgft`; its endpoints are the nodes.
    bandwidth_bps : float
        Bandwidth of every cable, and between an accelerator and its node: it sends at its NIC's speed.

    Raises
    ------
    BadRequest, TooCostly
        The fabric is not possible, or it has more than `MOST_CABLES` cables.
    """
    if count < 1:
        raise BadRequest(f"{count} planes are not possible", advice="Give one plane or more.")
    sizes, ups, _ = _xgft_cables(h, m, w, p, max(MOST_CABLES // count - prod(m), 0))
    nodes, switches = prod(m), sum(sizes)
    node, plane = np.repeat(np.arange(nodes), count), np.tile(np.arange(count), nodes)
    # On every level planes are consecutive, so that levels stay in order.
    first = nodes + np.concatenate([[0], np.cumsum(sizes)])[:-1] * count
    level_of = np.repeat(np.arange(h), sizes)
    within = np.arange(switches) - np.repeat(np.cumsum(sizes) - sizes, sizes)

    def in_plane(switch: Ints, one: Ints | int) -> Ints:
        at = level_of[switch]
        return np.asarray(first[at] + one * np.asarray(sizes)[at] + within[switch])

    cables = [(node, in_plane(node // m[0], plane))]
    for low, high in ups:
        pairs = [(in_plane(low, plane_number), in_plane(high, plane_number)) for plane_number in range(count)]
        cables.append((np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])))
    text = ";".join(
        [str(count), str(h), ",".join(map(str, m)), ",".join(map(str, w))]
        + ([",".join(f"{plane_number:g}" for plane_number in p)] if p else [])
    )
    names = [f"node{n}" for n in range(nodes)]
    names += [
        f"{_level_name(at, h)}{plane_number}.{n}"
        for at, size in enumerate(sizes)
        for plane_number in range(count)
        for n in range(size)
    ]
    groups = [np.full(nodes, -1), *(np.repeat(np.arange(count), size) for size in sizes)]
    tree = _build_tree(
        "planes-" + re.sub(r"[;,]", "-", text),
        f"planes:{text}",
        names,
        np.repeat(np.arange(h + 1), [nodes, *(size * count for size in sizes)]),
        np.concatenate(groups),
        node,
        cables,
        bandwidth_bps,
        {"planes": count, "adapters": [f"mlx5_{plane_number}" for plane_number in plane.tolist()]},
    )
    return _of_nodes(tree, node)


def build_rails(rails: int, nodes: int, groups: int, spines: int, *, bandwidth_bps: float = 400e9) -> Fabric:
    """Build a rail-optimised fat tree of two levels: NIC r of all nodes of a group is at the group's leaf r; only spines join rails.

    The layout is that of NVIDIA's reference architecture for DGX systems, whose nodes have eight NICs on eight leaves.

    Parameters
    ----------
    rails : int
        NICs per node, and leaves per group.
    nodes, groups : int
        Nodes per group, and number of groups.
    spines : int
        Number of spines; each leaf has one cable to each.
    bandwidth_bps : float
        Bandwidth of every cable.
    """
    if min(rails, nodes, groups, spines) < 1:
        raise BadRequest(
            f"rails({rails}, {nodes}, {groups}, {spines}) is not possible", advice="Give four positive numbers."
        )
    leaves = groups * rails
    if leaves * (nodes + spines) > MOST_CABLES:
        raise TooCostly(
            f"the tree has {float(leaves * (nodes + spines)):.3g} cables, more than {MOST_CABLES:,}",
            advice="Choose a smaller one.",
        )
    leaf = np.arange(leaves)
    host_leaf = np.repeat(leaf, nodes)
    group, rail = host_leaf // rails, host_leaf % rails
    node = group * nodes + np.arange(host_leaf.size) % nodes
    up = np.repeat(leaf, spines), leaves + np.tile(np.arange(spines), leaves)
    text = f"{rails},{nodes},{groups},{spines}"
    tree = _build_tree(
        f"rails-{text.replace(',', '-')}",
        f"rails:{text}",
        [f"leaf{g}.{r}" for g in range(groups) for r in range(rails)] + [f"spine{n}" for n in range(spines)],
        np.repeat([0, 1], [leaves, spines]),
        np.zeros(leaves + spines, int),
        host_leaf,
        [up],
        bandwidth_bps,
        {"rails": rails, "adapters": [f"mlx5_{rail_number}" for rail_number in rail.tolist()]},
    )
    return _of_nodes(tree, node)


def _of_nodes(tree: Fabric, node: Ints) -> Fabric:
    """Return the same tree with endpoints that share nodes; `node` is the node number of each endpoint."""
    ends = replace(tree.endpoints, node=np.array([f"n{number}" for number in node.tolist()]))
    return replace(tree, endpoints=ends)


def _spread_cables(cables: Fraction, position: Ints) -> Ints:
    """Return the cables of each pair: `cables` on average along `position`, as evenly as integers allow."""
    n, d = cables.numerator, cables.denominator
    return (position + 1) * n // d - position * n // d


def _level_name(at: int, h: int) -> str:
    if h <= 3:
        return _NAMES[at]
    return "leaf" if at == 0 else f"l{at + 1}s"


def _build_tree(
    name: str,
    source: str,
    names: list[str],
    level: Ints,
    group: Ints,
    host_leaf: Ints,
    ups: list[tuple[Ints, Ints]],
    bandwidth_bps: float,
    attributes: dict[str, object],
) -> Fabric:
    """Build a tree fabric; `ups` contains (lower switch, upper switch) per cable, by level. Ports are numbered from 1, down ports first."""
    switches, hosts = len(names), host_leaf.size
    used = np.bincount(host_leaf, minlength=switches)
    host_port = np.arange(hosts) - np.repeat(np.cumsum(used) - used, used)[:hosts] + 1
    # A switch's down ports come before its up ports, so the upper end of every cable is numbered first.
    upper = [_take_ports(high, used) for _, high in ups]
    ports = [(_take_ports(low, used), high_port) for (low, _), high_port in zip(ups, upper, strict=True)]
    low = np.concatenate([pair[0] for pair in ups] + [np.empty(0, int)])
    high = np.concatenate([pair[1] for pair in ups] + [np.empty(0, int)])
    low_port = np.concatenate([pair[0] for pair in ports] + [np.empty(0, int)])
    high_port = np.concatenate([pair[1] for pair in ports] + [np.empty(0, int)])
    endpoint = switches + np.arange(hosts)
    forward = np.concatenate([np.zeros(hosts, int), np.full(low.size, 1)])
    backward = np.concatenate([np.zeros(hosts, int), np.full(low.size, 2)])
    links = both_directions(
        np.concatenate([host_leaf, low]),
        np.concatenate([endpoint, high]),
        np.concatenate([host_port, low_port]),
        np.concatenate([np.ones(hosts, int), high_port]),
        forward,
        backward,
        bandwidth_bps,
        CLASSES,
    )
    return Fabric(
        name=name,
        kind=FabricKind.FAT_TREE,
        technology=Technology.INFINIBAND,
        routers=Routers(name=names, group=group, level=level),
        endpoints=Endpoints(router=host_leaf, port=host_port, node=[f"n{e}" for e in range(hosts)]),
        links=links,
        simulated=True,
        counted_at=CountedAt.SENDER,
        source=source,
        attributes=attributes,
    )


def _take_ports(ends: Ints, used: Ints) -> Ints:
    """Return the next free port (from 1) of each entry's switch; `used` is updated."""
    order = np.argsort(ends, kind="stable")
    counts = np.bincount(ends, minlength=used.size)
    rank = np.empty_like(order)
    rank[order] = np.arange(ends.size) - np.repeat(np.cumsum(counts) - counts, counts)
    port = rank + used[ends] + 1
    used += counts
    return port
