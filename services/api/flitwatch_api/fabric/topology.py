"""Fabric with derived arrays for requests: positions of counters, classes and groups."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.answers import CachedAnswer, cache_json
from flitwatch_api.events.hub import Hub
from flitwatch_db.core.columns import Connection
from flitwatch_db.core.events import Event
from flitwatch_db.fabrics import reads
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.fabrics.reads import FabricHead
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_domain.importers.slingshot import MOST_PORT, jack_name

#: Classes with sums in columns of the router tables.
COLUMN_CLASSES = ("green", "black", "blue")


@dataclass(frozen=True, eq=False)
class Topology:
    """One version of a fabric, with derived data."""

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
                f"{self.head.name} has no link class {link_class[:40]!r}",
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
        return str(self.fabric.links.classes[self.fabric.links.link_class[link]])

    def vertex_ends(self, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the routers at the two ends of links; for a terminal link, its router at both ends."""
        links = self.fabric.links
        router_of = np.concatenate((np.arange(self.size), np.asarray(self.fabric.endpoints.router, dtype=np.int64)))
        return router_of[links.src[mask]], router_of[links.dst[mask]]


T = TypeVar("T")

#: Most topologies in memory; the largest (3,264 routers, 150,960 links) takes some 10 MB.
MOST = 16
REACH_S = 2.0
PORTS_LATE_S = 30
SIZES_S = 600.0
#: Memory for cached responses about topologies.
MOST_KEPT_BYTES = 64 << 20
COUNTED_S = 60.0
#: Span of newest data from which counted routers and usual tile counts are determined.
RECENT_S = 86_400
USUAL_S = 900


