"""Publishing with the headers of docs/contracts/log.md, with retries while the log is unavailable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from flitwatch_domain.errors import BadInput, Cancelled, Unavailable
from flitwatch_domain.heartbeat import Heartbeat
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_stream import topics
from flitwatch_stream.log import Producer

#: Rejected input is published up to this length. The dead-letter table keeps its first 64 kB and its length.
MOST_RAW_BYTES = 8 * 2**20
_LONGEST_PAUSE_S = 30.0

Say = Callable[[str], None]


class Publisher:
    """Publisher of sources' records; it waits and retries while the log does not answer.

    Parameters
    ----------
    stop : threading.Event, optional
        Set it to give up waiting: the call raises Cancelled.
    say : callable, optional
        Called with messages about waiting, for people to read.
    patience_s : float, optional
        Raise Unavailable after waiting this long (default: wait indefinitely).
    heartbeat : Heartbeat, optional
        Beats at each published record and while waiting for the log. A collector's loop uses it to wait.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        stop: threading.Event | None = None,
        say: Say | None = None,
        patience_s: float | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self._producer = producer
        self._stop = stop or threading.Event()
        self._say = say or (lambda text: None)
        self._patience_s = patience_s
        self.heartbeat = heartbeat or Heartbeat()
        self.published = 0
        self.rejections: list[Rejection] = []
        #: Number of rejections kept for the report; all are published.
        self.most_rejections = 10_000
        self.rejected = 0
        #: Tries without an answer from the log, and the Unix time at which all published records were last durable.
        self.waits = 0
        self.durable_at: float | None = None

    def publish(
        self, topic: str, value: bytes, source: str, sequence: int | None = None, *, key: str | None = None
    ) -> bool:
        """Append one record of `source`. Return False if it is too large for the log and was rejected instead.

        `key` (default: the source) chooses the partition. Sources that continue each other share a partition, so that they stay in order.
        """
        headers = [(topics.SOURCE, source.encode())]
        if sequence is not None:
            headers.append((topics.SEQUENCE, str(sequence).encode()))
        try:
            self._call_patiently(
                lambda: self._producer.append(topic, value, key=(key or source).encode(), headers=headers)
            )
        except BadInput as bad:
            self.reject(Rejection(f"{source} record {sequence}", bad.reason, value), source, sequence)
            return False
        self.published += 1
        return True

    def reject(self, rejection: Rejection, source: str, sequence: int | None = None) -> None:
        """Append undecodable input. It has its own sequence because the writer reads topics in any order."""
        self.rejected += 1
        if len(self.rejections) < self.most_rejections:
            self.rejections.append(rejection)
        of = f"{source}#rejected"
        headers = [
            (topics.SOURCE, of.encode()),
            (topics.WHERE, rejection.where.encode("utf-8", errors="replace")),
            (topics.REASON, rejection.reason.encode("utf-8", errors="replace")),
        ]
        if sequence is not None:
            headers.append((topics.SEQUENCE, str(sequence).encode()))
        raw = rejection.raw[:MOST_RAW_BYTES]
        self._call_patiently(lambda: self._producer.append(topics.REJECTED, raw, key=of.encode(), headers=headers))

    def flush(self) -> None:
        """Wait until all published records are durable."""
        self._call_patiently(self._producer.flush)
        self.durable_at = time.time()

    def _call_patiently(self, call: Callable[[], None]) -> None:
        pause_s, waited_s = 0.5, 0.0
        while True:
            self.heartbeat.beat()
            try:
                return call()
            except Unavailable as away:
                if self._patience_s is not None and waited_s >= self._patience_s:
                    raise
                self.waits += 1
                self._say(f"waiting for the log: {away.message}")
                if self.heartbeat.wait(self._stop, pause_s):
                    raise Cancelled("stopped while waiting for the log") from away
                waited_s += pause_s
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
