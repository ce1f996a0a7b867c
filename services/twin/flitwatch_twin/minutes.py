"""Counter sums by minute: the rows that samplers, log and writer would have produced, without individual records."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.counters import LINK_CLASS_COLUMNS, TABLE_II
from flitwatch_domain.fabric import Fabric
from flitwatch_twin.counters import NETWORK_TILES, PROCESSOR_TILES, Counters

MINUTE_S, HOUR_S = 60, 3600
#: Minutes of network cards to keep: those in which runs are recorded. A whole day would take a quarter of a gigabyte.
CARD_MINUTES = 250
TILES = NETWORK_TILES + PROCESSOR_TILES
#: Columns of the router tables that the samplers' metrics fill; there are no packet columns.
ROUTER_SUMS = (
    *(counter.column for counter in TABLE_II if not counter.column.endswith("_packets")),
    *(column for pair in LINK_CLASS_COLUMNS.values() for column in pair),
)
#: The same for the endpoint tables, in the order of `Counters.nic`.
CARD_SUMS = ("rq_packets", "rq_flits", "rq_stall_cycles", "tx_bytes", "rx_bytes", "latency_us_sum")

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpanSums:
    """Sums of a span that begins at `from_s` (epoch seconds) and lasts `seconds`: float64[devices, columns]."""

    from_s: int
    seconds: int
    values: Float


@dataclass(eq=False)
class MinuteSums:
    """Sums in order of time: of every router by minute, and of every network card by hour. The network cards' newest hours are also by minute.

    Parameters
    ----------
    fabric : of the machine.
    counters : at `since_s` (epoch seconds).
    """

    fabric: Fabric
    counters: Counters
    since_s: int
    routers: list[SpanSums] = field(default_factory=list)
    cards: list[SpanSums] = field(default_factory=list)
    card_minutes: deque[SpanSums] = field(default_factory=lambda: deque(maxlen=CARD_MINUTES))

    def __post_init__(self) -> None:
        links = self.fabric.counted_links()[:, :NETWORK_TILES]
        self._by_class = [(links >= 0) & self.fabric.of_class(name)[links] for name in LINK_CLASS_COLUMNS]
        self._chosen = [at for at, column in enumerate(TABLE_II) if not column.column.endswith("_packets")]
        self._everyone = np.arange(len(self.fabric.routers), dtype=np.int32)
        self._minute_s = self._hour_s = self.since_s
        self._was, self._cards_were = self._read_counters(self.counters), self.counters.nic.copy()
        self._cards_minute = self._cards_were

    def take(self, counters: Counters, now_s: int, last: bool = False) -> None:
        """Close the minute and the hour that end at `now_s`. With `last`, also close incomplete ones."""
        if (last or now_s % MINUTE_S == 0) and now_s > self._minute_s:
            sums = self._read_counters(counters)
            self.routers.append(SpanSums(self._minute_s, now_s - self._minute_s, np.maximum(sums - self._was, 0.0)))
            cards = counters.nic.copy()
            self.card_minutes.append(SpanSums(self._minute_s, now_s - self._minute_s, (cards - self._cards_minute).T))
            self._minute_s, self._was, self._cards_minute = now_s, sums, cards
        if (last or now_s % HOUR_S == 0) and now_s > self._hour_s:
            cards = counters.nic.copy()
            self.cards.append(SpanSums(self._hour_s, now_s - self._hour_s, (cards - self._cards_were).T))
            self._hour_s, self._cards_were = now_s, cards

    @property
    def until_s(self) -> int:
        """Return the end of the last closed minute."""
        return self._minute_s

    def _read_counters(self, counters: Counters) -> Float:
        whole = counters.table_two(self._everyone)[:, self._chosen]
        each = [np.where(there, counters.network[at], 0.0).sum(axis=1) for there in self._by_class for at in (0, 1)]
        return np.column_stack((whole, *each))
