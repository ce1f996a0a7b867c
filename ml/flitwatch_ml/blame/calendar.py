"""What the calendar and a run's own circumstances explain: hours and weekends, a smooth date trend, regimes, covariates.

A user who was there only in a slow month, or only after an upgrade, goes with slow runs without slowing any. So everything that follows is asked of what
is left of run times and exposure when these are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline

from flitwatch_ml.blame.strata import DAY_S, hour_and_weekend, normal_scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEEK_S = 7 * DAY_S
#: Below this many runs a stratum, an hour of the day more or less cannot be told from chance; all runs are then one stratum.
RUNS_FOR_STRATA = 32
#: The date trend bends once in so many weeks, and no more often than once in so many runs.
WEEKS_A_BEND, RUNS_A_BEND = 3, 12
#: A regime holds at least so many runs, and one in this many of all.
REGIME_RUNS, REGIME_SHARE = 6, 25
#: A level shift is taken as one from this score on: of a hundred places to look at, the best by chance passes it in one set of six.
SHIFT_Z = 3.0
MOST_SHIFTS = 8
#: Runs x places that are held while a level shift is looked for: beyond 6,000 runs it is looked for at evenly spread places.
HELD = 40_000_000
#: Times beyond so many robust standard deviations count as that many, where the calendar is fitted.
WILD = 4.0
#: Directions whose length is below this share of their own are explained by the others.
EXPLAINED = 1e-9


@dataclass(frozen=True, eq=False)
class Calendar:
    """The directions that are taken out of everything.

    Attributes
    ----------
    axes : float64 (runs, directions)     orthonormal
    regimes_s : float64 (changes,)        epoch seconds since when another level holds: marks and change points
    strata : bool                         whether hours and weekends are among them
    """

    axes: Floats
    regimes_s: Floats
    strata: bool

    def without(self, values: Floats) -> Floats:
        """`values` (runs, ...) less what the calendar explains."""
        return values - self.axes @ (self.axes.T @ values)

    @property
    def degrees_of_freedom(self) -> int:
        """Runs less directions."""
        return self.axes.shape[0] - self.axes.shape[1]


def calendar(
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
    covariates : float64 (runs, k) circumstances of a run that slow it for themselves: groups spanned, jobs in the queue
    marks_s : (marks,)             when routes, firmware or software changed
    known : float64 (runs,)        what users already selected explain of log_time; change points are looked for in the rest
    """
    start = np.asarray(start_s, float)
    response = winsorised(log_time - (0.0 if known is None else known))
    columns = [np.ones((len(start), 1)), _trend(start)]
    stratified = len(start) >= RUNS_FOR_STRATA
    if stratified:
        strata = hour_and_weekend(start)
        columns.append((strata[:, None] == np.unique(strata)).astype(float))
    if covariates is not None and covariates.size:
        columns.append(np.column_stack([normal_scores(one) for one in covariates.T]))
    axes = orthonormal(np.column_stack(columns))
    axes, regimes = _regimes(start, response, axes, np.sort(np.asarray(marks_s, float)))
    return Calendar(axes, regimes, stratified)


def winsorised(values: Floats) -> Floats:
    """Values with wild ones pulled in, so that one broken run does not bend the trend."""
    middle = np.median(values)
    spread = 1.4826 * np.median(np.abs(values - middle))
    return np.clip(values, middle - WILD * spread, middle + WILD * spread) if spread > 0 else values


def orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of the span of columns (runs, k), dependent ones left out; the first column is never left out."""
    lengths = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    return left[:, values > 1e-6 * values[0]] if len(values) else np.zeros((len(columns), 0))


def _trend(start: Floats) -> Floats:
    """Quadratic splines of the date, with knots at equal numbers of runs."""
    span = float(np.ptp(start))
    bends = int(min(span / (WEEKS_A_BEND * WEEK_S), len(start) / RUNS_A_BEND))
    if span <= 0 or bends < 1:
        return np.zeros((len(start), 0)) if span <= 0 else ((start - start.min()) / span)[:, None]
    inner = np.unique(np.quantile(start, np.linspace(0, 1, bends + 1)))
    knots = np.concatenate([inner[:1]] * 2 + [inner] + [inner[-1:]] * 2)
    return BSpline.design_matrix(start, knots, 2).toarray()


def _regimes(start: Floats, response: Floats, axes: Floats, marks: Floats) -> tuple[Floats, Floats]:
    """Axes with a step at each mark that has enough runs around it and at each change point that the response shows."""
    least = max(REGIME_RUNS, len(start) // REGIME_SHARE)
    places: list[int] = []

    def free(place: int) -> bool:
        return all(abs(place - other) >= least for other in (0, len(start), *places))

    regimes = []
    for mark in marks.tolist():
        place = int(np.searchsorted(start, mark))
        if free(place):
            places.append(place)
            regimes.append(mark)
    order = np.arange(len(start))
    if places:
        axes = orthonormal(np.column_stack([axes, order[:, None] >= np.array(places)]))
    while len(places) - len(regimes) < MOST_SHIFTS:
        apart = -(-(len(start) ** 2) // HELD)
        candidates = np.array([place for place in range(0, len(start), apart) if free(place)], np.int64)
        best, z = _largest_step(order, candidates, response, axes)
        if best is None or abs(z) < SHIFT_Z:
            break
        places.append(best)
        axes = orthonormal(np.column_stack([axes, (order >= best).astype(float)]))
    found = [float(start[place]) for place in places[len(regimes) :]]
    return axes, np.sort(np.array([*regimes, *found], float))


def _largest_step(order: Ints, candidates: Ints, response: Floats, axes: Floats) -> tuple[int | None, float]:
    freedom = len(order) - axes.shape[1] - 1
    if not len(candidates) or freedom < 2:
        return None, 0.0
    steps = (order[:, None] >= candidates).astype(float)
    own = (steps**2).sum(0)
    steps -= axes @ (axes.T @ steps)
    rest = response - axes @ (axes.T @ response)
    lengths = (steps**2).sum(0)
    usable = lengths > 1e-3 * own
    z = np.zeros(len(candidates))
    z[usable] = (rest @ steps[:, usable]) / np.sqrt(lengths[usable] * max(float(rest @ rest), 1e-300) / freedom)
    best = int(np.argmax(np.abs(z)))
    return int(candidates[best]), float(z[best])
