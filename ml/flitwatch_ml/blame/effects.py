"""Effect sizes: extra seconds of a run due to a user, with an interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as student

from flitwatch_ml.blame.selection import EXPLAINED, Problem, sum_clusters

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Share of intervals that contain the true effect.
LEVEL = 0.95
#: With fewer runs without a user, the time of an unexposed run is unknown; the effect is then that of the amounts.
LEAST_ABSENT = 5
#: Upper limit of a slowdown: a factor of a hundred is not plausible.
MOST_LOG = float(np.log(100))
#: Limits of a score's distance to the least one named, for the search: p-values below are as certain, and scores closer as uncertain.
LEAST_P, LEAST_BEYOND, MOST_NATS = 1e-300, 1e-3, 50.0


def estimate_effects(
    problem: Problem, raw: Floats, exposed: NDArray[np.bool_], day: Ints, spread: Floats, time_s: Floats
) -> tuple[Floats, Floats]:
    """Return mean extra seconds of an exposed run (users,) and the interval (users, 2), given the effects removed in `problem`; NaN without a residual.

    Users multiply run times, both by amount and by presence, as it is unknown whether twice the nodes slow twice as much.

    Parameters
    ----------
    problem : with logarithms of run times as its outcome
    raw : float64 (runs, users)       regressors before any removal
    exposed : bool (runs, users);  day : int64 (runs,);  spread : float64 (users,)   widens the interval
    time_s : float64 (runs,)          compared with the same times without the fitted effect of exposure
    """
    amounts, outcome = problem.regressors, problem.outcome[:, None]
    squares = (amounts**2).sum(0)
    usable = squares > EXPLAINED * np.maximum(problem.own, EXPLAINED)
    by_amount = amounts / np.where(usable, squares, np.nan)
    present, has_presence = _separate_presence(problem, exposed, by_amount)
    # The slopes are weighted sums of log times.
    by_amount = by_amount - (by_amount * exposed).sum(0) * present
    slope, step = (by_amount * outcome).sum(0), (present * outcome).sum(0)
    runs = np.maximum(exposed.sum(0), 1)
    without = np.where(exposed, time_s[:, None] * np.exp(-np.clip(slope * raw + step, -MOST_LOG, MOST_LOG)), 0.0)
    effect = np.where(usable, ((time_s @ exposed) - without.sum(0)) / runs, np.nan)
    weights = (without * raw).sum(0) / runs * by_amount + without.sum(0) / runs * present
    residuals = outcome - amounts * (amounts * outcome).sum(0) / np.where(usable, squares, np.nan)
    residuals -= present * step / np.where(has_presence, (present**2).sum(0), 1.0)
    freedom = np.maximum(problem.degrees_of_freedom - 1 - has_presence, 1)
    independent = (residuals**2).sum(0) / freedom * (weights**2).sum(0)
    days = len(np.unique(day))
    by_day = (sum_clusters(weights * residuals, day) ** 2).sum(0) * days / max(days - 1, 1) * (len(day) - 1) / freedom
    reach = student.ppf(0.5 + LEVEL / 2, np.clip(freedom, 1, max(days - 1, 1)))
    reach = reach * np.sqrt(np.maximum(independent, by_day)) * spread
    return effect, np.column_stack([effect - reach, effect + reach])


def given_naming(effect: float, interval: Floats, p: float, limit: float) -> Floats:
    """Return the interval of an effect whose user is named because its p-value is at most `limit`; (2,), with the effect in it.

    Chance names more users whose effect it enlarged. The score has a normal distribution that is truncated at the limit, and the interval contains the
    means for which a higher score among those named has a chance of 2.5 to 97.5 % (Zhong and Prentice 2008; Lee and others 2016). Far from the limit,
    nothing changes.
    """
    score, least = (float(norm.isf(max(value, LEAST_P))) for value in (p, limit))
    score = max(score, least + LEAST_BEYOND)
    error = (interval[1] - effect) / norm.isf((1 - LEVEL) / 2)

    def shift(chance: float) -> float:
        """Return the mean at which scores beyond this one have the chance, less the score."""
        lowest = least - MOST_NATS / (score - least)
        return float(
            brentq(lambda mean: norm.logsf(score - mean) - norm.logsf(least - mean) - np.log(chance), lowest, score + 5)
            - score
        )

    low, high = (error * shift(chance) for chance in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return np.array([effect + low, effect + max(high, 0.0)])


def _separate_presence(
    problem: Problem, exposed: NDArray[np.bool_], by_amount: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the residual presence without the user's amount, divided by its squared length (runs, users), and which users have one (users,); else 0."""
    present = exposed - problem.axes @ (problem.axes.T @ exposed)
    present = present - problem.regressors * (by_amount * present).sum(0)
    squares = (present**2).sum(0)
    own = exposed.sum(0) * (1 - exposed.mean(0))
    has_presence = ((~exposed).sum(0) >= LEAST_ABSENT) & (squares > EXPLAINED * np.maximum(own, 1.0))
    return np.where(has_presence, present / np.where(has_presence, squares, 1.0), 0.0), has_presence
