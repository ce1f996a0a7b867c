"""Problems of blame with random exposures, for tests of its parts."""

from __future__ import annotations

import math

import numpy as np

from flitwatch_ml.blame.selection import Problem


def problem(runs: int = 30, users: int = 4, seed: int = 1, clusters: tuple[np.ndarray, ...] = ()) -> Problem:
    rng = np.random.default_rng(seed)
    axes = np.full((runs, 1), 1 / math.sqrt(runs))
    raw, outcome = rng.normal(size=(runs, users)), rng.normal(size=runs)
    return Problem(raw - raw.mean(0), outcome - outcome.mean(), axes, ((raw - raw.mean(0)) ** 2).sum(0), clusters)
