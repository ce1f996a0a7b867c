"""Switch tree for schedulers: leaf switches with nodes, and the switches that join them.

Real fabrics are not trees, so switches that reach the same nodes are merged: leaves that share a node with several rails, and the parallel spines
of a fat tree. A dragonfly's middle level is its groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, NodeRole

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Placeholder for an adapter without a node name, and words reserved by Slurm.
_NOT_A_HOST = re.compile(r"H-[0-9a-fA-F]{16}|ALL|DEFAULT", re.IGNORECASE)
#: Maximum length of a name in topology.yaml(5).
_LONGEST_SWITCH = 64
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Switch:
    """A switch in a scheduler's view.

    Attributes
    ----------
    name : str
        Letters, digits, dots, dashes and underscores; unique.
    nodes : tuple of str
        Nodes attached to it; empty above the leaves.
    children : tuple of int
        Indices of the switches below it; empty for a leaf.
    routers : tuple of str
        The fabric's switches that it represents.
    """

    name: str
    nodes: tuple[str, ...]
    children: tuple[int, ...]
    routers: tuple[str, ...]


@dataclass(frozen=True)
class SwitchTree:
    """Switches from the leaves up, so that children come before their parents; a dragonfly's leaves are its routers.

    Attributes
    ----------
    roots : tuple of int
        More than one if parts of the fabric are not connected; jobs cannot span two roots.
    left_out : int
        Number of nodes that do not run jobs: I/O and service nodes, and `nameless`.
    nameless : tuple of str
        Nodes without a name that schedulers accept, such as adapters whose description contains no node name.
    """

    fabric: str
    simulated: bool
    dragonfly: bool
    switches: tuple[Switch, ...]
    roots: tuple[int, ...]
    left_out: int
    nameless: tuple[str, ...] = ()

    def leaves(self) -> list[Switch]:
        return [switch for switch in self.switches if switch.nodes]


def switch_tree(fabric: Fabric) -> SwitchTree:
    """Build the tree of a fabric's compute nodes. Raise BadRequest for a torus, which is not a tree. Raise BadInput if no compute node has a name
    that schedulers accept."""
    if fabric.kind is FabricKind.TORUS:
        raise BadRequest(
            f"{fabric.name} is a torus, and schedulers' switch trees cannot describe one",
            advice="Slurm places jobs on a torus by topology/3d_torus, which needs no file.",
        )
    attached, left_out, nameless = _find_compute_nodes(fabric)
    parts = _Parts(len(fabric.routers))
    for routers in attached.values():
        parts.join(routers)
    tree = _Builder(fabric, parts)
    for node, routers in attached.items():
        tree.nodes.setdefault(parts.of(routers[0]), []).append(node)
    tree.add_leaves()
    if fabric.kind is FabricKind.DRAGONFLY:
        tree.add_groups()
    for level in range(1, int(fabric.routers.level.max(initial=-1)) + 1):
        tree.join_through(level)
    tree.join_through(None)
    return SwitchTree(
        fabric.name,
        fabric.simulated,
        fabric.kind is FabricKind.DRAGONFLY,
        tuple(tree.switches),
        tuple(sorted(set(tree.top.values()))),
        left_out,
        nameless,
    )


def _find_compute_nodes(fabric: Fabric) -> tuple[dict[str, list[int]], int, tuple[str, ...]]:
    """Return the routers of each compute node, ordered by the nodes' first endpoints; the number of other nodes; and the nodes without a name."""
    ends, compute = fabric.endpoints, ROLES.index(NodeRole.COMPUTE)
    routers_of_node: dict[str, list[int]] = {}
    others = {str(node) for node, role in zip(ends.node, ends.role, strict=True) if role != compute}
    for node, router, role in zip(ends.node, ends.router.tolist(), ends.role.tolist(), strict=True):
        if role == compute:
            routers_of_node.setdefault(str(node), []).append(router)
    if not routers_of_node:
        raise BadInput(f"{fabric.name} has no compute node", advice="Import the fabric with its nodes.")
    nameless = tuple(
        node for node in routers_of_node if _NODE_NAME.fullmatch(node) is None or _NOT_A_HOST.fullmatch(node)
    )
    named = {node: routers for node, routers in routers_of_node.items() if node not in nameless}
    # One unnamed node, a spare or a storage server, is accepted; a fabric with only unnamed nodes is rejected.
    if not named:
        raise BadInput(
            f"{nameless[0][:80]!r} is not a host name that a scheduler uses",
            advice="Give the nodes of the fabric the scheduler's names, and import it again.",
        )
    return named, len(others - routers_of_node.keys()) + len(nameless), nameless


