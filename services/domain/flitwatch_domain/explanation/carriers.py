"""Links and groups that carry a slow stretch, in the slow job's own part of the fabric, before and after its onset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A place carries a slowdown if its stalls per flit rose at least by this factor.
LEAST_RISE = 1.2
#: Stall cycles per flit below which a rise is not noticeable.
LEAST_RATIO = 0.05
MOST_LINKS = 10


@dataclass(frozen=True)
class Count:
    """Counts of one place before and after the onset: flits and stall cycles, None if nothing was counted; windows of equal length."""

    flits_before: float | None
    stalls_before: float | None
    flits_after: float | None
    stalls_after: float | None

    @property
    def before(self) -> float | None:
        """Return stall cycles per flit before the onset."""
        return _stall_ratio(self.stalls_before, self.flits_before)

    @property
    def after(self) -> float | None:
        """Return stall cycles per flit after the onset."""
        return _stall_ratio(self.stalls_after, self.flits_after)

    @property
    def rose(self) -> bool | None:
        """Return whether stalls rose; None if unknown. If nothing flowed before, any stall above the minimum is a rise."""
        after, before = self.after, self.before
        if after is None or (before is None and self.flits_before is None):
            return None
        return after >= LEAST_RATIO and after >= LEAST_RISE * (before or 0.0)


@dataclass(frozen=True)
class RouterCounts:
    """Flits and stall cycles of every router before and after the onset, float64 (R,), NaN if nothing was counted; windows of equal length."""

    flits_before: NDArray[np.float64]
    flits_after: NDArray[np.float64]
    stalls_before: NDArray[np.float64]
    stalls_after: NDArray[np.float64]

    @property
    def gained(self) -> NDArray[np.float64]:
        """Return stall cycles that each router gained, at least 0; NaN if it was not counted in both windows."""
        return np.maximum(self.stalls_after - self.stalls_before, 0.0)

    def of(self, routers: NDArray[np.int64]) -> Count:
        """Return the total counts of some routers."""
        figures = (self.flits_before, self.stalls_before, self.flits_after, self.stalls_after)
        return Count(*(_sum_known(figure[routers]) for figure in figures))


def _sum_known(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).all() else float(np.nansum(values))


def _stall_ratio(stalls: float | None, flits: float | None) -> float | None:
    return None if stalls is None or not flits else stalls / flits


UNCOUNTED = Count(None, None, None, None)


@dataclass(frozen=True)
class LinkCount:
    """A directed link between routers in the slow job's part of the fabric, with its counts."""

    link: int
    link_class: str
    src_router: int
    src_name: str
    src_group: int
    dst_router: int
    dst_name: str
    dst_group: int
    count: Count


def select_carrying_links(links: Sequence[LinkCount]) -> list[LinkCount]:
    """Return links whose stalls rose, in descending order of gained stall cycles."""
    rose = [link for link in links if link.count.rose]
    return sorted(rose, key=lambda link: (-_gained_stalls(link.count), link.link))[:MOST_LINKS]


def _gained_stalls(count: Count) -> float:
    return (count.stalls_after or 0.0) - (count.stalls_before or 0.0)
