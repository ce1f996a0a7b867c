"""What a writer measures of itself."""

from __future__ import annotations

import resource
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

#: Transactions over which the lag is judged.
LAST_LAGS = 1_000


@dataclass
class Measures:
    """Totals since the start, the last transactions' lags, and processor time by stage."""

    records: int = 0
    values: int = 0
    bytes: int = 0
    duplicates: int = 0
    late: int = 0
    dead: int = 0
    commits: int = 0
    retries: int = 0
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lags_s: deque[float] = field(default_factory=lambda: deque(maxlen=LAST_LAGS))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the processor time of this thread under a stage."""
        begin = time.thread_time()
        try:
            yield
        finally:
            self.stages[name] += time.thread_time() - begin

    def lag(self, fraction: float = 0.95) -> float | None:
        """A quantile of the time from a record's append to the end of its transaction, by the oldest record of each."""
        ordered = sorted(self.lags_s)
        return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else None

    def report(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "records": self.records,
            "values": self.values,
            "bytes": self.bytes,
            "duplicates": self.duplicates,
            "late": self.late,
            "dead": self.dead,
            "commits": self.commits,
            "retries": self.retries,
            "lag_s": self.lag(),
            "rss_mb": round(self.rss_mb(), 1),
            "cpu_s": round(self.cpu_s(), 3),
            "stages": {name: round(seconds, 3) for name, seconds in self.stages.items()},
        }

    @staticmethod
    def rss_mb() -> float:
        """Resident memory now."""
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() / 1e6

    @staticmethod
    def cpu_s() -> float:
        """Processor time of the whole process."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime
