"""Fabric with the derived views that other packages compute with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric.arrays import Endpoints, Int32, Links, Routers
from flitwatch_domain.fabric.words import CountedAt, FabricKind, Technology

#: InfiniBand's descriptions have at most 64 bytes, cnames fewer. Longer texts are not names, and do not fit in an index.
LONGEST_NAME = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_name(what: str, name: str, where: str = "") -> None:
    """Raise BadInput for names that are too long for an index or contain control characters."""
    if len(name) > LONGEST_NAME:
        raise BadInput(f"a {what}'s name has {len(name):,} characters; at most {LONGEST_NAME}", where=where)
    if _CONTROL.search(name):
        raise BadInput(f"a {what}'s name contains a control character: {name[:80]!r}", where=where)


class FabricSummary(TypedDict):
    """Figures of a fabric; links are directed and include those to endpoints."""

    fabric: str
    kind: str
    technology: str
    switches: int
    endpoints: int
    nodes: int
    links: int
    links_by_class: dict[str, int]
    groups: list[int]
    warnings: list[str]


@dataclass(frozen=True, eq=False)
class Fabric:
    """Fabric; see `flitwatch_domain.fabric` for vertices, links and ports.

    Attributes
    ----------
    simulated : bool
        True for a generated machine and everything fed by the cluster twin.
    counted_at : CountedAt
        Aries counts at the receiver's input queues, InfiniBand at the sender.
    source : str
        The source file or generator call.
    attributes : dict
        JSON values: grid shape, cabinets per row, tree parameters and the like.
    warnings : tuple of str
        Repairs and doubtful values on import, with file and line.
    """

    name: str
    kind: FabricKind
    technology: Technology
    routers: Routers
    endpoints: Endpoints
    links: Links
    simulated: bool = False
    counted_at: CountedAt = CountedAt.RECEIVER
    source: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", FabricKind(self.kind))
        object.__setattr__(self, "technology", Technology(self.technology))
        object.__setattr__(self, "counted_at", CountedAt(self.counted_at))
        object.__setattr__(self, "warnings", tuple(self.warnings))
        routers, vertices = len(self.routers), len(self.routers) + len(self.endpoints)
        for what, names in (("router", self.routers.name), ("node", self.endpoints.node), ("fabric", [self.name])):
            for text in names:
                check_name(what, str(text))
        _check_range("an endpoint's router", self.endpoints.router, routers)
        _check_range("a link's source", self.links.src, vertices)
        _check_range("a link's destination", self.links.dst, vertices)
        if np.any((self.links.src >= routers) & (self.links.dst >= routers)):
            raise BadInput("a link joins two endpoints without a router between them")
        loops = np.flatnonzero(self.links.src == self.links.dst)
        if loops.size:
            raise BadInput(
                f"link {int(loops[0])} leads from {self.vertex_name(int(self.links.src[loops[0]]))} to itself"
            )

    @property
    def vertices(self) -> int:
        """Return the number of vertices: routers and endpoints."""
        return len(self.routers) + len(self.endpoints)

    @cached_property
    def groups(self) -> list[int]:
        """Return the sorted ids of the groups (pods in a tree); unknown groups (-1) are omitted."""
        return [int(group) for group in np.unique(self.routers.group) if group >= 0]

    @cached_property
    def router_by_name(self) -> dict[str, int]:
        """Return router indices by name."""
        return {name: index for index, name in enumerate(self.routers.name)}

    def vertex_name(self, vertex: int) -> str:
        """Return the router's or node's name of a vertex."""
        routers = len(self.routers)
        return str(self.routers.name[vertex] if vertex < routers else self.endpoints.node[vertex - routers])

    def router_links(self) -> NDArray[np.bool_]:
        """Return a mask (bool[L]) of the links between routers."""
        routers = len(self.routers)
        return (self.links.src < routers) & (self.links.dst < routers)

    def of_class(self, *classes: str) -> NDArray[np.bool_]:
        """Return a mask (bool[L]) of the links of the given classes; a missing class matches no link."""
        codes = [code for code, class_name in enumerate(self.links.classes) if class_name in classes]
        return np.isin(self.links.link_class, codes)

    def counted_links(self) -> Int32:
        """Return the link whose counters are at each port: int32[R, P], -1 if none; P is one above the largest port.

        A link is counted at its destination port if `counted_at` is receiver (Aries input queues), otherwise at its source port. On Cray
        XC both processor tiles of a NIC map to the NIC's link.
        """
        links, routers = self.links, len(self.routers)
        if self.counted_at is CountedAt.RECEIVER:
            vertex, port = links.dst, links.dst_port
        else:
            vertex, port = links.src, links.src_port
        here = np.flatnonzero((vertex < routers) & (port >= 0))
        width = int(port[here].max()) + 1 if here.size else 0
        paired = self.technology is Technology.CRAY_XC
        width = 48 if paired else width
        table = np.full((routers, width), -1, np.int32)
        table[vertex[here], port[here]] = here
        if paired:
            odd = np.arange(41, 48, 2)
            table[:, odd] = np.where(table[:, odd] < 0, table[:, odd - 1], table[:, odd])
        return table

    def summary(self) -> FabricSummary:
        """Return the figures printed by `flitwatch import fabric`."""
        by_class = np.bincount(
            self.links.link_class, weights=self.links.multiplicity, minlength=len(self.links.classes)
        )
        return {
            "fabric": self.name,
            "kind": str(self.kind),
            "technology": str(self.technology),
            "switches": len(self.routers),
            "endpoints": len(self.endpoints),
            "nodes": len(set(self.endpoints.node)),
            "links": int(self.links.multiplicity.sum()),
            "links_by_class": {str(c): int(n) for c, n in zip(self.links.classes, by_class, strict=True) if n},
            "groups": self.groups,
            "warnings": list(self.warnings),
        }


def _check_range(what: str, index: Int32, limit: int) -> None:
    bad = np.flatnonzero((index < 0) | (index >= limit))
    if bad.size:
        raise BadInput(f"{what} is {int(index[bad[0]])} at entry {int(bad[0])}, expected 0 to {limit - 1}")
