"""Congestion of a group in the next hour, from its usual value at that hour and the persistence of today's difference from usual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CongestionKind:
    """A quotient of sums of counters.

    Attributes
    ----------
    name : str                 the group of features (`drivers`) that it represents; empty for the usual kind
    above, below : columns of router_* in numerator and denominator; `seconds` in the denominator makes a rate
    unit : str                 in words
    """

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    unit: str


#: Kind that advice uses if no driver selects another.
USUAL = CongestionKind("", ("rt_stall_cycles",), ("rt_flits",), "stalls, in units of sending time")
DRIVEN = {
    kind.name: kind
    for kind in (
        CongestionKind(
            "stalls on the row bus",
            ("rt_stall_cycles", "pt_rq_stall_cycles", "pt_rs_stall_cycles"),
            ("rt_flits", "pt_flits"),
            "stall cycles on the row bus per flit",
        ),
        CongestionKind(
            "stalls in the column buffers",
            ("pt_cb_rq_stall_cycles", "pt_cb_rs_stall_cycles"),
            ("pt_flits",),
            "stall cycles in the column buffers per flit",
        ),
        CongestionKind("traffic at router tiles", ("rt_flits",), ("seconds",), "flits per second at router tiles"),
        CongestionKind(
            "traffic at processor tiles", ("pt_flits",), ("seconds",), "flits per second at processor tiles"
        ),
    )
}


HOUR_S = 3600
#: Minimum number of hours of a group for a prediction.
LEAST_HOURS = 72
#: Lower limit of a ratio before its logarithm is taken.
LEAST_RATIO = 1e-6

Place = tuple[int, int]
Now = Mapping[Place, tuple[float, float]]


class _Group:
    """Hours of one group in order of arrival."""

    def __init__(self) -> None:
        self.at: dict[int, int] = {}
        self.ratios: list[float] = []
        self.logs: list[float] = []
        self.following: list[int] = []
        self.by_hour: list[list[float]] = [[] for _ in range(24)]
        self._mean: list[float | None] = [None] * 24
        self._usual: list[float] = []

    def add(self, hour: int, ratio: float) -> None:
        place, log = len(self.logs), float(np.log(max(ratio, LEAST_RATIO)))
        self.ratios.append(ratio)
        self.logs.append(log)
        self.following.append(self.at.get(hour + 1, -1))
        before = self.at.get(hour - 1)
        if before is not None:
            self.following[before] = place
        self.at[hour] = place
        self.by_hour[hour % 24].append(log)
        self._mean[hour % 24] = None
        self._usual = []

    def usual(self) -> list[float]:
        """Return the mean by hour of the day; an hour without counts has the mean of all."""
        if not self._usual:
            overall = None if all(self.by_hour) else float(np.mean(self.logs))
            for hour, values in enumerate(self.by_hour):
                if values and self._mean[hour] is None:
                    self._mean[hour] = float(np.mean(values))
            self._usual = [overall if mean is None else mean for mean in self._mean]  # type: ignore[misc]
        return self._usual

    def pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the differences from usual of each hour with a counted successor, and those of the successors."""
        hours = np.fromiter(self.at, np.int64, len(self.at))
        apart = np.array(self.logs) - np.array(self.usual())[hours % 24]
        following = np.array(self.following)
        have = following >= 0
        return apart[have], apart[following[have]]


class Outlook:
    """Model of the hourly congestion of groups.

    The logarithms of the hourly ratios, less the group's mean at that hour of the day, follow x(h + 1) = rho x(h) + noise. All groups share one rho.
    """

    def __init__(self, hours: Mapping[tuple[int, int, int], float | None] | None = None) -> None:
        self._groups: dict[Place, _Group] = {}
        self._stays: dict[tuple[Place, ...], float] = {}
        self._usual: dict[Place, float] = {}
        for (fabric, group, at), ratio in (hours or {}).items():
            self.add((fabric, group), at, ratio)

    def add(self, place: Place, at: int, ratio: float | None) -> None:
        """Add one hour of a group, each only once: its start in epoch s, and stall cycles per flit (None if not counted)."""
        if ratio is not None:
            self._groups.setdefault(place, _Group()).add(at // HOUR_S, ratio)
            self._stays.clear()
            self._usual.clear()

    def next_hour(self, now: Now) -> dict[Place, tuple[float, float]]:
        """Return expected stall cycles per flit of the hour that begins now.

        Parameters
        ----------
        now : {(fabric, group): (stall cycles per flit of the last minutes, end of the data in epoch s)}

        Returns
        -------
        {(fabric, group): (expected stall cycles per flit, from when)}; groups with fewer than `LEAST_HOURS` hours are omitted.
        """
        places = tuple(
            place for place, history in self._groups.items() if len(history.logs) >= LEAST_HOURS and place in now
        )
        stays = self._estimate_persistence(places)
        forecast = {}
        for place in places:
            of_day = self._groups[place].usual()
            ratio, at_s = now[place]
            hour = int(at_s // HOUR_S)
            difference = float(np.log(max(ratio, LEAST_RATIO))) - of_day[hour % 24]
            forecast[place] = float(np.exp(of_day[(hour + 1) % 24] + stays * difference)), at_s
        return forecast

    def _estimate_persistence(self, known: tuple[Place, ...]) -> float:
        """Estimate rho, the part of an hour's difference from usual that remains in the next hour, between 0 and 1."""
        if known not in self._stays:
            pairs = [self._groups[place].pairs() for place in known]
            squares = sum(value for before, _ in pairs for value in (before * before).tolist())
            products = sum(value for before, after in pairs for value in (before * after).tolist())
            self._stays[known] = min(max(products / squares, 0.0), 1.0) if squares > 0 else 0.0
        return self._stays[known]

    def usual_ratio(self) -> dict[Place, float]:
        """Return the mean of each group's hours; groups with fewer than `LEAST_HOURS` hours are omitted."""
        if not self._usual:
            self._usual.update(
                (place, float(np.mean(history.ratios)))
                for place, history in self._groups.items()
                if len(history.ratios) >= LEAST_HOURS
            )
        return {**self._usual}