class _Parts:
    """Sets of merged routers (union with the least as representative)."""

    def __init__(self, count: int) -> None:
        self._up = list(range(count))

    def of(self, router: int) -> int:
        while self._up[router] != router:
            self._up[router] = self._up[self._up[router]]
            router = self._up[router]
        return router

    def join(self, routers: Iterable[int]) -> None:
        first, *others = (self.of(router) for router in routers)
        for other in others:
            low, high = sorted((self.of(first), self.of(other)))
            self._up[high] = low


class _Builder:
    """Switches built so far; `top` is the current top switch of each part."""

    def __init__(self, fabric: Fabric, parts: _Parts) -> None:
        self.fabric = fabric
        self.parts = parts
        self.nodes: dict[int, list[str]] = {}
        self.switches: list[Switch] = []
        self.top: dict[int, int] = {}
        self._names: set[str] = set()
        links = fabric.links
        between = fabric.router_links()
        self._ends = np.stack((links.src[between], links.dst[between]), axis=1)

    def add_leaves(self) -> None:
        members: dict[int, list[int]] = {}
        for router in range(len(self.fabric.routers)):
            members.setdefault(self.parts.of(router), []).append(router)
        for part in sorted(self.nodes):
            names = tuple(str(self.fabric.routers.name[router]) for router in members[part])
            self.top[part] = self._add_switch(names[0], tuple(self.nodes[part]), (), names)

    def add_groups(self) -> None:
        """Add a switch for each group of several leaves."""
        by_group: dict[int, list[int]] = {}
        for part in self.top:
            by_group.setdefault(int(self.fabric.routers.group[part]), []).append(part)
        for group, parts in sorted(by_group.items()):
            if group >= 0 and len(parts) > 1:
                self._add_parent(parts, f"group{group}", ())

    def join_through(self, level: int | None) -> None:
        """Add a switch for each set of parts joined by routers up to `level` (None: by any router), if there are several parts."""
        levels = self.fabric.routers.level
        wider = _Parts(len(self.fabric.routers))
        for part in {self.parts.of(router) for router in range(len(self.fabric.routers))}:
            wider.join([part])
        for router in range(len(self.fabric.routers)):
            wider.join([router, self.parts.of(router)])
        within = np.ones(len(levels), bool) if level is None else levels <= level
        for a, b in self._ends[within[self._ends].all(axis=1)].tolist():
            wider.join([a, b])
        joined: dict[int, list[int]] = {}
        for part in self.top:
            joined.setdefault(wider.of(part), []).append(part)
        for whole, parts in sorted(joined.items()):
            if len({self.top[part] for part in parts}) < 2:
                continue
            spines = [r for r in np.flatnonzero(levels == level).tolist() if wider.of(r) == whole] if level else []
            names = tuple(str(self.fabric.routers.name[router]) for router in spines)
            self._add_parent(
                parts, names[0] if len(names) == 1 else f"level{level}" if level else self.fabric.name, names
            )

    def _add_parent(self, parts: list[int], name: str, routers: tuple[str, ...]) -> None:
        children = tuple(sorted({self.top[part] for part in parts}))
        number = self._add_switch(name, (), children, routers)
        for part in parts:
            self.top[part] = number

    def _add_switch(
        self, name: str, nodes: tuple[str, ...], children: tuple[int, ...], routers: tuple[str, ...]
    ) -> int:
        self.switches.append(Switch(self._unique_name(name), nodes, children, routers))
        return len(self.switches) - 1

    def _unique_name(self, name: str) -> str:
        """Return `name` in the characters that all formats accept, with a number if it is already used."""
        plain = _OTHER.sub("-", name).strip("-.")[: _LONGEST_SWITCH - 6] or "switch"
        candidate, count = plain, 1
        while candidate in self._names:
            count += 1
            candidate = f"{plain}-{count}"
        self._names.add(candidate)
        return candidate
