"""Topologies by version: loaded once, dropped when the fabric changes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.answers import CachedAnswer, cache_json
from flitwatch_api.events.hub import Hub
from flitwatch_api.fabric.topology import Topology
from flitwatch_db.core.columns import Connection
from flitwatch_db.core.events import Event
from flitwatch_db.fabrics import reads
from flitwatch_db.fabrics import store as fabrics

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
