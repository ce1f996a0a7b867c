"""A writer's measurements of itself."""

from __future__ import annotations

import resource
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypedDict

from flitwatch_db.ingest.store import Rates

#: Number of transactions for quantiles of the lag.
LAST_LAGS = 1_000


class WriterReport(TypedDict):
    """Report printed by `flitwatch writer --json`: counts since the start, delay of records in seconds, memory, and seconds by stage."""

    records: int
    values: int
    bytes: int
    duplicates: int
    late: int
    dead: int
    unplaced: int
    commits: int
    retries: int
    lag_s: float | None
    lag_max_s: float | None
    rss_mb: float
    cpu_s: float
    stages: dict[str, float]
    waits: dict[str, float]


@dataclass
class Measures(Rates):
    """Totals since the start, the lags of the last transactions, and CPU time and waiting time by stage."""

    commits: int = 0
    retries: int = 0
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    waits: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lags_s: deque[float] = field(default_factory=lambda: deque(maxlen=LAST_LAGS))
    lag_max_s: float | None = None
    #: Reason why records wait in the log; None if they are being written.
    lack: str | None = None

    def lagged(self, lag_s: float) -> None:
        """Record the lag of a transaction: the time from the append of its oldest record to its end."""
        self.lags_s.append(lag_s)
        self.lag_max_s = max(lag_s, self.lag_max_s or 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add this thread's CPU time and waiting time to a stage."""
        begin, began = time.thread_time(), time.perf_counter()
        try:
            yield
        finally:
            spent = time.thread_time() - begin
            self.stages[name] += spent
            self.waits[name] += max(0.0, time.perf_counter() - began - spent)

    def lag(self, fraction: float = 0.95) -> float | None:
        """Return a quantile of the lag: the time from the append of a transaction's oldest record to its end."""
        ordered = sorted(self.lags_s)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else None

    def report(self) -> WriterReport:
        return {
            "records": self.records,
            "values": self.values,
            "bytes": self.bytes,
            "duplicates": self.duplicates,
            "late": self.late,
            "dead": self.dead,
            "unplaced": self.unplaced,
            "commits": self.commits,
            "retries": self.retries,
            "lag_s": self.lag(),
            "lag_max_s": self.lag_max_s,
            "rss_mb": round(self.rss_mb(), 1),
            "cpu_s": round(self.cpu_s(), 3),
            "stages": {name: round(seconds, 3) for name, seconds in self.stages.items()},
            "waits": {name: round(seconds, 3) for name, seconds in self.waits.items()},
        }

    @staticmethod
    def rss_mb() -> float:
        """Return the present resident memory, MB."""
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() / 1e6

    @staticmethod
    def cpu_s() -> float:
        """Return processor time of the whole process."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime
