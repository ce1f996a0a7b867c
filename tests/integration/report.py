"""Output of the long forms: {lost, duplicated, recoveries_s[], crashes, rss_slope_mb_per_h}."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np


@dataclass
class Report:
    """Of one run against a real platform.

    Attributes
    ----------
    lost, duplicated : int          router-seconds that are missing or too high in the database at the end
    wrong : int                     routers whose sums of flits or stalls differ from what their counters grew by, in any table
    gaps, dead_letters : int        rows of these tables
    recoveries_s : list of float    from each kill until every process lived and the database held a newer second than at the kill
    caught_up_s : list of float     from each kill until the database was as close behind the feed again as it stays
    crashes : int                   processes that ended without having been killed, for whatever reason
    crashed : list of str           which, with their exit status
    rss_slope_mb_per_h : float or None        of all processes and servers together; None: too short to say
    rss_mb, rss_slopes_mb_per_h : dict        at the end and its slope, by process
    ended_early : str               why, where the platform did not recover
    load_late_max_s, drain_s : float          how late the load was at worst, and what the database was behind it at its end
    """

    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    gaps: int = 0
    dead_letters: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    caught_up_s: list[float] = field(default_factory=list)
    crashes: int = 0
    crashed: list[str] = field(default_factory=list)
    rss_slope_mb_per_h: float | None = None
    rss_mb: dict[str, float] = field(default_factory=dict)
    rss_slopes_mb_per_h: dict[str, float | None] = field(default_factory=dict)
    routers: int = 0
    minutes: float = 0.0
    kills: dict[str, int] = field(default_factory=dict)
    disk_full: int = 0
    stops: int = 0
    endless_heads: int = 0
    clock_steps: int = 0
    network_cuts: int = 0
    ended_early: str = ""
    load_late_max_s: float | None = None
    drain_s: float | None = None
    values: int = 0
    disk_mb_per_h: float | None = None

    def compare(self, expected: dict[int, tuple[int, int, int]], found: dict[int, tuple[int, int, int]]) -> None:
        """Count (seconds, flits, stalls) by router that lack or exceed what was fed."""
        for router, (seconds, flits, stalls) in expected.items():
            held = found.get(router, (0, 0, 0))
            self.lost += max(0, seconds - held[0]) or int(held[1] < flits or held[2] < stalls)
            self.duplicated += max(0, held[0] - seconds) or int(held[1] > flits or held[2] > stalls)
        self.values = sum(seconds for seconds, _, _ in found.values())

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        made = asdict(self)
        made["recovery_median_s"] = round(float(np.median(self.recoveries_s)), 2) if self.recoveries_s else None
        made["recovery_p90_s"] = round(float(np.quantile(self.recoveries_s, 0.9)), 2) if self.recoveries_s else None
        made["recovery_max_s"] = round(max(self.recoveries_s), 2) if self.recoveries_s else None
        made["recoveries_over_30_s"] = sum(one > 30 for one in self.recoveries_s)
        made["recoveries_within_15_s"] = (
            float(np.mean([one <= 15 for one in self.recoveries_s])) if self.recoveries_s else None
        )
        made["recoveries_below_30_s"] = (
            float(np.mean([one < 30 for one in self.recoveries_s])) if self.recoveries_s else None
        )
        made["caught_up_s"] = [round(one, 2) for one in self.caught_up_s]
        made["recoveries_s"] = [round(one, 2) for one in self.recoveries_s]
        return made


def slope_per_h(at_s: Sequence[float], value: Sequence[float], least_s: float = 600.0) -> float | None:
    """Slope by least squares over the second half (the first warms caches); None below `least_s`."""
    if not at_s or at_s[-1] - at_s[0] < least_s:
        return None
    late = len(at_s) // 2
    return float(np.polyfit(at_s[late:], value[late:], 1)[0] * 3600)
