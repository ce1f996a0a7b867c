"""Small trees, and their exact bounds as an oracle."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp

from flitwatch_domain.fabric import Fabric

#: Two and three levels, tapered and not.
TREES = [
    (2, [2, 3], [1, 3]),
    (2, [3, 3], [1, 2]),
    (3, [2, 2, 2], [1, 2, 2]),
    (3, [2, 2, 3], [1, 2, 1]),
    (3, [1, 2, 2], [1, 3, 2]),
]


def ways(fabric: Fabric, source: int, to: int) -> list[list[int]]:
    """Shortest ways of links from leaf to leaf: over one spine, else over a core."""
    links = fabric.links
    after: dict[int, list[int]] = {}
    for link in np.flatnonzero(fabric.router_links()).tolist():
        after.setdefault(int(links.src[link]), []).append(link)
    found: list[list[int]] = [[]]
    level = np.asarray(fabric.routers.level)
    pods = np.asarray(fabric.routers.group)
    for hop in range(2 if level.max() == 1 or pods[source] == pods[to] else 4):
        grown = [[*way, link] for way in found for link in after.get(int(links.dst[way[-1]]) if way else source, [])]
        half = 1 if level.max() == 1 or pods[source] == pods[to] else 2
        found = [way for way in grown if (level[links.dst[way[-1]]] > level[links.src[way[-1]]]) == (hop < half)]
    return [way for way in found if links.dst[way[-1]] == to]


def demands(fabric: Fabric, src: np.ndarray, dst: np.ndarray, size: np.ndarray) -> dict[tuple[int, int], float]:
    """Bytes of (leaf, endpoint), as tables see them."""
    leaf = fabric.endpoints.router
    found: dict[tuple[int, int], float] = {}
    for a, b, amount in zip(src.tolist(), dst.tolist(), size.tolist(), strict=True):
        if leaf[a] != leaf[b]:
            found[int(leaf[a]), b] = found.get((int(leaf[a]), b), 0.0) + amount
    return found


def exact(fabric: Fabric, items: dict[tuple[int, int], float], one_port: bool) -> float | None:
    """The least largest load; None if some item has no path."""
    leaf, links = fabric.endpoints.router, fabric.links
    listed = [(item, way) for item in items for way in ways(fabric, item[0], int(leaf[item[1]]))]
    if {item for item, _ in listed} != set(items):
        return None
    used = sorted({(int(links.src[link]), item[1], link) for item, way in listed for link in way})
    count, ports = len(listed), {key: len(listed) + n for n, key in enumerate(used)} if one_port else {}
    width = count + len(ports) + 1
    equal = np.zeros((len(items), width))
    below: list[np.ndarray] = []
    limits: list[float] = []
    for n, item in enumerate(items):
        equal[n, [k for k, (one, _) in enumerate(listed) if one == item]] = 1
    for link in sorted({link for _, way in listed for link in way}):
        row = np.zeros(width)
        for k, (item, way) in enumerate(listed):
            row[k] = items[item] * (link in way)
        row[-1] = -1
        below.append(row)
        limits.append(0)
    for k, (item, way) in enumerate(listed if one_port else []):
        for link in way:
            row = np.zeros(width)
            row[k], row[ports[int(links.src[link]), item[1], link]] = 1, -1
            below.append(row)
            limits.append(0)
    for key in {key[:2] for key in ports}:
        row = np.zeros(width)
        row[[at for one, at in ports.items() if one[:2] == key]] = 1
        below.append(row)
        limits.append(1)
    cost = np.r_[np.zeros(width - 1), 1]
    if not one_port:
        return float(linprog(cost, np.array(below), limits, equal, np.ones(len(items)), bounds=(0, None)).fun)
    whole = np.r_[np.ones(width - 1), 0]
    rules = [LinearConstraint(np.array(below), -np.inf, limits), LinearConstraint(equal, 1, 1)]
    box = Box(np.zeros(width), np.r_[np.ones(width - 1), np.inf])
    return float(milp(cost, constraints=rules, integrality=whole, bounds=box).fun)
