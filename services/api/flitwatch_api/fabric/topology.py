"""Fabric with derived arrays for requests: positions of counters, classes and groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.fabrics.reads import FabricHead
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.importers.slingshot import MOST_PORT, jack_name

#: Classes with sums in columns of the router tables.
COLUMN_CLASSES = ("green", "black", "blue")


@dataclass(frozen=True, eq=False)
class Topology:
    """One version of a fabric, with derived data.

    Attributes
    ----------
    head : FabricHead
    fabric : Fabric
    """

    head: FabricHead
    fabric: Fabric

    @property
    def size(self) -> int:
        """Return the number of routers, R."""
        return len(self.fabric.routers)

    @property
    def key(self) -> tuple[int, str]:
        """Return a key that changes with the fabric."""
        return self.head.fabric_id, self.head.version

    @cached_property
    def group(self) -> NDArray[np.int32]:
        """Return the group of each router; -1 if unknown."""
        return np.asarray(self.fabric.routers.group, dtype=np.int32)

    @cached_property
    def network(self) -> NDArray[np.bool_]:
        """Return bool[L]: links between routers."""
        return self.fabric.router_links()

    @cached_property
    def counted(self) -> NDArray[np.int32]:
        """Return int32[R, P]: the link counted at each port, -1 if none."""
        return self.fabric.counted_links()

    @cached_property
    def network_port(self) -> NDArray[np.bool_]:
        """Return bool[R, P]: ports that count a link between routers."""
        return (self.counted >= 0) & self.network[self.counted]

    @cached_property
    def classes(self) -> list[str]:
        """Return the classes of existing links between routers, in the order of their codes."""
        used = np.unique(self.fabric.links.link_class[self.network])
        return [str(self.fabric.links.classes[code]) for code in used]

    def ports_of(self, link_class: str) -> NDArray[np.bool_]:
        """Return bool[R, P]: ports that count a link of that class."""
        return self.network_port & self.fabric.of_class(link_class)[self.counted]

    @cached_property
    def by_columns(self) -> bool:
        """Return whether the router tables contain the sums of every class."""
        return all(name in COLUMN_CLASSES for name in self.classes)

    @cached_property
    def pair_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the ports that count links between two groups: router[n], port[n], pair[n] = sender index x groups + receiver index."""
        links = self.fabric.links
        groups = np.asarray(self.fabric.groups)
        router, port = np.nonzero(self.network_port)
        link = self.counted[router, port]
        src, dst = self.group[links.src[link]], self.group[links.dst[link]]
        apart = (src >= 0) & (dst >= 0) & (src != dst)
        pair = np.searchsorted(groups, src[apart]) * len(groups) + np.searchsorted(groups, dst[apart])
        return router[apart], port[apart], pair

    def check_class(self, link_class: str | None) -> None:
        """Raise BadRequest if no link between routers has that class."""
        if link_class is not None and link_class not in self.classes:
            raise BadRequest(
                f"links of {self.head.name} have no class {link_class[:40]!r}",
                advice=f"Choose one of {', '.join(self.classes) or 'none'}.",
            )

    def check_router(self, router: int) -> None:
        """Raise NotFound if the router does not exist."""
        if not 0 <= router < self.size:
            raise NotFound(f"{self.head.name} has no router {router}", advice=f"Routers are 0 to {self.size - 1}.")

    def in_group(self, group: int) -> NDArray[np.int64]:
        """Return the routers of a group. Raise NotFound if it has none."""
        routers = np.flatnonzero(self.group == group)
        if group < 0 or not len(routers):
            raise NotFound(
                f"{self.head.name} has no group {group}",
                advice=f"Groups: {', '.join(map(str, self.fabric.groups[:100])) or 'none'}.",
            )
        return routers

    def port_name(self, router: int, port: int) -> str:
        """Return the vendor's port name: an Aries tile by row and column, a Slingshot port by its jack, an Ethernet port by its own name."""
        names = self.fabric.attributes.get("port_names")
        if isinstance(names, list) and router < len(names) and 0 <= port < len(names[router]):
            return str(names[router][port])
        if self.fabric.technology is Technology.CRAY_XC and 0 <= port < 48:
            return f"{port // 8}_{port % 8}"
        if self.fabric.technology is Technology.SLINGSHOT and not self.fabric.simulated and 0 <= port <= MOST_PORT:
            return jack_name(port)
        return str(port)

    def link_class(self, link: int) -> str:
        """Return the class of a link."""
        return str(self.fabric.links.classes[self.fabric.links.link_class[link]])

    def vertex_ends(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the routers at the two ends of links; for a terminal link, its router at both ends."""
        links = self.fabric.links
        router_of = np.concatenate((np.arange(self.size), np.asarray(self.fabric.endpoints.router, dtype=np.int64)))
        return router_of[links.src[mask]], router_of[links.dst[mask]]
