"""Scores of many columns at once: greedy selection, and each column's score given the selected ones (Frisch-Waugh-Lovell)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from flitwatch_domain.blame import benjamini_hochberg

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: A column counts as explained by the others if projection reduces its squared length below this share.
EXPLAINED = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """Exposure and run time with the calendar removed.

    Attributes
    ----------
    regressors : float64 (runs, users);  outcome : float64 (runs,)
    axes : float64 (runs, directions)    removed directions, orthonormal
    own : float64 (users,)               squared length of each user's column before
    clusters : tuple of int64 (runs,)    groupings of runs (days) for additional variances
    means : int                          number of directions removed in addition to `axes`, such as means of parts
    """

    regressors: Floats
    outcome: Floats
    axes: Floats
    own: Floats
    clusters: tuple[Ints, ...] = ()
    means: int = 0

    @property
    def degrees_of_freedom(self) -> int:
        """Number of runs minus number of removed directions."""
        return self.axes.shape[0] - self._directions

    @property
    def _directions(self) -> int:
        return self.axes.shape[1] + self.means

    def given(self, columns: Ints) -> Problem:
        """Return the same problem with some users also removed."""
        if not len(columns):
            return self
        axes = np.linalg.qr(self.regressors[:, columns])[0]
        residuals = self.regressors - axes @ (axes.T @ self.regressors)
        rest = self.outcome - axes @ (axes.T @ self.outcome)
        return Problem(residuals, rest, np.column_stack([self.axes, axes]), self.own, self.clusters, self.means)

    def scores(self, users: Ints | slice = slice(None)) -> Floats:
        """Return each user's z-score: covariance with the outcome over its standard error under no association, using the largest over the clusterings."""
        return self._independent_scores(users) / self.day_effect(users)

    def t_values(self, users: Ints | slice = slice(None)) -> Floats:
        """Return each user's t-value: slope over its standard error, the largest over the clusterings. Unlike `scores` it has no upper limit."""
        return t_values(self._independent_scores(users), self.degrees_of_freedom) / self.day_effect(users)

    def _independent_scores(self, users: Ints | slice) -> Floats:
        columns = self.regressors[:, users]
        products, squares = columns.T @ self.outcome, (columns**2).sum(0)
        error = np.sqrt((self.outcome @ self.outcome) * squares / max(self.degrees_of_freedom, 1))
        there = squares > EXPLAINED * np.maximum(self.own[users], EXPLAINED)
        return np.divide(products, error, out=np.zeros_like(products), where=there & (error > 0))

    def day_effect(self, users: Ints | slice = slice(None)) -> Floats:
        """Return the ratio of each score's standard error over clusters to that of independent runs, (users,); at least 1.

        It is computed after removing the user's own effect. Otherwise a user who slows five runs would look like five varying runs.
        """
        columns, ratio = self.regressors[:, users], np.ones(self.regressors[:, users].shape[1])
        squares = (columns**2).sum(0)
        slope = np.divide(columns.T @ self.outcome, squares, out=np.zeros_like(squares), where=squares > 0)
        products = columns * self.outcome[:, None] - columns**2 * slope
        independent = (
            ((self.outcome @ self.outcome) - slope**2 * squares) * squares / max(self.degrees_of_freedom - 1, 1)
        )
        for cluster in self.clusters:
            # Days can only reduce certainty.
            over = (sum_clusters(products, cluster) ** 2).sum(0) * self._small_sample_factor(
                repeated_runs(columns, (cluster,))
            )
            ratio = np.maximum(ratio, np.divide(over, independent, out=np.ones_like(over), where=independent > 0))
        return np.sqrt(ratio)

    def _small_sample_factor(self, repeated: Floats) -> Floats:
        """Return the small-sample correction of a variance over clusters relative to one over runs, (users,), for the removed directions."""
        runs, directions = len(self.axes), self._directions
        apart = runs / repeated
        return (apart / np.maximum(apart - directions, 1.0)) / (runs / max(runs - directions, 1))


