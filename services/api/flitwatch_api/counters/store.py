"""Counters in memory: closed buckets, with one array of all routers per column.

A bucket is cached once the writer has declared the time up to its end complete. A late sample can still change it. The writer then reports this
(`late_from` of event `counters`), and every bucket is read again after a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_api.fabric.topology import Topology
from flitwatch_db.core.columns import Connection
from flitwatch_db.core.events import Event
from flitwatch_db.counters import reads

#: Lifetime of a closed bucket, independent of the writer's reports.
BELIEVED_S = 900.0
#: Missing buckets are read in at most this many ranges, otherwise in one.
MOST_RUNS = 4
#: Buckets of a fabric are prefetched for this long after a request for one.
WATCHED_S = 60.0
PAIRS = "pairs"

Reading = Callable[[], AbstractAsyncContextManager[Connection]]
Values = NDArray[np.float64]
Read = Callable[[int, int], Awaitable[dict[str, Values]]]


@dataclass
class Block:
    """Bucket: float64[R] per column (float64[2, G x G] of PAIRS), None if there is no row."""

    expires: float
    columns: dict[str, Values | None] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return 300 + sum(0 if v is None else v.nbytes for v in self.columns.values())


@dataclass
class RecentUse:
    """Recent requests for a fabric in buckets of one width, and their time."""

    topology: Topology
    at: float = 0.0
    names: set[str] = field(default_factory=set)
    pairs: bool = False
    warmed_s: int = 0
    ports_warmed_s: int = 0


class CounterStore:
    """Reads and caches buckets.

    Parameters
    ----------
    reading : callable
        Returns a context manager with a connection, for prefetching.
    most_bytes : int
        Memory for buckets; the least recently used are dropped first.
    """

    def __init__(self, reading: Reading, most_bytes: int) -> None:
        self._reading = reading
        self._most = most_bytes
        self._blocks: OrderedDict[tuple[int, str, int, int], Block] = OrderedDict()
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._asked: dict[tuple[int, int], RecentUse] = {}
        self._warming: set[asyncio.Task[None]] = set()
        self.bytes = 0

    def on_event(self, event: Event) -> None:
        """Drop buckets changed by a late sample, and read a newly closed bucket of a watched fabric."""
        payload = event.payload
        if event.kind != "counters" or not isinstance(payload, dict):
            return
        fabric_id = payload.get("fabric_id")
        if payload.get("late_from"):
            late_s = _epoch_seconds(payload["late_from"]) or 0.0
            for key in [k for k in self._blocks if k[0] == fabric_id and k[3] + k[2] > late_s]:
                self.bytes -= self._blocks.pop(key).bytes
        through_s, ports_s = (_epoch_seconds(payload.get(key)) for key in ("through", "ports_through"))
        if through_s is not None and not self._warming:
            task = asyncio.get_running_loop().create_task(
                self._warm_fabric(fabric_id, int(through_s), int(ports_s or 0))
            )
            self._warming.add(task)
            task.add_done_callback(self._warming.discard)

    async def _warm_fabric(self, fabric_id: object, closed_s: int, ports_s: int) -> None:
        """Read the newest closed buckets of each width requested in the last minute, before a user waits for them."""
        recent = time.monotonic() - WATCHED_S
        for (asked_id, width_s), recent_use in list(self._asked.items()):
            if recent_use.at < recent:
                del self._asked[asked_id, width_s]
            elif asked_id == fabric_id:
                # The next request reports a current error of the database.
                with contextlib.suppress(psycopg.Error):
                    await self._warm_width(
                        recent_use, width_s, closed_s // width_s * width_s, ports_s // width_s * width_s
                    )

    async def _warm_width(self, asked: RecentUse, width_s: int, end: int, ports_end: int) -> None:
        if asked.names and end > asked.warmed_s:
            asked.warmed_s = end
            names = sorted(asked.names)
            async with self._reading() as conn:
                await self.routers(conn, asked.topology, names, end - width_s, end, width_s, end, asked=False)
        if asked.pairs and ports_end > asked.ports_warmed_s:
            asked.ports_warmed_s = ports_end
            async with self._reading() as conn:
                await self.pairs(conn, asked.topology, ports_end - width_s, ports_end, ports_end, asked=False)

    def _note_use(self, topology: Topology, width_s: int) -> RecentUse:
        recent_use = self._asked.setdefault((topology.head.fabric_id, width_s), RecentUse(topology))
        recent_use.topology, recent_use.at = topology, time.monotonic()
        return recent_use

    async def routers(
        self,
        conn: Connection,
        topology: Topology,
        names: Sequence[str],
        from_s: int,
        to_s: int,
        width_s: int,
        closed_s: int,
        asked: bool = True,
    ) -> dict[int, dict[str, Values | None]]:
        """Return the columns of all routers by bucket start, for buckets of `width_s` in [from, to).

        Parameters
        ----------
        names : sequence of str
            Columns of the router tables.
        from_s, to_s : int
            Multiples of `width_s`.
        closed_s : int
            Buckets that end after this are never cached.
        asked : bool
            False: read ahead, which does not count as a use.
        """
        if asked and width_s != 1:
            self._note_use(topology, width_s).names |= set(names)
        fabric_id, size = topology.head.fabric_id, topology.size

        async def of_routers(start: int, end: int, out: dict[str, Values], first: int) -> None:
            rows = await reads.router_rows(conn, fabric_id, names, start, end, width_s)
            inside = rows["router"] < size
            place = (rows["ts"] - first)[inside] // width_s, rows["router"][inside]
            for name in names:
                out[name][place] = rows[name][inside]

        async def read(start: int, end: int) -> dict[str, Values]:
            out = {name: np.full(((end - start) // width_s, size), np.nan) for name in names}
            if width_s not in reads.FABRIC_WIDTHS:
                await of_routers(start, end, out, start)
                return out
            fabric_rows = await reads.fabric_rows(conn, fabric_id, names, start, end, width_s)
            for ts, columns in fabric_rows.values.items():
                for name, values in columns.items():
                    if values is not None:
                        out[name][(ts - start) // width_s, : len(values)] = values[:size]
            for run_start, run_end in _join_neighbours(fabric_rows.due_s, width_s):
                await of_routers(run_start, run_end, out, start)
            return out

        return await self._get_buckets(topology, names, from_s, to_s, width_s, closed_s, read)

    async def pairs(
        self, conn: Connection, topology: Topology, from_s: int, to_s: int, closed_s: int, asked: bool = True
    ) -> dict[int, dict[str, Values | None]]:
        """Return flits and stall cycles between groups under PAIRS, float64[2, G x G], by start of each ten seconds in [from, to)."""
        if asked:
            self._note_use(topology, reads.PORT_BUCKET_S).pairs = True
        router, port, pair = topology.pair_places
        cells = len(topology.fabric.groups) ** 2
        pair_of = np.full(topology.counted.shape, -1, dtype=np.int64)
        pair_of[router, port] = pair
        first, end_port = (int(port.min()), int(port.max()) + 1) if len(port) else (0, 0)
        width = reads.PORT_BUCKET_S

        async def read(start: int, end: int) -> dict[str, Values]:
            count = (end - start) // width
            out = np.full((count, 2, cells), np.nan)
            if not len(port):
                return {PAIRS: out}
            at, ts, flits, stalls = await reads.port_rows(conn, topology.head.fabric_id, start, end, first, end_port)
            inside = at < topology.size
            here = min(flits.shape[-1], len(pair_of[0]) - first)
            cell = pair_of[at[inside], first : first + here]
            index = ((ts[inside] - start) // width)[:, None] * cells + cell
            for kind, values in enumerate((flits, stalls)):
                port_values = values[inside, :here]
                use = (cell >= 0) & ~np.isnan(port_values)
                sums = np.bincount(index[use], weights=port_values[use], minlength=count * cells)
                seen_mask = np.bincount(index[use], minlength=count * cells) > 0
                out[:, kind] = np.where(seen_mask, sums, np.nan).reshape(count, cells)
            return {PAIRS: out}

        return await self._get_buckets(topology, (PAIRS,), from_s, to_s, width, closed_s, read)

    def missing(self, topology: Topology, names: Sequence[str], from_s: int, to_s: int, width_s: int) -> int:
        """Return the number of buckets in [from, to) that are not cached."""
        return len(self._missing_starts(topology, names, from_s, to_s, width_s, time.monotonic()))

    def _missing_starts(
        self, topology: Topology, names: Sequence[str], from_s: int, to_s: int, width_s: int, now: float
    ) -> list[int]:
        absent = []
        for ts in range(from_s, to_s, width_s):
            block = self._blocks.get((*topology.key, width_s, ts))
            if block is None or block.expires < now or any(name not in block.columns for name in names):
                absent.append(ts)
        return absent

    async def _get_buckets(
        self,
        topology: Topology,
        names: Sequence[str],
        from_s: int,
        to_s: int,
        width_s: int,
        closed_s: int,
        read: Read,
    ) -> dict[int, dict[str, Values | None]]:
        buckets: dict[int, dict[str, Values | None]] = {}
        # One reader per fabric: a waiting caller finds the buckets that the other one read. Each caller brings its connection, so none waits for a
        # second one.
        async with self._locks[topology.head.fabric_id]:
            now = time.monotonic()
            absent = self._missing_starts(topology, names, from_s, to_s, width_s, now)
            for ts in set(range(from_s, to_s, width_s)).difference(absent):
                key = (*topology.key, width_s, ts)
                self._blocks.move_to_end(key)
                buckets[ts] = self._blocks[key].columns
            for start, end in _merge_runs(absent, width_s):
                values = await read(start, end)
                for row, ts in enumerate(range(start, end, width_s)):
                    columns = {name: _copy_known(values[name][row]) for name in names}
                    buckets[ts] = columns
                    if ts + width_s <= closed_s:
                        self._keep_bucket((*topology.key, width_s, ts), columns, now + BELIEVED_S)
        self._evict_blocks()
        return buckets

    def _keep_bucket(self, key: tuple[int, str, int, int], columns: dict[str, Values | None], expires: float) -> None:
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = Block(expires)
        elif block.expires < time.monotonic():
            self.bytes -= block.bytes
            block.columns = {}
        else:
            self.bytes -= block.bytes
        block.columns.update(columns)
        block.expires = min(block.expires, expires) if len(block.columns) > len(columns) else expires
        self.bytes += block.bytes
        self._blocks.move_to_end(key)

    def _evict_blocks(self) -> None:
        while self.bytes > self._most and self._blocks:
            _, block = self._blocks.popitem(last=False)
            self.bytes -= block.bytes


def _epoch_seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return None


def _copy_known(row: Values) -> Values | None:
    """Return a copy, so that dropping one bucket frees its memory; None if all values are unknown."""
    return None if bool(np.isnan(row).all()) else row.copy()


def _merge_runs(starts: list[int], width_s: int) -> list[tuple[int, int]]:
    """Return adjacent buckets as [from, to) ranges, or as one range if there are too many."""
    runs = _join_neighbours(starts, width_s)
    return runs if len(runs) <= MOST_RUNS else [(runs[0][0], runs[-1][1])]


def _join_neighbours(starts: list[int], width_s: int) -> list[tuple[int, int]]:
    """Return adjacent buckets as [from, to) ranges."""
    runs: list[tuple[int, int]] = []
    for ts in starts:
        if runs and runs[-1][1] == ts:
            runs[-1] = (runs[-1][0], ts + width_s)
        else:
            runs.append((ts, ts + width_s))
    return runs
