"""Prediction intervals from residuals of held-out runs (CV+, Barber et al. 2021; calibrated by run, as windows of a run are not independent)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import NotEnoughData

Floats = NDArray[np.float64]
MIN_RUNS = 10


def half_width(log_residuals: ArrayLike, run: ArrayLike, level: float = 0.9) -> float:
    """Half-width, in log, that covers `level` of a new run's windows.

    Each run weighs the same whatever its number of windows; one more run with unknown residuals is counted in, so the level is met on
    average over runs rather than just in the sample.
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


def covered(observed_s: Floats, forecast_s: Floats, half: float) -> float:
    """Share of windows whose observed time lies within forecast x exp(+-half)."""
    return float((np.abs(np.log(observed_s / forecast_s)) <= half).mean())
