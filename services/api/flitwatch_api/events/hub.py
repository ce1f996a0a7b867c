"""Events from the database to every open stream: one LISTEN connection, one bounded queue per stream."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import orjson
import psycopg

from flitwatch_api import problems
from flitwatch_api.answers import dump_json
from flitwatch_db import connect_async
from flitwatch_db.core import events as reads
from flitwatch_db.core.columns import Connection
from flitwatch_db.core.events import Event
from flitwatch_domain.errors import TooMany, Unavailable

log = logging.getLogger(__name__)

#: Most events that a stream can lag behind. A slower stream is closed, and its client reconnects with Last-Event-ID.
QUEUE = 256
BATCH = 500
#: Payload fields that streams send, by kind: numbers, times, states, and names of machines. Of an executable (`exe`), the last path component is
#: sent.
PUBLIC: dict[str, frozenset[str]] = {
    "counters": frozenset({"fabric_id", "through", "ports_through", "routers", "late_from"}),
    "job": frozenset({"job_pk", "job_id", "state"}),
    "run": frozenset({"run_id", "steps"}),
    "task": frozenset({"task_id", "state", "done", "total"}),
    "unplaced": frozenset({"topic", "count"}),
    "gap": frozenset({"device", "from", "to", "reason"}),
    "dead_letter": frozenset({"count", "reason"}),
    "fabric": frozenset({"fabric_id"}),
    "routes": frozenset({"fabric_id", "ts"}),
    "alert": frozenset({"alert_id", "phase", "severity", "value", "fabric", "job_id"}),
    "incident": frozenset({"incident_id", "fabric", "state", "jobs", "slowed"}),
    "forecast": frozenset({
        "run_id", "job_id", "exe", "nodes", "after_steps", "ahead", "expected_s", "low_s", "high_s", "usual_s", "slowdown", "slow", "forecaster",
        "backtest_mape", "simulated",
    }),
    "estimate": frozenset({"kind", "exe", "nodes", "estimate_id"}),
}  # fmt: skip
#: Event kind that tells a client to reload everything.
RESET = "reset"
RETRY_S = (0.5, 1.0, 2.0, 5.0)
#: Longest delay of events if a notification is lost (failover, or a pooler that drops it).
POLL_S = 10.0
#: The listener cancels a longer statement and reconnects.
STATEMENT_S = 30.0


class Stream:
    """Queue of one client. `events` ends with None when the stream must close."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[tuple[int, str, bytes] | None] = asyncio.Queue(QUEUE)
        self.closed = False

    def put(self, item: tuple[int, str, bytes]) -> None:
        """Queue an event, or close a stream that is too slow."""
        if self.closed:
            return
        try:
            self.events.put_nowait(item)
        except asyncio.QueueFull:
            self.close()

    def close(self) -> None:
        """End the stream after its queued events. If the queue is full, the oldest event is dropped."""
        if self.closed:
            return
        self.closed = True
        if self.events.full():
            # The client requests dropped events again: it has not seen their numbers.
            while not self.events.empty():
                self.events.get_nowait()
        self.events.put_nowait(None)


def encode_event(event: Event) -> bytes:
    """Encode an event as text/event-stream. Its JSON contains no line breaks, not even those that only some clients recognise.

    All callers receive the same text, so only payload fields listed in `PUBLIC` are included. Names of people, rules and folders are thus left out,
    even in new kinds and fields.
    """
    kind = "".join(c for c in event.kind if c.isalnum() or c in "_-.") or "message"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.event_id,
        kind.encode(),
        _one_line(dump_json(_public_fields(event))),
    )


def _public_fields(event: Event) -> dict[str, str | float | bool | None]:
    payload = event.payload if isinstance(event.payload, dict) else {}
    listed = PUBLIC.get(event.kind, frozenset())
    shown = {name: value for name, value in payload.items() if name in listed and not isinstance(value, dict | list)}
    if isinstance(exe := shown.get("exe"), str):
        shown["exe"] = exe.rsplit("/", 1)[-1]
    return problems.redact_record(shown) if event.kind == "dead_letter" else shown


def _one_line(text: bytes) -> bytes:
    for mark in ("\x85", "\u2028", "\u2029"):
        text = text.replace(mark.encode(), b"\\u%04x" % ord(mark))
    return text


