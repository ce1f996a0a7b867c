"""Scores of many columns at once, given others: greedy selection, and each column's score given those selected (Frisch-Waugh-Lovell)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from flitwatch_domain.several_sets import benjamini_hochberg

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: A column whose squared length after projection is below this share of its own is explained by the others.
EXPLAINED = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """Exposure and run time with the calendar removed.

    Attributes
    ----------
    regressors : float64 (runs, users);  outcome : float64 (runs,)
    axes : float64 (runs, directions)    what was taken out, orthonormal
    own : float64 (users,)               squared length of each user's column before
    clusters : tuple of int64 (runs,)    groupings of runs (days) over which variances are taken too
    means : int                          how many directions were taken out alongside `axes`, as means of parts are
    """

    regressors: Floats
    outcome: Floats
    axes: Floats
    own: Floats
    clusters: tuple[Ints, ...] = ()
    means: int = 0

    @property
    def degrees_of_freedom(self) -> int:
        """Runs less directions taken out."""
        return self.axes.shape[0] - self._directions

    @property
    def _directions(self) -> int:
        return self.axes.shape[1] + self.means

    def given(self, columns: Ints) -> Problem:
        """Return the same with some users taken out as well."""
        if not len(columns):
            return self
        axes = np.linalg.qr(self.regressors[:, columns])[0]
        residuals = self.regressors - axes @ (axes.T @ self.regressors)
        rest = self.outcome - axes @ (axes.T @ self.outcome)
        return Problem(residuals, rest, np.column_stack([self.axes, axes]), self.own, self.clusters, self.means)

    def scores(self, users: Ints | slice = slice(None)) -> Floats:
        """z-score of each user: covariance with the outcome over its standard error under no association, the largest over the clusterings."""
        columns = self.regressors[:, users]
        products, squares = columns.T @ self.outcome, (columns**2).sum(0)
        error = np.sqrt((self.outcome @ self.outcome) * squares / max(self.degrees_of_freedom, 1)) * self.day_effect(
            users
        )
        there = squares > EXPLAINED * np.maximum(self.own[users], EXPLAINED)
        return np.divide(products, error, out=np.zeros_like(products), where=there & (error > 0))

    def day_effect(self, users: Ints | slice = slice(None)) -> Floats:
        """By how much each score's standard error over clusters is larger than that of independent runs, (users,); at least 1.

        Of what the user's own effect leaves: a user who slows all of five runs would else look like five runs that vary.
        """
        columns, ratio = self.regressors[:, users], np.ones(self.regressors[:, users].shape[1])
        squares = (columns**2).sum(0)
        slope = np.divide(columns.T @ self.outcome, squares, out=np.zeros_like(squares), where=squares > 0)
        products = columns * self.outcome[:, None] - columns**2 * slope
        independent = (
            ((self.outcome @ self.outcome) - slope**2 * squares) * squares / max(self.degrees_of_freedom - 1, 1)
        )
        for cluster in self.clusters:
            # Days can only make scores less certain.
            over = (sum_clusters(products, cluster) ** 2).sum(0) * self._small_sample_factor(
                repeated_runs(columns, (cluster,))
            )
            ratio = np.maximum(ratio, np.divide(over, independent, out=np.ones_like(over), where=independent > 0))
        return np.sqrt(ratio)

    def _small_sample_factor(self, repeated: Floats) -> Floats:
        """By how much more a variance over clusters is too small than one over runs, (users,): directions were taken out of as many observations as there are."""
        runs, directions = len(self.axes), self._directions
        apart = runs / repeated
        return (apart / np.maximum(apart - directions, 1.0)) / (runs / max(runs - directions, 1))


def repeated_runs(columns: Floats, clusters: tuple[Ints, ...]) -> Floats:
    """Return the number of runs with the same information on each column's user, (users,): 1 if a day's runs differ, their number if they are alike
    (Kish's design effect)."""
    squares, most = (columns**2).sum(0), np.ones(columns.shape[1])
    for cluster in clusters:
        over = (sum_clusters(columns, cluster) ** 2).sum(0)
        most = np.maximum(most, np.divide(over, squares, out=np.ones_like(over), where=squares > 0))
    return most


def sum_clusters(values: Floats, cluster: Ints) -> Floats:
    """Return sums over the runs of each cluster, (clusters, ...)."""
    order = np.argsort(cluster, kind="stable")
    firsts = np.flatnonzero(np.diff(cluster[order], prepend=cluster[order[:1]] - 1))
    return np.add.reduceat(values[order], firsts, axis=0)


def carrier_counts(columns: Floats) -> Floats:
    """Return the number of runs that carry each column's score, (users,): all for an even column, about the exposed runs for a user who is rarely present."""
    squares = columns**2
    fourth = (squares**2).sum(0)
    return np.divide(squares.sum(0) ** 2, fourth, out=np.zeros_like(fourth), where=fourth > 0)


def one_sided_p(z: Floats, freedom: int, carried_by: Floats | None = None) -> Floats:
    """Return one-sided p-value of a score: a partial correlation's, exact for normal noise that is alike in all runs.

    With `carried_by` (`carrier_counts`), the noise of the runs that carry a score may differ from that of the others: its size is then known from this many runs alone.
    """
    df = max(freedom - 1, 1)
    share = np.clip(z**2 / max(freedom, 1), 0.0, 1 - 1e-12)
    t = np.sign(z) * np.sqrt(df * share / (1 - share))
    return student.sf(t, df if carried_by is None else np.clip(carried_by - 1, 1, df))


def select_users(problem: Problem, candidates: Bools, alpha: float, most: int, spread: Floats | float = 1.0) -> Ints:
    """Return users taken one after the other while the chance that the best of the rest scores so high is below alpha (Bonferroni).

    `spread` (users,) is by how much scores wander more than those of independent runs: anyone who comes by the week must not be taken for what weeks differ in.
    """
    selected: list[int] = []
    alive, tests = candidates.copy(), int(candidates.sum())
    conditioned = problem
    while len(selected) < most and alive.any() and conditioned.degrees_of_freedom > 2:
        z = np.where(alive, conditioned.scores() / spread, -np.inf)
        best = int(np.argmax(z))
        if one_sided_p(z[best : best + 1], conditioned.degrees_of_freedom)[0] * tests > alpha:
            break
        selected.append(best)
        alive[best] = False
        conditioned = problem.given(np.array(selected, np.int64))
    return np.array(selected, np.int64)


def confirm_users(problem: Problem, selected: Ints, candidates: Bools, spread: Floats | float, q: float) -> Ints:
    """Of the selected, in their order, those whose own rate of false discoveries is at most `q` given the others that stay; the least certain goes first.

    Whom chance alone selected takes noise along, and makes the rest look more certain than they are. As in `select_users`, a score that few runs carry counts
    in full here: else one true culprit after the other would go, each for the noise of those who went before.
    """
    while len(selected):
        rates = benjamini_hochberg(p_values(*conditional_scores(problem, selected), candidates, spread))[selected]
        worst = int(np.argmax(rates))
        if rates[worst] <= q:
            break
        selected = np.delete(selected, worst)
    return selected


def p_values(
    z: Floats, freedom: Ints, candidates: Bools, spread: Floats | float, carried_by: Floats | None = None
) -> Floats:
    """Return the chance of each candidate's score by its own degrees of freedom, (users,); NaN for the others. `spread` as in `select_users`, `carried_by` as in `one_sided_p`."""
    p, z = np.full(len(z), np.nan), z / spread
    for each in np.unique(freedom):
        at = candidates & (freedom == each)
        p[at] = one_sided_p(z[at], int(each), None if carried_by is None else carried_by[at])
    return p


def conditional_scores(problem: Problem, selected: Ints) -> tuple[Floats, Ints]:
    """Return each user's score given the (other) users selected, and the degrees of freedom of each."""
    conditioned = problem.given(selected)
    z, freedom = conditioned.scores(), np.full(problem.regressors.shape[1], conditioned.degrees_of_freedom)
    alone = replace(problem, regressors=problem.regressors[:, selected], own=problem.own[selected])
    for at, user in enumerate(selected.tolist()):
        others = alone.given(np.delete(np.arange(len(selected)), at))
        z[user], freedom[user] = others.scores(np.array([at]))[0], others.degrees_of_freedom
    return z, freedom
