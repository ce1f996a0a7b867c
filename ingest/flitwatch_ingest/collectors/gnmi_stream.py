"""Switches that stream their counters: Subscribe with mode STREAM, SAMPLE for counters and ON_CHANGE for changes of neighbours.

A port's sample arrives in several messages. It is complete when the next one begins, after a pause, or when the stream ends. A stream that ends
or falls silent is reopened. Counters continue meanwhile, so a break only increases the time between two samples and loses nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import grpc
from pygnmi.spec.v080 import gnmi_pb2

from flitwatch_domain.errors import FlitwatchError, Unavailable
from flitwatch_domain.importers.lldp import Switch
from flitwatch_ingest.collectors.answers import BadAnswer
from flitwatch_ingest.collectors.gnmi import MOST_UPDATES, TIMEOUT_S, GnmiSwitch, Request
from flitwatch_ingest.sources.ethernet import Reading

#: A stream counts as silent after this many intervals, but not before this many seconds.
_SILENT_INTERVALS, _SILENT_S = 3.0, 10.0
_LEAST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0
#: Limit of unreadable messages kept until they are counted.
_MOST_BROKEN = 100


class GnmiStream:
    """A switch that streams its counters periodically.

    Parameters
    ----------
    every_s : float
        Requested seconds between samples.
    """

    def __init__(self, switch: GnmiSwitch, every_s: float) -> None:
        self.place = switch.place
        #: Whether the switch reported a change of its neighbours.
        self.moved = False
        self._switch = switch
        self._every_s = every_s
        self._quiet_s = min(1.0, every_s / 2)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._synced = threading.Event()
        self._threads: list[threading.Thread] = []
        self._calls: dict[str, grpc.Call] = {}
        self._pending: dict[str, dict[str, int]] = {}
        self._pending_at: dict[str, tuple[float, float]] = {}
        self._whole: dict[float, Reading] = {}
        self._bad: dict[str, str] = {}
        self._broken: list[tuple[str, bytes]] = []
        self._values = 0
        self._breaks = 0
        self._problem: FlitwatchError | None = None
        self._heard = time.monotonic()

    def describe(self) -> Switch:
        """See `Source`; the switch is polled."""
        self.moved = False
        switch = self._switch.describe()
        self._start_threads()
        return switch

    def count(self) -> list[Reading]:
        """Return the samples completed since the last call. Raise Unavailable or BadInput if the stream is broken, and nothing has arrived since."""
        self._start_threads()
        self._synced.wait(TIMEOUT_S)
        with self._lock:
            now = time.monotonic()
            for port in [port for port, (_, heard) in self._pending_at.items() if now - heard > self._quiet_s]:
                self._finish_sample(port)
            readings = [self._whole[at_s] for at_s in sorted(self._whole)]
            self._whole = {}
            self._values = sum(map(len, self._pending.values()))
            if readings or self._bad or self._broken or self._breaks:
                readings = readings or [Reading(time.time())]
                readings[0].bad, readings[0].broken, readings[0].breaks = self._bad, self._broken, self._breaks
                self._bad, self._broken, self._breaks = {}, [], 0
            problem = self._problem
            silent = problem is None and now - self._heard > max(_SILENT_INTERVALS * self._every_s, _SILENT_S)
            call = self._calls.get("counters")
        if silent and call is not None:
            call.cancel()
        if problem is not None and not any(reading.ports or reading.bad or reading.broken for reading in readings):
            with self._lock:
                self._breaks += sum(reading.breaks for reading in readings)
            raise problem
        return readings

    def close(self) -> None:
        """End the streams."""
        self._closed.set()
        with self._lock:
            for call in self._calls.values():
                call.cancel()
        for thread in self._threads:
            thread.join(TIMEOUT_S)

    def _start_threads(self) -> None:
        if self._threads or self._closed.is_set():
            return
        self._heard = time.monotonic()
        for name, follow in (("counters", self._follow_counters), ("neighbours", self._follow_neighbours)):
            thread = threading.Thread(
                target=self._follow_repeatedly, args=(follow, name), name=f"gnmi {name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _follow_repeatedly(self, follow: Callable[[], None], name: str) -> None:
        """Follow a stream and reopen it when it ends."""
        pause_s = _LEAST_PAUSE_S
        while not self._closed.is_set():
            begun = time.monotonic()
            problem: FlitwatchError = Unavailable(f"{self.place}: ended its stream of {name}")
            try:
                follow()
            except FlitwatchError as bad:
                problem = bad
            if name == "counters" and not self._closed.is_set():
                with self._lock:
                    # What comes next is of another sample.
                    for port in list(self._pending):
                        self._finish_sample(port)
                    self._problem = problem
                    self._breaks += 1
                self._synced.set()
            if time.monotonic() - begun > _LONGEST_PAUSE_S:
                pause_s = _LEAST_PAUSE_S
            self._closed.wait(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _stream_requests(self) -> tuple[Request, Request]:
        return self._switch.trees.streams(lambda request: self._switch.ask(request)[0])

    def _follow_counters(self) -> None:
        subscription = self._switch.streaming(self._stream_requests()[0], self._every_s)
        with self._switch.subscribed(subscription, None, lambda call: self._register_call("counters", call)) as answers:
            for answer in answers:
                with self._lock:
                    self._heard = time.monotonic()
                    if answer.sync_response:
                        self._problem = None
                        self._synced.set()
                        continue
                    self._take_notification(answer.update)

    def _follow_neighbours(self) -> None:
        subscription = self._switch.streaming(self._stream_requests()[1], None)
        synced = False
        with self._switch.subscribed(
            subscription, None, lambda call: self._register_call("neighbours", call)
        ) as answers:
            for answer in answers:
                if answer.sync_response:
                    synced = True
                elif synced:
                    paths = [path for path, _ in self._switch.updates(answer.update)]
                    paths += self._switch.deleted(answer.update)
                    self.moved = self.moved or any(self._switch.trees.matters(path) for path in paths)

    def _register_call(self, name: str, call: grpc.Call) -> None:
        with self._lock:
            self._heard = time.monotonic()
            self._calls[name] = call
        if self._closed.is_set():
            call.cancel()

    def _take_notification(self, notification: gnmi_pb2.Notification) -> None:
        """Sort a message into the samples of its ports. Unreadable parts are kept, and the stream continues."""
        at_s = self._switch.time_of(notification)
        part = Reading(at_s)
        try:
            self._switch.trees.take(part, list(self._switch.updates(notification)))
        except BadAnswer as bad:
            if len(self._broken) < _MOST_BROKEN:
                self._broken.append((bad.reason, bad.body))
            return
        self._problem = None
        for name, value in part.bad.items():
            if len(self._bad) < _MOST_BROKEN:
                self._bad[name] = value
        now = time.monotonic()
        for port, counted in part.ports.items():
            pending = self._pending.get(port, {})
            if pending.keys() & counted.keys():
                self._finish_sample(port)
            self._pending.setdefault(port, {}).update(counted)
            self._pending_at[port] = max(at_s, self._pending_at.get(port, (0.0, 0.0))[0]), now
            self._values += len(counted)
        if self._values > MOST_UPDATES:
            self._pending, self._pending_at, self._whole, self._values = {}, {}, {}, 0
            raise Unavailable(f"{self.place}: sends more than {MOST_UPDATES:,} values before any is processed")

    def _finish_sample(self, port: str) -> None:
        at_s, _ = self._pending_at.pop(port)
        counted = self._pending.pop(port)
        self._whole.setdefault(at_s, Reading(at_s)).ports.setdefault(port, {}).update(counted)
