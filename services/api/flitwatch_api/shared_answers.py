"""Answers that many viewers share: worked once for all who ask meanwhile, and kept until an event says that they changed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from flitwatch_api.answers import CachedAnswer
from flitwatch_db.core.events import Event

#: How long an answer is kept whatever the events say: a row may be written by somebody who tells nobody.
KEPT_S = 2.0
#: What sums of counters depend on.
OF_COUNTERS = frozenset({"counters", "fabric"})
#: What an answer with gaps, jobs and routes beside them depends on.
OF_EVERYTHING = OF_COUNTERS | {"gap", "job", "routes"}

#: How many events of each kind were seen when the work on an answer began.
Mark = tuple[int, ...]


@dataclass(frozen=True)
class _Kept:
    answer: CachedAnswer
    mark: Mark
    expires_s: float


class SharedAnswers:
    """Works answers once and keeps them.

    A key must hold all that an answer depends on: the fabric's version, the query, and how names are shown to the caller. Whether the caller may ask at all
    is decided before.

    Parameters
    ----------
    most_bytes : int
        Memory for answers; those not used for longest go first.
    hears : callable
        Whether events come from the database. While they do not, nothing is kept.
    """

    def __init__(self, most_bytes: int, hears: Callable[[], bool]) -> None:
        self._most, self._hears = most_bytes, hears
        self._seen: Counter[tuple[str, int | None]] = Counter()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._working: dict[Hashable, asyncio.Task[CachedAnswer]] = {}
        self.bytes = 0

    def on_event(self, event: Event) -> None:
        """Notes what changed: answers from before are not given any more, and work from before is not joined."""
        payload = event.payload if isinstance(event.payload, dict) else {}
        fabric_id = payload.get("fabric_id")
        self._seen[event.kind, fabric_id if isinstance(fabric_id, int) else None] += 1

    async def get(
        self, key: Hashable, fabric_id: int, kinds: frozenset[str], work: Callable[[], Awaitable[CachedAnswer]]
    ) -> CachedAnswer:
        """The answer of a key: kept, or that of the work that is under way, or of new work.

        Parameters
        ----------
        kinds : frozenset of str
            Events that change the answer: those that name this fabric or none.
        work : callable
            Makes it. It goes on when the first caller leaves; its error is raised for all who wait for it and is not kept.
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
            # Whoever waited for it may have left.
            task.exception()
