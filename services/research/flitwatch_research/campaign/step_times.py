"""Step times of a run from the slowdown of its communication, for many variants at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def step_end_times(slowdown: Float, dt_s: float, compute_s: Float, communicate_s: Float) -> Float | None:
    """Return the end of every step: float64[K, S], seconds from the run's start.

    Parameters
    ----------
    slowdown : float64[K, T]; F of K variants on a grid of `dt_s`, constant between points: communication advances at 1 / (1 + F).
    compute_s, communicate_s : float64[S]; needs of each step.

    Return None if a variant does not finish within the grid.
    """
    variants, points = slowdown.shape
    rate = 1 / (1 + slowdown)
    done = np.concatenate([np.zeros((variants, 1)), np.cumsum(rate * dt_s, axis=1)], axis=1)
    most = points * dt_s
    # One sorted array for all variants: each is shifted above the previous one, so that a single search suffices.
    lift = (most + 1.0) * np.arange(variants)
    ladder = (done + lift[:, None]).ravel()
    row = np.arange(variants)
    now = np.zeros(variants)
    ends = np.empty((variants, len(compute_s)))
    for step, (compute, communicate) in enumerate(zip(compute_s.tolist(), communicate_s.tolist(), strict=True)):
        begin = now + compute
        if begin.max() >= most:
            return None
        point = (begin / dt_s).astype(np.int64)
        goal = done[row, point] + (begin - point * dt_s) * rate[row, point] + communicate
        if (goal >= done[:, -1]).any():
            return None
        place = np.searchsorted(ladder, goal + lift, side="right") - 1 - row * (points + 1)
        now = place * dt_s + (goal - done[row, place]) / rate[row, place]
        ends[:, step] = now
    return ends