class Topologies:
    """Loads topologies and tracks the extent of their data.

    Parameters
    ----------
    hub : Hub
        Provides the end of each fabric's complete rows.
    in_thread : callable
        `in_thread(role, work)` runs blocking work on a connection of that role.
    """

    def __init__(self, hub: Hub, in_thread: Callable[[Any, Callable[[Any], Any]], Awaitable[Any]]) -> None:
        self._hub = hub
        self._in_thread = in_thread
        self._held: OrderedDict[tuple[int, str], Topology] = OrderedDict()
        self._loading: dict[tuple[int, str], asyncio.Task[Topology]] = {}
        self._facts: dict[tuple[Any, ...], tuple[float, Any]] = {}
        self._kept: OrderedDict[tuple[Any, ...], CachedAnswer] = OrderedDict()
        self._made: dict[tuple[int, str], tuple[str, Any]] = {}

    def on_event(self, event: Event) -> None:
        """Drop the topology of a changed fabric."""
        if event.kind == "fabric":
            self._facts.clear()

    async def get(self, conn: Connection, name_or_id: str) -> Topology:
        """Return the current topology of a fabric. Raise NotFound."""
        return await self.of(await reads.find_fabric_head(conn, name_or_id))

    async def of(self, head: reads.FabricHead) -> Topology:
        """Return the topology of a fabric's row."""
        key = (head.fabric_id, head.version)
        topology = self._held.get(key)
        if topology is not None:
            self._held.move_to_end(key)
            return topology
        # Concurrent callers wait for the same load, which continues if the first caller leaves.
        task = self._loading.get(key)
        if task is None:
            task = asyncio.create_task(self._load_topology(head))
            self._loading[key] = task
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)

    async def _load_topology(self, head: reads.FabricHead) -> Topology:
        fabric = await self._in_thread("reader", lambda conn: fabrics.load_fabric(conn, head.fabric_id))
        topology = Topology(head, fabric)
        for old in [key for key in self._held if key[0] == head.fabric_id]:
            del self._held[old]
        self._held[head.fabric_id, head.version] = topology
        while len(self._held) > MOST:
            self._held.popitem(last=False)
        return topology

    async def kept(self, topology: Topology, what: tuple[Any, ...], make: Callable[[], Any]) -> CachedAnswer:
        """Return a cached response about a topology, computed once in a thread: links of a large machine take a tenth of a second."""
        key = (*topology.key, *what)
        cached_answer = self._kept.get(key)
        if cached_answer is None:
            cached_answer = await asyncio.to_thread(lambda: cache_json(make()))
            self._kept[key] = cached_answer
            while sum(entry.bytes for entry in self._kept.values()) > MOST_KEPT_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return cached_answer

    async def made(self, topology: Topology, what: str, make: Callable[[], T]) -> T:
        """Return a value derived from a topology, computed once in a thread. Only the newest value of each kind and fabric is kept."""
        key = (topology.head.fabric_id, what)
        entry = self._made.get(key)
        if entry is None or entry[0] != topology.head.version:
            entry = (topology.head.version, await asyncio.to_thread(make))
            self._made[key] = entry
        value: T = entry[1]
        return value

    async def reach(self, conn: Connection, head: reads.FabricHead) -> reads.Reach:
        """Return the extent of the counters, at most two seconds old."""
        if head.snapshot:
            return reads.Reach(None, None, {})
        return await self._cached_fact(
            ("reach", head.fabric_id), REACH_S, lambda: reads.load_reach(conn, head.fabric_id)
        )

    async def sizes(self, conn: Connection, head: reads.FabricHead) -> tuple[int, int, int, list[int]]:
        """Return the numbers of routers, endpoints and links, and the groups."""
        key = ("sizes", head.fabric_id, head.version)
        return await self._cached_fact(key, SIZES_S, lambda: reads.count_devices(conn, head.fabric_id))

    async def complete_s(self, conn: Connection, head: reads.FabricHead) -> int | None:
        """Return the end of complete rows: the writer's last report, or the end of the newest row."""
        await self._hub.learn(conn)
        through_s = self._hub.through.get(head.fabric_id)
        reach = await self.reach(conn, head)
        if through_s is None or reach.last_s is None:
            return reach.last_s
        return int(through_s)

    async def ports_complete_s(self, conn: Connection, head: reads.FabricHead) -> int | None:
        """Return the same for port counters. Without a writer's report, they are assumed to be written within half a minute."""
        complete = await self.complete_s(conn, head)
        ports_through_s = self._hub.ports_through.get(head.fabric_id)
        if ports_through_s is not None and complete is not None:
            return int(ports_through_s)
        heard = head.fabric_id in self._hub.through
        return complete - PORTS_LATE_S if heard and complete is not None else complete

    async def sampled(self, conn: Connection, topology: Topology) -> NDArray[np.bool_]:
        """Return bool[R]: routers with counters in the newest day of data."""
        head = topology.head

        async def read() -> NDArray[np.bool_]:
            reach = await self.reach(conn, head)
            mask = np.zeros(topology.size, dtype=bool)
            if reach.last_s is not None or head.snapshot:
                since = (reach.last_s or 0) - RECENT_S
                router_numbers = await reads.counted_routers(
                    conn, head.fabric_id, head.snapshot, max(0, since - since % 3600)
                )
                mask[router_numbers[router_numbers < topology.size]] = True
            return mask

        return await self._cached_fact(("sampled", *topology.key), COUNTED_S, read)

    async def usual_tiles(self, conn: Connection, topology: Topology) -> NDArray[np.float64]:
        """Return float64[R]: tile-seconds per second of a fully counted router, from the newest data; NaN if never counted."""
        head = topology.head

        async def read() -> NDArray[np.float64]:
            reach = await self.reach(conn, head)
            if reach.last_s is None:
                return np.full(topology.size, np.nan)
            rates = await reads.usual_tile_seconds(
                conn, head.fabric_id, reach.last_s - USUAL_S, reach.last_s, topology.size
            )
            # A machine's Aries routers or Slingshot switches are alike, so a comparison reveals missing tiles.
            alike = head.technology in ("cray_xc", "slingshot") and not np.all(np.isnan(rates))
            return np.full(topology.size, np.nanmax(rates)) if alike else rates

        return await self._cached_fact(("usual", *topology.key), COUNTED_S, read)

    async def _cached_fact(self, key: tuple[Any, ...], seconds: float, read: Callable[[], Awaitable[T]]) -> T:
        entry = self._facts.get(key)
        now = time.monotonic()
        if entry is not None and entry[0] > now:
            fact: T = entry[1]
            return fact
        value = await read()
        if len(self._facts) > 1000:
            self._facts.clear()
        self._facts[key] = (now + seconds, value)
        return value
