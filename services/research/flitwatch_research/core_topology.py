"""Topologies, distances and forwarding tables as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flitwatch_core._flow import (
    RouteTable,
    Topology,
    cheapest_routes,
    ftree_routes,
    graph,
    hop_summary,
    hops_between,
    parse_lft_dump,
    table_from_ports,
    torus,
    up_down_routes,
    xgft,
)

__all__ = [
    "RouteTable",
    "Topology",
    "cheapest_routes",
    "ftree_routes",
    "graph",
    "hop_summary",
    "hops_between",
    "parse_lft_dump",
    "table_from_dump",
    "table_from_ports",
    "torus",
    "up_down_routes",
    "xgft",
]


def table_from_dump(
    topology: Topology, text: bytes, router_guid: Sequence[int], endpoint_guid: Sequence[int]
) -> tuple[RouteTable, int]:
    """Read OpenSM's dump of forwarding tables for a topology.

    Parameters
    ----------
    topology : Topology
    text : bytes
        The dump; entries contain the port GUID of their destination.
    router_guid, endpoint_guid : sequences of int, lengths routers and endpoints
        Switch GUIDs and the endpoints' port GUIDs; 0 is unknown.

    Returns
    -------
    (table, ignored)
        `ignored` is the number of entries for switches, or for GUIDs that are not in the topology.

    Raises
    ------
    ValueError
        The text is not a dump (with the line), a switch is not in the topology, or a port has no link.
    """
    switch_guid, names, at_switch, _, port, destination = parse_lft_dump(text)
    routers = {guid: router for router, guid in enumerate(router_guid) if guid}
    unknown = [i for i, guid in enumerate(switch_guid.tolist()) if guid not in routers]
    if unknown:
        name = names[unknown[0]].decode(errors="replace")
        raise ValueError(f"the topology has no switch 0x{int(switch_guid[unknown[0]]):016x} ({name})")
    router = np.array([routers[guid] for guid in switch_guid.tolist()], np.uint32)[at_switch]
    endpoints = {guid: endpoint for endpoint, guid in enumerate(endpoint_guid) if guid}
    endpoint = np.array([endpoints.get(guid, -1) for guid in destination.tolist()], np.int64)
    used = endpoint >= 0
    table = table_from_ports(topology, router[used], endpoint[used].astype(np.uint32), port[used])
    return table, int(np.count_nonzero(~used))
