"""Loads of the tables of other routings, all scored by the same check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.forwarding import check_routes, links_by_port
from flitwatch_routing.greedy import greedy_tables
from flitwatch_routing.switch_lids import complete_tables, towards_switches
from flitwatch_routing.tree import on_leaves

Traffic = tuple[NDArray, NDArray, NDArray]

#: Names, and their tables for (fabric, traffic, seed).
BASELINES: dict[str, Callable[[Fabric, Traffic, int], NDArray[np.int64]]] = {
    "ftree": lambda fabric, traffic, seed: ftree_tables(fabric),
    "random": lambda fabric, traffic, seed: random_tables(fabric, seed),
    "greedy": lambda fabric, traffic, seed: greedy_tables(fabric, traffic),
    "minhop": lambda fabric, traffic, seed: minhop_tables(fabric),
}

Ints = NDArray[np.int64]


def minhop_tables(fabric: Fabric) -> Ints:
    """Return output ports (routers, endpoints) of OpenSM's minhop, -1 if every path lacks a cable. They ignore the traffic.

    For each endpoint, each switch chooses the port with the fewest endpoints so far, and the lowest on ties, among ports that shorten the path. With
    failed cables, such paths can go down and up again, and can therefore deadlock.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import shortest_path

    routers, leaf_of = len(fabric.routers), fabric.endpoints.router.astype(np.int64)
    links, out = fabric.links, links_by_port(fabric)
    between = np.flatnonzero(fabric.router_links())
    src, dst = links.src[between].astype(np.int64), links.dst[between].astype(np.int64)
    graph = coo_matrix((np.ones(len(src)), (src, dst)), (routers, routers)).tocsr()
    hops = shortest_path(graph, unweighted=True)  # (from, to)
    head = np.where(out >= 0, links.dst[out], routers).astype(np.int64)
    inside = head < routers
    host_port = np.full(len(leaf_of), -1)
    hosts = np.flatnonzero((links.src < routers) & (links.dst >= routers))
    host_port[links.dst[hosts].astype(np.int64) - routers] = links.src_port[hosts]
    ports, endpoint_counts = np.full((routers, len(leaf_of)), -1), np.zeros(out.shape)
    every = np.arange(routers)
    for leaf in np.unique(leaf_of).tolist():
        nearer = inside & (hops[np.where(inside, head, 0), leaf] == hops[:, leaf, None] - 1)
        reach = nearer.any(axis=1)
        for end in np.flatnonzero(leaf_of == leaf).tolist():
            port = np.argmin(np.where(nearer, endpoint_counts, np.inf), axis=1)
            ports[reach, end] = port[reach]
            endpoint_counts[every[reach], port[reach]] += 1
            ports[leaf, end] = host_port[end]
    return ports


def compare_baselines(
    fabric: Fabric, slots: Sequence[Traffic], seed: int, stopped: Callable[[], bool] = lambda: False
) -> dict[str, float | None]:
    """Return the bytes of the busiest link between switches, summed over time slots, for each baseline of a fat tree with one LID per endpoint.

    Baselines get the summed traffic of all slots. The value is None if tables lose traffic, or if `stopped` before they were computed.
    """
    between = fabric.router_links()
    src, dst, size = (np.concatenate(column) for column in zip(*slots, strict=True))
    peak_bytes: dict[str, float | None] = dict.fromkeys(BASELINES)
    placed = on_leaves(fabric)
    towards = None if placed.all() else towards_switches(fabric)
    for name, tables in BASELINES.items():
        if stopped():
            break
        ports = tables(fabric, (src, dst, size), seed)
        if towards is not None:
            ports = np.where(placed, ports, complete_tables(fabric, ports, towards))
        checked = [check_routes(fabric, ports, item) for item in slots]
        lost = any(item.lost for item in checked)
        peak_bytes[name] = None if lost else sum(float(item.load[between].max(initial=0.0)) for item in checked)
    return peak_bytes
