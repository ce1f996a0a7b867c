"""The mean behaviour of an application, step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]


class MeanCurve(BaseEstimator):
    """Mean of times and counters at each step index over training runs (Bhatele 2020, section IV-B: mean trends).

    Attributes
    ----------
    time_s_ : float64, shape (steps,);  counters_ : float64, shape (steps, counters)
    """

    def fit(self, counters: ArrayLike, step_time_s: ArrayLike) -> MeanCurve:
        """Fit counters (runs, steps, counters) and times (runs, steps); NaN marks a missing step."""
        self.time_s_ = _mean_known(np.asarray(step_time_s, float))
        self.counters_ = _mean_known(np.asarray(counters, float))
        return self

    def deviations(self, counters: ArrayLike, step_time_s: ArrayLike) -> tuple[Floats, Floats]:
        """Return counters and times minus the mean curve; NaN if the step is missing, or missing in all training runs."""
        return np.asarray(counters, float) - self.counters_, np.asarray(step_time_s, float) - self.time_s_


def _mean_known(values: Floats) -> Floats:
    mask = np.isfinite(values)
    counts = mask.sum(0)
    sums = np.where(mask, values, 0.0).sum(0)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
