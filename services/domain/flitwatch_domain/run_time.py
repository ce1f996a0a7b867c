"""Forecast of the duration of a running job without recorded steps, from the run times of similar jobs and its elapsed time.

Only similar jobs that took longer than its elapsed time count. If they are exchangeable with it, intervals between their order statistics contain its
time with known probability, regardless of the distribution (Vovk 2005; interpolated as by Beran and Hall 1993). With fewer than `LEAST_JOBS` such jobs,
no interval between two order statistics reaches 90 %, so there is no forecast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: Jobs on half to twice as many nodes are similar.
SIZE_FACTOR = 2.0


@dataclass(frozen=True)
class Resident:
    """A running job's nodes in one group; `left_s` is the median of its remaining run time, None if unknown."""

    user: str
    nodes: int
    left_s: float | None


@dataclass(eq=False)
class PastTimes:
    """Run times of completed jobs, selected by their similarity to a running one.

    Attributes
    ----------
    users, names : user and name of each job, in order of start; an empty name is unknown
    nodes, times_s : float64[jobs]
    """

    users: Sequence[str]
    names: Sequence[str]
    nodes: Floats
    times_s: Floats
    _held: dict[tuple[str, str, int], list[Floats]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._users, self._user = _number_values(self.users)
        self._names, self._name = _number_values(self.names)

    def left_s(
        self, user: str, name: str, nodes: int, elapsed_s: float, factor: float = 1.0, lost_s: float = 0.0
    ) -> float | None:
        """Return the median remaining seconds of a job that has run for `elapsed_s`, from the most similar jobs if there are enough.

        A slow job that has lost `lost_s` is as far as one that has run for so much less, and the rest takes `factor` times as long if it stays slow.
        """
        done_s = max(elapsed_s - lost_s, 0.0)
        for times in self._find_similar_times(user, name, nodes):
            forecast = whole_time(times, done_s)
            if forecast is not None:
                return factor * max(forecast[0] - done_s, 0.0)
        return None

    def _find_similar_times(self, user: str, name: str, nodes: int) -> list[Floats]:
        """Return ascending run times for each of `run_time.BASES`."""
        key = (user, name, nodes)
        times = self._held.get(key)
        if times is None:
            size = (self.nodes >= nodes / SIZE_FACTOR) & (self.nodes <= nodes * SIZE_FACTOR)
            own = size & (self._users == self._user.get(user, -1))
            named = size & (self._names == self._name.get(name, -1)) if name else np.zeros(len(size), bool)
            times = [np.sort(self.times_s[which][-MOST_JOBS:]) for which in (own & named, named, own)]
            self._held[key] = times
        return times


def _number_values(values: Sequence[str]) -> tuple[NDArray[np.int64], dict[str, int]]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64), numbers


#: If the ends of less than this share of a group's busy nodes are known, the result is unknown.
LEAST_KNOWN = 0.5


def compute_stay_share(residents: Sequence[Resident], horizon_s: float) -> float | None:
    """Return the share of the busy nodes that the same jobs still use, averaged over the next `horizon_s`; None if most ends are unknown.

    A job with unknown end counts as staying.
    """
    total_nodes = sum(resident.nodes for resident in residents)
    known_nodes = sum(resident.nodes for resident in residents if resident.left_s is not None)
    if not total_nodes or known_nodes < LEAST_KNOWN * total_nodes or horizon_s <= 0:
        return None
    stay = sum(
        resident.nodes * (1.0 if resident.left_s is None else min(resident.left_s / horizon_s, 1.0))
        for resident in residents
    )
    return stay / total_nodes


#: Minimum number for which the interval from the first to the last order statistic reaches 90 %: (n - 1) / (n + 1) = 0.9.
LEAST_JOBS = 19
#: Maximum number of the newest jobs that are used, because an application changes.
MOST_JOBS = 300
LEVEL = 0.9
#: Common properties of similar jobs, from most to least similar.
BASES = ("user, name, size", "name, size", "user, size")


@dataclass(frozen=True)
class RunTime:
    """Total run time of a job that has run for `elapsed_s`.

    Attributes
    ----------
    expected_s, low_s, high_s : median and 90 % interval; None if unknown
    basis : common property of the jobs used; None if there are too few of each kind
    jobs : number of these that took longer than the elapsed time
    tested, coverage90 : number of these forecast from their predecessors at the same elapsed time, and the share inside the interval
    lacks : reason if unknown
    """

    elapsed_s: float
    expected_s: float | None
    low_s: float | None
    high_s: float | None
    basis: str | None
    jobs: int
    tested: int
    coverage90: float | None
    lacks: str | None

    @property
    def rests_on(self) -> str | None:
        """Describe the basis of the forecast."""
        if self.basis is None:
            return None
        like = " and ".join(self.basis.rsplit(", ", 1))
        text = f"{self.jobs} completed jobs of the same {like} that ran longer than this one has run"
        if self.coverage90 is None:
            return f"{text}; too few to test the interval on them"
        return f"{text}; of {self.tested} that were forecast from those before them, {100 * self.coverage90:.0f} % were in their interval"


def predict_interval(times_s: ArrayLike) -> tuple[float, float, float]:
    """Return (median, low, high) for the next time after these (at least `LEAST_JOBS`), with a 90 % interval."""
    median, low, high = np.quantile(
        np.asarray(times_s, float), [0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull"
    )
    return float(median), float(low), float(high)


def whole_time(ascending_s: Floats, elapsed_s: float) -> tuple[float, float, float] | None:
    """Return (median, low, high) of the total time of a job that has run for `elapsed_s`, as `predict_interval`.

    None if fewer than `LEAST_JOBS` of these took longer.
    """
    first = int(np.searchsorted(ascending_s, elapsed_s, side="right"))
    longer = ascending_s[first:]
    count = len(longer)
    if count < LEAST_JOBS:
        return None
    places = np.clip(np.array([0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2]) * (count + 1) - 1, 0, count - 1)
    median, low, high = np.interp(places, np.arange(count), longer).tolist()
    return median, low, high


def run_time(past_s: Mapping[str, ArrayLike], elapsed_s: float) -> RunTime:
    """Forecast from the most similar jobs, if there are enough.

    Parameters
    ----------
    past_s
        Run times of completed jobs by their common property with this one (`BASES`), in order of start.
    elapsed_s
        Elapsed time of the job.
    """
    times_of = {basis: np.asarray(past_s[basis], float)[-MOST_JOBS:] for basis in BASES if basis in past_s}
    longer = {basis: times[times > elapsed_s] for basis, times in times_of.items()}
    for basis, times in longer.items():
        if len(times) >= LEAST_JOBS:
            median, low, high = predict_interval(times)
            tested, coverage = backtest_interval(times)
            return RunTime(elapsed_s, median, low, high, basis, len(times), tested, coverage, None)
    best = max(longer, key=lambda basis: len(longer[basis]), default=None)
    jobs, of = (len(longer[best]), len(times_of[best])) if best is not None else (0, 0)
    lacks = f"needs {LEAST_JOBS} similar completed jobs that ran longer than this one has run; of {of} of the same {best or BASES[0]}, {jobs} did"
    return RunTime(elapsed_s, None, None, None, None, jobs, 0, None, lacks)


def backtest_interval(times_s: Floats) -> tuple[int, float | None]:
    """Return the number of these times, in order of start, with enough predecessors, and the share inside the interval from the predecessors."""
    hits = [
        low <= time <= high
        for at, time in enumerate(times_s.tolist())
        if at >= LEAST_JOBS
        for _, low, high in [predict_interval(times_s[:at])]
    ]
    return len(hits), float(np.mean(hits)) if hits else None
