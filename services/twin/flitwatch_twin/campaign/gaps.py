"""Counters that were not read: collectors that are down for a while, metrics that came later, single readings lost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Single readings lost, and runs whose I/O and other routers were not read, per unit of `missing`.
SINGLE, WHOLE = 0.15, 1.0
#: Counters that were not collected before a date in this part of the campaign.
LATE_COUNTERS, LATE_UNTIL = 2, (0.2, 0.5)
#: Share of a run's steps that a collector's outage takes.
OUTAGE = (0.2, 0.7)

Float = NDArray[np.float64]


def drop_samples(rng: np.random.Generator, missing: float, counters: Float, io: Float, rest: Float) -> None:
    """Put NaN in place of what is lost, (runs, steps, counters) in order of time; step times stay."""
    runs, steps, width = counters.shape
    until = int(rng.uniform(*LATE_UNTIL) * runs)
    counters[:until, :, rng.choice(width, LATE_COUNTERS, replace=False)] = np.nan
    share = np.mean(OUTAGE)
    for run in np.flatnonzero(rng.random(runs) < missing / share):
        length = max(1, int(rng.uniform(*OUTAGE) * steps))
        first = int(rng.integers(0, steps - length + 1))
        for values in (counters, io, rest):
            values[run, first : first + length] = np.nan
    counters[rng.random((runs, steps)) < SINGLE * missing] = np.nan
    for values in (io, rest):
        values[rng.random(runs) < WHOLE * missing] = np.nan
