"""Tables of OpenSM's minhop: shortest paths of any kind, with destinations spread evenly over ports, regardless of their traffic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port

Ints = NDArray[np.int64]


def minhop_tables(fabric: Fabric) -> Ints:
    """Return output ports (routers, endpoints), -1 if every path lacks a cable.

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
