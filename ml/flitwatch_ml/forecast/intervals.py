"""Prediction intervals from residuals of held-out runs (CV+, Barber et al. 2021), calibrated by run, as windows of a run are not independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import NotEnoughData

Floats = NDArray[np.float64]
MIN_RUNS = 10
#: Step of the requested level per run, and number of last runs that provide the residuals.
STEP, REMEMBERED = 0.05, 30


def half_width(log_residuals: ArrayLike, run: ArrayLike, level: float = 0.9) -> float:
    """Return the half-width, in log, that covers `level` of a new run's windows.

    Each run has the same weight regardless of its number of windows. One more run with unknown residuals is included, so that the level holds on
    average over runs rather than only in the sample.
    """
    size, labels = np.abs(np.asarray(log_residuals, float)), np.asarray(run)
    names, index = np.unique(labels, return_inverse=True)
    if len(names) < MIN_RUNS:
        raise NotEnoughData(f"not enough data: intervals need {MIN_RUNS} runs with whole windows, have {len(names)}")
    weight = 1.0 / np.bincount(index)[index] / (len(names) + 1)
    order = np.argsort(size, kind="stable")
    reached = np.cumsum(weight[order])
    place = int(np.searchsorted(reached, level - 1e-12))
    return float(size[order][min(place, len(size) - 1)])


def share_covered(observed_s: Floats, forecast_s: Floats, half: float) -> float:
    """Return the share of windows with an observed time within forecast x exp(+-half)."""
    return float((np.abs(np.log(observed_s / forecast_s)) <= half).mean())


class AdaptiveInterval:
    """Intervals that keep their level under drift (Gibbs and Candes 2021, equation 2).

    After each run the requested level changes by `STEP` x (share missed - allowed share): too many misses widen the next interval, too few narrow
    it. The share missed thus approaches 1 - level over time regardless of drift. Residuals of the last `REMEMBERED` runs determine the
    widths.
    """

    def __init__(self, level: float = 0.9) -> None:
        self.level = level
        self._asked = level
        self._sizes: list[Floats] = []

    def half_width(self) -> float:
        """Return the half-width, in log, of the next run's interval; needs `MIN_RUNS` runs."""
        sizes = self._sizes[-REMEMBERED:]
        run = np.repeat(np.arange(len(sizes)), [len(run_sizes) for run_sizes in sizes])
        return half_width(np.concatenate([*sizes, np.empty(0)]), run, min(max(self._asked, 0.0), 1.0))

    def update(self, log_residuals: ArrayLike) -> float | None:
        """Add a finished run's residuals, (windows,). Return the share that the interval missed, None before the first interval."""
        sizes = np.abs(np.asarray(log_residuals, float))
        missed = None
        if len(self._sizes) >= MIN_RUNS:
            missed = float((sizes > self.half_width()).mean())
            self._asked += STEP * (missed - (1 - self.level))
        self._sizes.append(sizes)
        return missed
