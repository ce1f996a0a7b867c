"""Calendar model: the share of run times explained by hours and weekends, a smooth date trend, regimes, and a run's own circumstances (covariates).

A user who was active only in a slow month, or only after an upgrade, correlates with slow runs without slowing any. All later steps therefore use the
residuals of run times and exposure after these effects are removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline

from flitwatch_ml.blame.strata import DAY_S, day_numbers, hour_and_weekend, normal_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEEK_S = 7 * DAY_S
#: With runs on fewer days, effects of the hour cannot be distinguished from chance; all runs are then one stratum.
DAYS_FOR_STRATA = 32
#: The date trend has one knot per this many weeks, and at most one per this many days with runs.
WEEKS_A_BEND, DAYS_A_BEND = 3, 12
#: A regime has at least this many days with runs, and at least one in this many of all days with runs.
REGIME_DAYS, REGIME_SHARE = 6, 25
#: Score threshold for a level shift. With a hundred candidate places, the best exceeds it by chance in one of six sets.
SHIFT_Z = 3.0
MOST_SHIFTS = 8
#: For fitting the calendar, times are clipped to this many robust standard deviations.
WILD = 4.0
#: Directions with a residual below this share of their length count as explained by the others.
EXPLAINED = 1e-9


@dataclass(frozen=True, eq=False)
class Calendar:
    """The directions removed from all variables.

    Attributes
    ----------
    axes : float64 (runs, directions)     orthonormal
    regimes_s : float64 (changes,)        epoch seconds of level changes: marks and change points
    strata : bool                         whether hours and weekends are included
    """

    axes: Floats
    regimes_s: Floats
    strata: bool

    def without(self, values: Floats) -> Floats:
        """Return the residuals of `values` (runs, ...) after removing the calendar's effects."""
        return values - self.axes @ (self.axes.T @ values)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of runs minus number of directions."""
        return self.axes.shape[0] - self.axes.shape[1]


def fit_calendar(
    start_s: ArrayLike,
    log_time: Floats,
    covariates: Floats | None = None,
    marks_s: ArrayLike = (),
    known: Floats | None = None,
) -> Calendar:
    """Fit the calendar of runs.

    Parameters
    ----------
    start_s : (runs,)              epoch seconds
    log_time : float64 (runs,)     logarithms of run times
    covariates : float64 (runs, k) circumstances of a run that slow it themselves: groups spanned, jobs in the queue
    marks_s : (marks,)             times of changes of routes, firmware or software
    known : float64 (runs,)        part of log_time explained by users already selected; change points are searched in the rest
    """
    start = np.asarray(start_s, float)
    response = winsorise_values(log_time - (0.0 if known is None else known))
    columns = [np.ones((len(start), 1)), _trend_basis(start)]
    stratified = int(_day_numbers(start)[-1]) + 1 >= DAYS_FOR_STRATA
    if stratified:
        strata = hour_and_weekend(start)
        columns.append((strata[:, None] == np.unique(strata)).astype(float))
    if covariates is not None and covariates.size:
        columns.append(np.column_stack([normal_scores(covariate) for covariate in covariates.T]))
    axes = orthonormal_basis(np.column_stack(columns))
    axes, regimes = _add_regimes(start, response, axes, np.sort(np.asarray(marks_s, float)))
    return Calendar(axes, regimes, stratified)


def calendar_by_application(
    application: Ints,
    start_s: Floats,
    log_time: Floats,
    covariates: Floats | None = None,
    marks_s: ArrayLike = (),
    known: Floats | None = None,
) -> Calendar:
    """Fit one calendar per application (runs,), because slow periods differ between applications."""
    labels = np.unique(application)
    fits, axes = [], []
    for label in labels.tolist():
        own = application == label
        lay, explained = (None if values is None else values[own] for values in (covariates, known))
        fits.append(fit_calendar(start_s[own], log_time[own], lay, marks_s, explained))
        axes.append(np.zeros((len(own), fits[-1].axes.shape[1])))
        axes[-1][own] = fits[-1].axes
    regimes = np.unique(np.concatenate([fit.regimes_s for fit in fits]))
    return Calendar(np.column_stack(axes), regimes, any(fit.strata for fit in fits))


def by_application(application: Ints, make: Callable[[Floats], Floats], values: Floats) -> Floats:
    """Apply `make` to the values (runs,) of each application separately."""
    made = np.empty_like(values)
    for label in np.unique(application).tolist():
        made[application == label] = make(values[application == label])
    return made


def winsorise_values(values: Floats) -> Floats:
    """Return values with outliers clipped, so that one broken run does not distort the trend."""
    middle = np.median(values)
    spread = 1.4826 * np.median(np.abs(values - middle))
    return np.clip(values, middle - WILD * spread, middle + WILD * spread) if spread > 0 else values


def orthonormal_basis(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of columns (runs, k) without dependent columns. The first column is always kept."""
    lengths = np.linalg.norm(columns, axis=0)
    if not (lengths > 0).any():
        return np.zeros((len(columns), 0))
    tall, square = np.linalg.qr(columns[:, lengths > 0] / lengths[lengths > 0])
    turned, values, _ = np.linalg.svd(square)
    return tall @ turned[:, values > 1e-6 * values[0]]


