"""Input checks shared by all blame estimators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from flitwatch_domain.errors import BadInput, NotEnoughData

#: With fewer runs no association can reach a useful p-value: with 4 slow of 8 runs the minimum is 1/70.
MIN_RUNS = 8


class BlameEstimator(BaseEstimator):
    """Base class with scikit-learn tags: nonnegative amounts and positive times."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags


class BadRuns(BadInput, ValueError):
    """Runs that no estimator can use; also a ValueError, as scikit-learn requires."""


class TooFewRuns(NotEnoughData, ValueError):
    """Fewer runs than any result needs; also a ValueError, as scikit-learn requires."""


def check_runs(matrix: ArrayLike, run_time_s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a matrix (runs, users) and positive run times (runs,) as float arrays; raise BadRuns or TooFewRuns otherwise."""
    values, times = _to_dense(matrix), _to_dense(run_time_s)
    if values.ndim != 2 or times.ndim != 1 or len(values) != len(times):
        raise BadRuns(f"runs x users and run times do not fit: shapes {values.shape} and {times.shape}")
    if not values.shape[1]:
        raise BadRuns(f"no users: 0 feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    if len(times) < MIN_RUNS:
        raise TooFewRuns(f"not enough data: needs {MIN_RUNS} runs, has {len(times)}")
    for name, array in (("presence", values), ("run times", times)):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise BadRuns(
                f"{name}: run {bad[0][0]} contains a value that is not a finite number (NaN or inf)",
                advice="Leave such runs out",
            )
    if (values < 0).any():
        raise BadRuns("presence: Negative values in data; overlap and exposure cannot be negative")
    if (times <= 0).any():
        raise BadRuns(f"run times: run {int(np.argmax(times <= 0))} took no time")
    if np.ptp(times) == 0:
        raise TooFewRuns(f"all {len(times)} runs took {times[0]:g} s: nothing to explain")
    return values, times


def _to_dense(values: ArrayLike) -> NDArray[np.float64]:
    if issparse(values):
        raise BadRuns("sparse data was passed, but dense data is needed", advice="Call toarray()")
    if np.iscomplexobj(values):
        raise BadRuns("Complex data not supported")
    return np.asarray(values, float)
