"""How much: seconds that a run takes longer beside a user, with an interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from flitwatch_ml.blame.selection import EXPLAINED, Problem, summed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Share of intervals that hold the true effect.
LEVEL = 0.95


def effects(
    problem: Problem, raw: Floats, exposed: NDArray[np.bool_], day: Ints, spread: Floats
) -> tuple[Floats, Floats]:
    """Mean extra seconds of an exposed run (users,) and its interval (users, 2), given what `problem` has taken out; NaN where nothing is left of a user.

    Parameters
    ----------
    problem : with run times in seconds as its outcome
    raw : float64 (runs, users)       regressors before anything was taken out: an effect is the slope x their mean over the exposed runs
    exposed : bool (runs, users);  day : int64 (runs,);  spread : float64 (users,)   widens the interval
    """
    columns, squares = problem.regressors, (problem.regressors**2).sum(0)
    usable = squares > EXPLAINED * np.maximum(problem.own, EXPLAINED)
    slope = np.divide(columns.T @ problem.outcome, squares, out=np.full(len(squares), np.nan), where=usable)
    left = problem.outcome[:, None] - columns * slope
    freedom = max(problem.degrees_of_freedom - 1, 1)
    independent = (left**2).sum(0) / freedom / np.where(usable, squares, np.nan)
    days = len(np.unique(day))
    by_day = (summed(columns * left, day) ** 2).sum(0) / np.where(usable, squares, np.nan) ** 2
    by_day *= days / max(days - 1, 1) * (len(day) - 1) / freedom
    error = np.sqrt(np.maximum(independent, by_day)) * spread
    typical = (raw * exposed).sum(0) / np.maximum(exposed.sum(0), 1)
    reach = student.ppf(0.5 + LEVEL / 2, max(min(freedom, days - 1), 1)) * error
    return slope * typical, np.column_stack([slope - reach, slope + reach]) * typical[:, None]