class Hub:
    """Listens to the database and passes events on.

    Attributes
    ----------
    through : dict
        Per fabric: the end of complete rows according to the writer, in epoch seconds.
    ports_through : dict
        The same for port counters, which are written after their ten seconds.
    last : int
        Number of the newest event.
    """

    def __init__(self, url: str, most_streams: int, most_each: int) -> None:
        self._url = url
        self._most, self._most_each = most_streams, most_each
        self._each: Counter[str] = Counter()
        #: Open streams, oldest first, each with the key of its caller.
        self._streams: dict[Stream, str] = {}
        self._watchers: list[Callable[[Event], None]] = []
        self._task: asyncio.Task[None] | None = None
        self.through: dict[int, float] = {}
        self.ports_through: dict[int, float] = {}
        self.last: int | None = None
        self._last_at: datetime | None = None
        self.listening = False
        self._learnt = False
        self.dropped = 0

    @property
    def streams(self) -> int:
        """Return the number of open streams."""
        return len(self._streams)

    def on_event(self, watcher: Callable[[Event], None]) -> None:
        """Call a function with every event, before the streams receive it."""
        self._watchers.append(watcher)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run_listener())

    async def stop(self) -> None:
        """Close all streams and stop listening."""
        self.close_streams()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def close_streams(self) -> None:
        """End all streams, so that a server that waits for them can stop."""
        for stream in list(self._streams):
            stream.close()

    @contextlib.contextmanager
    def subscribe(self, of: str) -> Iterator[Stream]:
        """Yield a stream for the duration of the context. If all places are taken, the caller with most streams loses its oldest one to a caller with
        fewer.

        Parameters
        ----------
        of : str
            Key of the caller.

        Raises
        ------
        TooMany
            The caller has the maximum number of streams per caller.
        Unavailable
            The maximum number of open streams is reached.
        """
        if self._each[of] >= self._most_each:
            raise TooMany(
                f"{self._most_each} event streams of this caller are open, which is the limit api_streams_each",
                advice="Close pages that you do not need.",
                retry_after_s=10,
            )
        if len(self._streams) >= self._most and not self._close_largest(of):
            raise Unavailable(
                f"{self._most} event streams are open, which is the limit api_streams_max",
                advice="Close pages that you do not need, or try again later.",
            )
        stream = Stream()
        self._streams[stream] = of
        self._each[of] += 1
        try:
            yield stream
        finally:
            stream.closed = True
            self._streams.pop(stream, None)
            self._each[of] -= 1
            if not self._each[of]:
                del self._each[of]

    def _close_largest(self, of: str) -> bool:
        counts = Counter(self._streams.values())
        largest, count = counts.most_common(1)[0]
        if counts[of] + 1 >= count:
            return False
        oldest = next(stream for stream, key in self._streams.items() if key == largest)
        del self._streams[oldest]
        oldest.close()
        return True

    async def _run_listener(self) -> None:
        failures = 0
        while True:
            try:
                async with await connect_async(self._url, "reader", "flitwatch api events", STATEMENT_S) as conn:
                    await reads.listen_for_events(conn)
                    await self._begin(conn)
                    failures = 0
                    self.listening = True
                    await self._follow_events(conn)
            except (psycopg.Error, OSError) as problem:
                log.warning("no events from the database: %s; retrying", str(problem).strip().split("\n")[0])
            except Exception:
                log.exception("the event listener failed; retrying")
            finally:
                self.listening = False
            await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1

    async def learn(self, conn: Connection) -> None:
        """Read the end of complete rows, unless known: right after a start, requests arrive before the listener has started."""
        if not self._learnt:
            await self._read_completeness(conn)

    async def _read_completeness(self, conn: Connection) -> None:
        for fabric_id, (through, ports_through) in (await reads.load_completeness(conn)).items():
            self._note_through(self.through, fabric_id, through)
            self._note_through(self.ports_through, fabric_id, ports_through)
        self._learnt = True

    async def _begin(self, conn: psycopg.AsyncConnection) -> None:
        taken_back = self.last is not None and await reads.emitted_at(conn, self.last) != self._last_at
        if taken_back:
            self.through.clear()
            self.ports_through.clear()
        await self._read_completeness(conn)
        if self.last is None or taken_back:
            self.last = await reads.find_newest_event(conn)
            self._last_at = await reads.emitted_at(conn, self.last)
        if taken_back:
            self._take_back(self.last)

    def _take_back(self, newest: int) -> None:
        """Handle events that were sent but are missing in the database: it crashed, or a standby took over, before their commits were durable.

        Other events reuse their numbers, and rows that they declared complete are written again.
        """
        log.warning("the database has lost its newest events; viewers ask again")
        for fabric_id, through_s in self.through.items():
            late = {"fabric_id": fabric_id, "late_from": datetime.fromtimestamp(through_s, UTC).isoformat()}
            for watcher in self._watchers:
                watcher(Event(newest, datetime.now(UTC), "counters", late))
        self._put_to_streams((newest, RESET, reset_event(newest, "the database lost its newest events")))

    async def _follow_events(self, conn: psycopg.AsyncConnection) -> None:
        while True:
            await self._drain_events(conn)
            async for _ in conn.notifies(timeout=POLL_S, stop_after=1):
                pass

    async def _drain_events(self, conn: psycopg.AsyncConnection) -> None:
        while True:
            batch = await reads.list_events_after(conn, self.last or 0, BATCH)
            for event in batch:
                self._hand_on(event)
            if len(batch) < BATCH:
                return

    def _hand_on(self, event: Event) -> None:
        self.last, self._last_at = event.event_id, event.at
        payload = event.payload if isinstance(event.payload, dict) else {}
        if event.kind == "counters" and isinstance(payload.get("fabric_id"), int):
            self._note_through(self.through, payload["fabric_id"], payload.get("through"))
            self._note_through(self.ports_through, payload["fabric_id"], payload.get("ports_through"))
        for watcher in self._watchers:
            watcher(event)
        self._put_to_streams((event.event_id, event.kind, encode_event(event)))

    def _put_to_streams(self, item: tuple[int, str, bytes]) -> None:
        for stream in list(self._streams):
            stream.put(item)
            if stream.closed:
                self.dropped += 1
                self._streams.pop(stream, None)

    def _note_through(self, into: dict[int, float], fabric_id: int, through: object) -> None:
        # Never move back: late counters of the past end before the known time.
        try:
            into[fabric_id] = max(datetime.fromisoformat(str(through)).timestamp(), into.get(fabric_id, -math.inf))
        except (ValueError, OverflowError):
            return


def reset_event(number: int, reason: str) -> bytes:
    """Return an event that tells a client that events are missing and that it should reload everything."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, RESET.encode(), orjson.dumps({"reason": reason}))
