"""Responses shared by many viewers: computed once for concurrent requests, and cached until an event changes them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from flitwatch_api.answers import CachedAnswer
from flitwatch_db.core.events import Event

#: Longest lifetime of a response, independent of events: some rows are written without an event.
KEPT_S = 2.0
#: Events that change sums of counters.
OF_COUNTERS = frozenset({"counters", "fabric"})
#: Events that change a response that also has gaps, jobs and routes.
OF_EVERYTHING = OF_COUNTERS | {"gap", "job", "routes"}

#: Numbers of events of each kind seen before the computation of a response.
Mark = tuple[int, ...]


@dataclass(frozen=True)
class _Kept:
    answer: CachedAnswer
    mark: Mark
    expires_s: float


class SharedAnswers:
    """Computes responses once and caches them.

    A key must contain everything that determines a response: the fabric's version, the query, and the display of names. Access is checked before.

    Parameters
    ----------
    most_bytes : int
        Memory for responses; the least recently used are dropped first.
    hears : callable
        Returns whether events arrive from the database. Otherwise, no response is cached.
    """

    def __init__(self, most_bytes: int, hears: Callable[[], bool]) -> None:
        self._most, self._hears = most_bytes, hears
        self._seen: Counter[tuple[str, int | None]] = Counter()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._working: dict[Hashable, asyncio.Task[CachedAnswer]] = {}
        self.bytes = 0

    def on_event(self, event: Event) -> None:
        """Record a change: earlier responses are no longer returned, and running computations are no longer joined."""
        payload = event.payload if isinstance(event.payload, dict) else {}
        fabric_id = payload.get("fabric_id")
        self._seen[event.kind, fabric_id if isinstance(fabric_id, int) else None] += 1

    async def get(
        self, key: Hashable, fabric_id: int, kinds: frozenset[str], work: Callable[[], Awaitable[CachedAnswer]]
    ) -> CachedAnswer:
        """Return the response of a key: cached, from a running computation, or newly computed.

        Parameters
        ----------
        kinds : frozenset of str
            Events that change the answer: those that name this fabric or none.
        work : callable
            Computes the response. It continues if the first caller leaves. Its error is raised for all waiting callers and is not cached.
        """

        def seen() -> Mark:
            return tuple(self._seen[kind, of] for kind in sorted(kinds) for of in (fabric_id, None))

        mark = seen()
        entry = self._kept.get(key)
        if entry is not None and entry.mark == mark and entry.expires_s > time.monotonic():
            self._kept.move_to_end(key)
            return entry.answer
        task = self._working.get((key, mark))
        if task is None:
            task = asyncio.create_task(self._make_answer(key, mark, seen, work))
            self._working[key, mark] = task
            task.add_done_callback(lambda done: self._end_work((key, mark), done))
        return await asyncio.shield(task)

    async def _make_answer(
        self, key: Hashable, mark: Mark, seen: Callable[[], Mark], work: Callable[[], Awaitable[CachedAnswer]]
    ) -> CachedAnswer:
        expires_s = time.monotonic() + KEPT_S
        answer = await work()
        if self._hears() and seen() == mark:
            self._drop_entry(key)
            self._kept[key] = _Kept(answer, mark, expires_s)
            self.bytes += answer.bytes
            while self.bytes > self._most:
                self._drop_entry(next(iter(self._kept)))
        return answer

    def _drop_entry(self, key: Hashable) -> None:
        old = self._kept.pop(key, None)
        if old is not None:
            self.bytes -= old.answer.bytes

    def _end_work(self, key: Hashable, task: asyncio.Task[CachedAnswer]) -> None:
        self._working.pop(key, None)
        if not task.cancelled():
            # The waiting callers may have left.
            task.exception()