def _append_axis(axes: Floats, column: Floats) -> Floats:
    """Return orthonormal axes plus one for a column's nonzero residual. The projection is done twice to remove rounding errors."""
    for _ in range(2):
        column = column - axes @ (axes.T @ column)
    return np.column_stack([axes, column / np.linalg.norm(column)])


def _trend_basis(start: Floats) -> Floats:
    """Return quadratic splines of the date, with equal numbers of runs between knots."""
    span = float(np.ptp(start))
    bends = int(min(span / (WEEKS_A_BEND * WEEK_S), len(np.unique(day_numbers(start))) / DAYS_A_BEND))
    if span <= 0 or bends < 1:
        return np.zeros((len(start), 0)) if span <= 0 else ((start - start.min()) / span)[:, None]
    inner = np.unique(np.quantile(start, np.linspace(0, 1, bends + 1)))
    knots = np.concatenate([inner[:1]] * 2 + [inner] + [inner[-1:]] * 2)
    return BSpline.design_matrix(start, knots, 2).toarray()


def _add_regimes(start: Floats, response: Floats, axes: Floats, marks: Floats) -> tuple[Floats, Floats]:
    """Return axes with a step at each mark with enough days on both sides and at each change point of the response."""
    day = _day_numbers(start)
    ends = np.append(day, day[-1] + 1)
    least = max(REGIME_DAYS, int(ends[-1]) // REGIME_SHARE)
    places: list[int] = []

    def free(place: Ints) -> NDArray[np.bool_]:
        bounds = ends[np.array([0, len(start), *places])]
        return (np.abs(ends[place][:, None] - bounds) >= least).all(1)

    regimes = []
    for mark in marks.tolist():
        place = int(np.searchsorted(start, mark))
        if free(np.array([place]))[0]:
            places.append(place)
            regimes.append(mark)
    order = np.arange(len(start))
    if places:
        axes = orthonormal_basis(np.column_stack([axes, order[:, None] >= np.array(places)]))
    while len(places) - len(regimes) < MOST_SHIFTS:
        best, z = _largest_step(order[free(order)], response, axes, day)
        if best is None or abs(z) < SHIFT_Z:
            break
        places.append(best)
        axes = _append_axis(axes, (order >= best).astype(float))
    shift_times = [float(start[place]) for place in places[len(regimes) :]]
    return axes, np.sort(np.array([*regimes, *shift_times], float))


def _day_numbers(start: Floats) -> Ints:
    """Return the number of days with runs before the day of each run, (runs,); `start` ascends."""
    return np.unique(day_numbers(start), return_inverse=True)[1]


def _largest_step(candidates: Ints, response: Floats, axes: Floats, day: Ints) -> tuple[int | None, float]:
    """Return the place after which the response changes most, and its score. Runs of a day may be correlated."""
    runs = len(response)
    freedom = runs - axes.shape[1] - 1
    if not len(candidates) or freedom < 2:
        return None, 0.0
    rest = response - axes @ (axes.T @ response)
    # The product of a step with a column is the column's sum from the step on.
    explained = _sums_from(axes)[candidates]
    lengths = (runs - candidates) - (explained**2).sum(1)
    usable = lengths > 1e-3 * (runs - candidates)
    z = np.zeros(len(candidates))
    error = np.sqrt(lengths[usable] * max(float(rest @ rest), 1e-300) / freedom)
    z[usable] = _sums_from(rest)[candidates][usable] / error
    best = int(np.argmax(np.abs(z)))
    if not usable[best]:
        return None, 0.0
    step = (np.arange(runs) >= candidates[best]) - axes @ explained[best]
    without = rest - step * (rest @ step) / lengths[best]
    together = (np.bincount(day, without) ** 2).sum() / max(float(without @ without), 1e-300)
    return int(candidates[best]), float(z[best]) / np.sqrt(max(together, 1.0))


def _sums_from(values: Floats) -> Floats:
    """Return the sum from each run on, in the shape of `values` (runs, ...)."""
    return np.cumsum(values[::-1], axis=0)[::-1]
