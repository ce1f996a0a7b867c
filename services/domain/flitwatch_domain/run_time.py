"""Forecast of the duration of a running job without recorded steps: the run times of similar jobs, given the time that it has lasted so far.

Of jobs of its like only those count that took longer than it has lasted. If they are exchangeable with it, their order statistics hold its
time with the probability that they say (Vovk 2005; interpolated between them as by Beran and Hall 1993), regardless of their distribution. Below
`LEAST_JOBS` such jobs no two order statistics hold 90 %, so nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: The least number whose first and last order statistic hold 90 %: (n - 1) / (n + 1) = 0.9.
LEAST_JOBS = 19
#: The newest count: an application changes.
MOST_JOBS = 300
LEVEL = 0.9
#: What jobs of its like have in common, from the most alike to the least.
BASES = ("user, name, size", "name, size", "user, size")


@dataclass(frozen=True)
class RunTime:
    """The whole run time of a job that has lasted `elapsed_s`.

    Attributes
    ----------
    expected_s, low_s, high_s : median and 90 % interval; None if nothing can be determined
    basis : what the jobs that it rests on have in common; None if there are too few of each kind
    jobs : how many of them took longer than this one has lasted
    tested, coverage90 : this many of them were forecast from those before, at the same elapsed time, and this share was in its interval
    lacks : why nothing can be determined
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
        """Describe what the forecast rests on."""
        if self.basis is None:
            return None
        like = " and ".join(self.basis.rsplit(", ", 1))
        text = f"{self.jobs} completed jobs of the same {like} that ran longer than this one has run"
        if self.coverage90 is None:
            return f"{text}; too few to test the interval on them"
        return f"{text}; of {self.tested} that were forecast from those before them, {100 * self.coverage90:.0f} % were in their interval"


def predict_interval(times_s: ArrayLike) -> tuple[float, float, float]:
    """(median, low, high): of the next time after these (at least `LEAST_JOBS`), with a 90 % interval."""
    median, low, high = np.quantile(
        np.asarray(times_s, float), [0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull"
    )
    return float(median), float(low), float(high)


def whole_time(ascending_s: Floats, elapsed_s: float) -> tuple[float, float, float] | None:
    """(median, low, high) of the whole time of a job that has lasted `elapsed_s`, as `predict_interval`; None if fewer than `LEAST_JOBS` of these
    took longer."""
    first = int(np.searchsorted(ascending_s, elapsed_s, side="right"))
    longer = ascending_s[first:]
    count = len(longer)
    if count < LEAST_JOBS:
        return None
    places = np.clip(np.array([0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2]) * (count + 1) - 1, 0, count - 1)
    median, low, high = np.interp(places, np.arange(count), longer).tolist()
    return median, low, high


def run_time(past_s: Mapping[str, ArrayLike], elapsed_s: float) -> RunTime:
    """Forecast by the jobs most alike, if there are enough of them.

    Parameters
    ----------
    past_s
        Run times of completed jobs by what they have in common with this one (`BASES`), in order of start.
    elapsed_s
        How long the job has lasted.
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
    """Return how many of these times, in order of start, have enough before them, and the share of those that were in the interval of the ones
    before."""
    hits = [
        low <= time <= high
        for at, time in enumerate(times_s.tolist())
        if at >= LEAST_JOBS
        for _, low, high in [predict_interval(times_s[:at])]
    ]
    return len(hits), float(np.mean(hits)) if hits else None
