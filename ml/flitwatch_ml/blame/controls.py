"""Checks that a finding must pass before a user is named: other weeks, any one week left out, and users who come together."""

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

#: A finding that a control would give by chance in one case of twenty is not beyond doubt.
DOUBT = 0.05
#: Presence of other weeks: two of them are looked at, each as a finding of its own.
CONTROL = 0.01
#: What goes with presence of another week by less than this share of what goes with the true one cannot be what made the finding.
SIZEABLE = 0.25
#: Users whose exposure is this much alike, with calendar and other users out, may stand for one another.
ALIKE = 0.5
#: A finding rests on at least so many weeks (days, where the runs span few weeks).
LEAST_PERIODS = 3


def assign_periods(start_s: Floats) -> tuple[Ints, str]:
    """Return the week of each run; its day, where the runs span fewer than six weeks."""
    weeks = np.floor(start_s / WEEK_S).astype(np.int64)
    if len(np.unique(weeks)) >= 6:
        return weeks, "week"
    return np.floor(start_s / DAY_S).astype(np.int64), "day"


def depends_on_one_period(problem: Problem, user: int, exposed: Bools, period: Ints, spread: float) -> int | None:
    """Return the period without which nothing would have been found; None: any one may be left out.

    `exposed` (runs,), `period` (runs,), `spread`: by how much the score wanders more than that of independent runs.
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
    """Yield weeks by which the user's presence may be shifted and still goes with the slow runs, when the true presence is taken out: -1, 1.

    `raw` (runs,) is the user's regressor before anything was taken out. A run is given the presence of the run nearest to the same hour of the other week.
    It must hold with weekdays taken out too, where runs suffice: every week has them, so that anyone who comes on slow Mondays would always be found.
    `rhythm` asks of them. And it must be sizeable: with very many runs a trifle is beyond chance. Runs of a day may vary together, and `spread` is by how much
    the user's score wanders beyond that: the presence of another week wanders as much.
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
        beside = np.column_stack([regressors, by_weekday])[rows]
        result = _conditional_chance(beside, shifted, problem.outcome[rows], own, clusters, spread)
        if result is None or (result[0] < CONTROL and result[1] >= sizeable):
            yield weeks


def _conditional_chance(
    taken: Floats, column: Floats, outcome: Floats, own: float, clusters: tuple[Ints, ...], spread: float
) -> tuple[float, float] | None:
    """Return the chance of a column's score when others are taken out, and its slope; None if runs do not suffice or nothing is left of its squared length `own`."""
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
    """Return users who are there when this one is, and given whom nothing is left for this one."""
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
