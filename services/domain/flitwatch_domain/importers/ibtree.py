"""Fabric from InfiniBand or Ethernet switches and cables: levels, pods and link classes.

A leaf is a switch with many hosts, one beyond the cores, or one with a leaf's upward neighbours. Levels count the distance from the leaves. Pods are the
connected parts without the top level. If switches of one level are cabled to each other, the fabric is a graph without levels.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from flitwatch_domain.fabric import (
    ROLES,
    CountedAt,
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    NodeRole,
    Routers,
    Technology,
    both_directions,
)
from flitwatch_domain.importers.ibnames import AdapterName, switch_names
from flitwatch_domain.importers.text import Warnings

if TYPE_CHECKING:
    from flitwatch_domain.importers.ibnames import Device, End

CLASSES = (LinkClass.HOST, LinkClass.UP, LinkClass.DOWN, LinkClass.LINK)
_HOST, _UP, _DOWN, _LINK = range(4)
#: A switch with at least this share of the largest number of hosts on a switch is certainly a leaf.
_SURE_LEAF = 0.5
#: A switch that shares at least this part of its neighbours with a certain leaf is a leaf.
_SAME_NEIGHBOURS = 0.75
#: A switch at this distance from the certain leaves, two levels up and two down, is also a leaf: for management, with few hosts or none.
_BEYOND_CORES = 4
#: The largest unicast LID (InfiniBand specification, volume 1, section 4.1.1). A port that no subnet manager brought up has 65535.
_MOST_LID = 0xBFFF
#: A share of cables within a level up to this counts as exceptions to a tree.
_LEVEL_CABLES = 0.05

Neighbours = dict[int, set[int]]


def assemble_fabric(
    devices: dict[str, Device],
    cables: list[tuple[End, End, float]],
    adapters: dict[str, AdapterName],
    where: str,
    name: str,
    warnings: Warnings,
    technology: Technology = Technology.INFINIBAND,
) -> Fabric:
    """Build the fabric of the devices and their cables; cables between two adapters are omitted with a warning.

    Ethernet switches are named by their unchanged description.
    """
    names = switch_names(devices) if technology is Technology.INFINIBAND else _switch_descriptions(devices)
    order = sorted(names, key=lambda guid: natural_key(names[guid]))
    index = {guid: number for number, guid in enumerate(order)}
    between, hosts = [], []
    for a, b, bandwidth in cables:
        if a[0] in index and b[0] in index:
            between.append((index[a[0]], index[b[0]], a[1], b[1], bandwidth))
        elif a[0] in index or b[0] in index:
            switch, host = (a, b) if a[0] in index else (b, a)
            hosts.append((index[switch[0]], host, switch[1], bandwidth))
        else:
            warnings.add(
                "adapters cabled together", devices[a[0]].line, "two adapters are cabled without a switch: left out"
            )
    hosts.sort(key=lambda host: (host[0], host[2]))
    tenants = np.zeros(len(order), int)
    for owner_switch, adapter, _, _ in hosts:
        tenants[owner_switch] += adapters[adapter[0]].role is not NodeRole.SERVICE
    level = _find_levels(len(order), between, tenants)
    kind = FabricKind.FAT_TREE if level is not None else FabricKind.GRAPH
    if level is None:
        level = np.full(len(order), -1)
    group = _find_pods(between, level)

    low = np.array([row[0] for row in between], int)
    high = np.array([row[1] for row in between], int)
    rise = np.sign(level[high] - level[low]) if low.size else np.empty(0, int)
    forward = np.select([rise > 0, rise < 0], [_UP, _DOWN], _LINK)
    backward = np.select([rise > 0, rise < 0], [_DOWN, _UP], _LINK)
    owner = np.array([row[0] for row in hosts], int)
    endpoint = len(order) + np.arange(owner.size)
    host_class = np.zeros(owner.size, int)
    links = both_directions(
        np.concatenate([low, owner]),
        np.concatenate([high, endpoint]),
        np.array([row[2] for row in between] + [row[2] for row in hosts], int),
        np.array([row[3] for row in between] + [row[1][1] for row in hosts], int),
        np.concatenate([forward, host_class]),
        np.concatenate([backward, host_class]),
        np.array([row[4] for row in between] + [row[3] for row in hosts], float),
        CLASSES,
    )
    adapter_names = [adapters[row[1][0]] for row in hosts]
    lids = [devices[row[1][0]].lid.get(row[1][1], 0) for row in hosts]
    for (_, (guid, port), *_), lid in zip(hosts, lids, strict=True):
        if lid > _MOST_LID:
            warnings.add(
                "adapters without a LID",
                devices[guid].line,
                f"port {port} of H-{guid} has LID {lid}, which is not valid: no subnet manager has brought it up",
            )
    return Fabric(
        name=name,
        kind=kind,
        technology=technology,
        routers=Routers([names[guid] for guid in order], guid=order, group=group, level=level),
        endpoints=Endpoints(
            owner,
            port=[row[2] for row in hosts],
            node=[adapter.node for adapter in adapter_names],
            role=[ROLES.index(adapter.role) for adapter in adapter_names],
            guid=[devices[row[1][0]].port_guid.get(row[1][1], row[1][0]) for row in hosts],
        ),
        links=links,
        counted_at=CountedAt.SENDER,
        source=where,
        attributes={
            "adapters": [adapter.adapter for adapter in adapter_names],
            "adapter_guids": [row[1][0] for row in hosts],
            "adapter_ports": [row[1][1] for row in hosts],
            "adapter_count": len(adapters),
            "switch_lids": [devices[guid].lid.get(0, 0) for guid in order],
            "lids": [lid if lid <= _MOST_LID else 0 for lid in lids],
            "lmc": [devices[row[1][0]].lmc.get(row[1][1], 0) for row in hosts],
            "descriptions": [devices[guid].description for guid in order],
            "device_ids": [devices[guid].device_id for guid in order],
            "models": [devices[guid].model for guid in order],
            "roles": "by name: aggregation units serve, storage servers do I/O, all others compute",
        },
        warnings=warnings.texts(),
    )


def _switch_descriptions(devices: dict[str, Device]) -> dict[str, str]:
    return {guid: device.description for guid, device in devices.items() if device.is_switch}


def _find_levels(count: int, between: list[tuple[int, int, int, int, float]], tenants: np.ndarray) -> np.ndarray | None:
    """Return the level of each switch, or None if the switches do not form a tree."""
    if not tenants.any():
        return None
    neighbours: Neighbours = {switch: set() for switch in range(count)}
    for a, b, *_ in between:
        neighbours[a].add(b)
        neighbours[b].add(a)
    leaves = set(np.flatnonzero(tenants >= _SURE_LEAF * tenants.max()).tolist())
    distance = _measure_distances(neighbours, leaves, count)
    beyond = set(np.flatnonzero(distance >= _BEYOND_CORES).tolist())
    # Switches without a host may be the cores of a tree of five levels.
    if tenants[list(beyond)].any():
        leaves |= beyond
        distance = _measure_distances(neighbours, leaves, count)
    sure = [neighbours[leaf] for leaf in leaves]
    for switch in np.flatnonzero((distance == 2) | (distance < 0)).tolist():
        up = neighbours[switch]
        if not up or any(len(up & other) >= _SAME_NEIGHBOURS * len(up) for other in sure):
            leaves.add(switch)
    level = _measure_distances(neighbours, leaves, count)
    level[level < 0] = 0
    within = sum(level[a] == level[b] for a, b, *_ in between)
    return level if within <= _LEVEL_CABLES * len(between) else None


def _measure_distances(neighbours: Neighbours, start: set[int], count: int) -> np.ndarray:
    """Return the number of cables from the nearest switch of `start`; -1 if unreachable."""
    distance = np.full(count, -1)
    waiting = deque(sorted(start))
    distance[list(start)] = 0
    while waiting:
        here = waiting.popleft()
        for there in neighbours[here]:
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                waiting.append(there)
    return distance


def _find_pods(between: list[tuple[int, int, int, int, float]], level: np.ndarray) -> np.ndarray:
    """Return the pod of each switch: connected parts below the top level, numbered by their first switch; -1 for the top.

    With one or two levels all switches are pod 0.
    """
    top = int(level.max())
    if top < 0:
        return np.full(level.size, -1)
    if top < 2:
        return np.zeros(level.size, int)
    pod = np.arange(level.size)

    def root(switch: int) -> int:
        while pod[switch] != switch:
            pod[switch] = pod[pod[switch]]
            switch = int(pod[switch])
        return switch

    for a, b, *_ in between:
        if level[a] < top and level[b] < top:
            low, high = sorted((root(a), root(b)))
            pod[high] = low
    roots = np.array([root(switch) for switch in range(level.size)])
    below = level < top
    numbers = {first: number for number, first in enumerate(sorted(set(roots[below].tolist())))}
    return np.array([numbers[first] if under else -1 for first, under in zip(roots.tolist(), below, strict=True)])


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a sorting key that puts `leaf2` before `leaf10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]{1,18})", text)]