def repeated_runs(columns: Floats, clusters: tuple[Ints, ...]) -> Floats:
    """Return the number of runs with the same information about each column's user, (users,): 1 if a day's runs differ, their number if they are equal
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
    """Return the effective number of runs behind each column's score, (users,): all for an even column, about the exposed runs for a rare user."""
    squares = columns**2
    fourth = (squares**2).sum(0)
    return np.divide(squares.sum(0) ** 2, fourth, out=np.zeros_like(fourth), where=fourth > 0)


def one_sided_p(z: Floats, freedom: int, carried_by: Floats | None = None) -> Floats:
    """Return the one-sided p-value of a score as a partial correlation; exact for normal noise with equal variance in all runs. For `carried_by` see
    `chance_of_t`."""
    return chance_of_t(t_values(z, freedom), freedom, carried_by)


def t_values(z: Floats, freedom: int) -> Floats:
    """Return the t-values of scores by their degrees of freedom."""
    share = np.clip(z**2 / max(freedom, 1), 0.0, 1 - 1e-12)
    return np.sign(z) * np.sqrt(max(freedom - 1, 1) * share / (1 - share))


def chance_of_t(t: Floats, freedom: int, carried_by: Floats | None = None) -> Floats:
    """Return the one-sided p-value of a t-value by its score's degrees of freedom.

    With `carried_by` (`carrier_counts`), the noise of these runs may differ from that of the others. Its variance is then estimated from only this many runs.
    """
    df = max(freedom - 1, 1)
    return student.sf(t, df if carried_by is None else np.clip(carried_by - 1, 1, df))


def select_users(problem: Problem, candidates: Bools, alpha: float, most: int, spread: Floats | float = 1.0) -> Ints:
    """Return users selected one after the other while the p-value of the best remaining score is below alpha (Bonferroni).

    `spread` (users,) is the factor by which scores vary more than with independent runs. Differences between weeks must not select users of whole weeks.
    """
    selected: list[int] = []
    alive, tests = candidates.copy(), int(candidates.sum())
    conditioned = problem
    while len(selected) < most and alive.any() and conditioned.degrees_of_freedom > 2:
        t = np.where(alive, conditioned.t_values() / spread, -np.inf)
        best = int(np.argmax(t))
        if chance_of_t(t[best : best + 1], conditioned.degrees_of_freedom)[0] * tests > alpha:
            break
        selected.append(best)
        alive[best] = False
        conditioned = problem.given(np.array(selected, np.int64))
    return np.array(selected, np.int64)


def confirm_users(problem: Problem, selected: Ints, candidates: Bools, spread: Floats | float, q: float) -> Ints:
    """Return the selected users, in order, whose false discovery rate is at most `q` given the other remaining users. The least certain is removed first.

    A user selected by chance absorbs noise and makes the others look too certain. As in `select_users`, scores that depend on few runs count in full.
    Otherwise true culprits would be removed one after the other, each for the noise of those removed before.
    """
    while len(selected):
        rates = benjamini_hochberg(p_values(*conditional_scores(problem, selected), candidates, spread))[selected]
        worst = int(np.argmax(rates))
        if rates[worst] <= q:
            break
        selected = np.delete(selected, worst)
    return selected


def p_values(
    t: Floats, freedom: Ints, candidates: Bools, spread: Floats | float, carried_by: Floats | None = None
) -> Floats:
    """Return the p-value of each candidate's score with its own degrees of freedom, (users,); NaN for the others. For `spread` see `select_users`, for
    `carried_by` see `one_sided_p`."""
    p, t = np.full(len(t), np.nan), t / spread
    for each in np.unique(freedom):
        at = candidates & (freedom == each)
        p[at] = chance_of_t(t[at], int(each), None if carried_by is None else carried_by[at])
    return p


def conditional_scores(problem: Problem, selected: Ints) -> tuple[Floats, Ints]:
    """Return each user's t-value given the (other) selected users, and its degrees of freedom."""
    conditioned = problem.given(selected)
    t, freedom = conditioned.t_values(), np.full(problem.regressors.shape[1], conditioned.degrees_of_freedom)
    alone = replace(problem, regressors=problem.regressors[:, selected], own=problem.own[selected])
    for at, user in enumerate(selected.tolist()):
        others = alone.given(np.delete(np.arange(len(selected)), at))
        t[user], freedom[user] = others.t_values(np.array([at]))[0], others.degrees_of_freedom
    return t, freedom
