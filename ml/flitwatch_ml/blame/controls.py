"""Checks that a finding must pass before a user is named: other weeks, any one week left out, and correlated users."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame import rhythm
from flitwatch_ml.blame.calendar import WEEK_S, orthonormal_basis
from flitwatch_ml.blame.selection import EXPLAINED, Problem, one_sided_p, sum_clusters
from flitwatch_ml.blame.strata import DAY_S

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Significance level of the controls.
DOUBT = 0.05
#: Significance level for presence in other weeks; two weeks are tested separately.
CONTROL = 0.01
#: An effect of presence in another week below this share of the true effect cannot have caused the finding.
SIZEABLE = 0.25
#: Users with this correlation of exposure, after removing calendar and other users, may be proxies of each other.
ALIKE = 0.5
#: A finding needs at least this many weeks (days, if the runs span few weeks).
LEAST_PERIODS = 3


def assign_periods(start_s: Floats) -> tuple[Ints, str]:
    """Return the week of each run, or its day if the runs span fewer than six weeks."""
    weeks = np.floor(start_s / WEEK_S).astype(np.int64)
    if len(np.unique(weeks)) >= 6:
        return weeks, "week"
    return np.floor(start_s / DAY_S).astype(np.int64), "day"


def depends_on_one_period(problem: Problem, user: int, exposed: Bools, period: Ints, spread: float) -> int | None:
    """Return the period without which there would be no finding; None if any single period can be left out.

    `exposed` (runs,), `period` (runs,), `spread`: factor by which the score varies more than with independent runs.
    """
    column = problem.regressors[:, user]
    labels = np.unique(period)
    if len(np.unique(period[exposed])) < LEAST_PERIODS:
        values, counts = np.unique(period[exposed], return_counts=True)
        return int(values[np.argmax(counts)])
    z = float(problem.scores(np.array([user]))[0]) / spread
    products, squares = sum_clusters(column * problem.outcome, period), sum_clusters(column**2, period)
    total, length = float(products.sum()), float(squares.sum())
    if total <= 0:
        return int(labels[0])
    without = z * (1 - products / total) / np.sqrt(np.maximum(1 - squares / length, 1e-12))
    worst = int(np.argmin(without))
    return int(labels[worst]) if one_sided_p(without[[worst]], problem.degrees_of_freedom)[0] > DOUBT else None


def other_weeks(problem: Problem, user: int, raw: Floats, start_s: Floats, spread: float) -> Iterator[int]:
    """Yield week shifts (-1, 1) for which the user's shifted presence still correlates with slow runs after removing the true presence.

    `raw` (runs,) is the user's regressor before any removal. Each run gets the presence of the run nearest to the same hour of the other week.
    With enough runs, the correlation must persist after removing weekdays: otherwise every user of slow Mondays would be found, which `rhythm` tests.
    The effect must also be large enough, because with very many runs tiny effects are significant. Runs of a day may be correlated. `spread` is the
    additional variation of the user's score, which applies to shifted presence too.
    """
    own = float(raw @ raw)
    column = problem.regressors[:, user]
    sizeable = SIZEABLE * float(column @ problem.outcome) / max(float(column @ column), 1e-300)
    regressors = np.column_stack([problem.axes, problem.regressors[:, user]])
    by_weekday = rhythm.rhythm_directions(problem.axes, rhythm.weekday_numbers(start_s))
    for weeks in (-1, 1):
        target_s = start_s + weeks * WEEK_S
        right = np.clip(np.searchsorted(start_s, target_s), 1, len(start_s) - 1)
        nearest = np.where(target_s - start_s[right - 1] < start_s[right] - target_s, right - 1, right)
        rows = np.flatnonzero(np.abs(start_s[nearest] - target_s) <= DAY_S)
        shifted = raw[nearest[rows]]
        clusters = tuple(each[rows] for each in problem.clusters)
        result = _conditional_chance(regressors[rows], shifted, problem.outcome[rows], own, clusters, spread)
        if result is None or result[0] >= CONTROL or result[1] < sizeable:
            continue
        with_weekday = np.column_stack([regressors, by_weekday])[rows]
        result = _conditional_chance(with_weekday, shifted, problem.outcome[rows], own, clusters, spread)
        if result is None or (result[0] < CONTROL and result[1] >= sizeable):
            yield weeks


def _conditional_chance(
    taken: Floats, column: Floats, outcome: Floats, own: float, clusters: tuple[Ints, ...], spread: float
) -> tuple[float, float] | None:
    """Return the p-value of a column's score given other columns, and its slope; None if there are too few runs or no residual of squared length `own`."""
    if len(column) < 2 * taken.shape[1]:
        return None
    axes = orthonormal_basis(taken)
    residual, rest = (values - axes @ (axes.T @ values) for values in (column, outcome))
    length = float(residual @ residual)
    if length <= EXPLAINED * max(own, EXPLAINED):
        return None
    alone = Problem(residual[:, None], rest, axes, np.array([own]), clusters)
    return float(one_sided_p(alone.scores() / spread, alone.degrees_of_freedom)[0]), float(residual @ rest) / length


def proxy_users(problem: Problem, user: int, candidates: Bools, spread: float) -> Ints:
    """Return users with similar presence whose removal leaves no effect of this user."""
    lengths = np.sqrt((problem.regressors**2).sum(0))
    usable = candidates & (lengths**2 > EXPLAINED * np.maximum(problem.own, EXPLAINED))
    alike = np.zeros(len(lengths))
    alike[usable] = (problem.regressors[:, usable].T @ problem.regressors[:, user]) / (lengths[usable] * lengths[user])
    alike[user] = 0.0
    proxies = []
    for other in np.flatnonzero(alike >= ALIKE).tolist():
        conditioned = problem.given(np.array([other]))
        z = conditioned.scores(np.array([user])) / spread
        if one_sided_p(z, conditioned.degrees_of_freedom)[0] > DOUBT:
            proxies.append(other)
    return np.array(proxies, np.int64)
