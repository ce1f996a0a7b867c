"""What every blame estimator asks of its input."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import BadInput, NotEnoughData

#: Below this no association can reach a useful p-value: with 4 slow of 8 runs the least possible is 1/70.
MIN_RUNS = 8


def check_runs(matrix: ArrayLike, run_time_s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A matrix (runs, users) and positive run times (runs,) as float arrays; a clear error otherwise."""
    values = np.asarray(matrix, float)
    times = np.asarray(run_time_s, float)
    if values.ndim != 2 or times.ndim != 1 or len(values) != len(times):
        raise BadInput(f"runs x users and run times do not fit: shapes {values.shape} and {times.shape}")
    if len(times) < MIN_RUNS:
        raise NotEnoughData(f"not enough data: needs {MIN_RUNS} runs, has {len(times)}")
    for name, array in (("presence", values), ("run times", times)):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise BadInput(
                f"{name}: run {bad[0][0]} holds a value that is not a finite number", advice="Leave such runs out"
            )
    if (values < 0).any():
        raise BadInput("presence: overlap and exposure cannot be negative")
    if (times <= 0).any():
        raise BadInput(f"run times: run {int(np.argmax(times <= 0))} took no time")
    if np.ptp(times) == 0:
        raise NotEnoughData(f"all {len(times)} runs took {times[0]:g} s: nothing to explain")
    return values, times
