"""Blame by exposure: the part of a user's traffic that could affect the run, with ranked times, strata, and greedy conditional selection.

Strong aggressors mask each other, because a user's marginal score includes runs that others slowed. So users are selected one after the other while
the next is significant. Each user's score is then conditional on the other selected users (Frisch-Waugh-Lovell).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from flitwatch_domain.blame import benjamini_hochberg
from flitwatch_ml.blame.checks import BlameEstimator, check_runs
from flitwatch_ml.blame.strata import centre_values, normal_scores

Floats = NDArray[np.float64]
#: A column counts as explained by the others if projection reduces its squared length below this share.
EXPLAINED = 1e-9


class ExposureBlame(BlameEstimator):
    """Ranking of users by the association of exposure and run time, given the other relevant users.

    Parameters
    ----------
    alpha : float
        Users are selected while the p-value of the best remaining score is below this (Bonferroni).
    max_selected : int
        Largest number of selected users.
    min_exposed : int
        A user with fewer exposed or fewer unexposed runs is not testable.
    response : {"rank", "log"}
        Run times are used as normal scores of their ranks or as logarithms.

    Attributes
    ----------
    score_ : float64, shape (users,)       conditional z-score; high: exposed runs are slow
    p_value_, q_value_ : float64, shape (users,)   one-sided; NaN for users that are not testable
    sign_, exposed_runs_, testable_, ranking_     as in PresenceBlame
    selected_ : int64                      users selected, in order
    """

    def __init__(
        self, alpha: float = 0.05, max_selected: int = 40, min_exposed: int = 5, response: str = "rank"
    ) -> None:
        self.alpha = alpha
        self.max_selected = max_selected
        self.min_exposed = min_exposed
        self.response = response

    def fit(
        self,
        exposure: ArrayLike,
        run_time_s: ArrayLike,
        strata: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> ExposureBlame:
        """Fit `exposure` (runs, users), run times (runs,), strata (runs,) of time or pooled sets, and clusters (runs,) of runs with common co-runners.

        With `clusters` (days), the variance of a score is computed over clusters, as runs of a day are not independent.
        """
        if self.response not in ("rank", "log"):
            raise ValueError(f"response is 'rank' or 'log', not {self.response!r}")
        amounts, times = check_runs(exposure, run_time_s)
        self.n_features_in_ = amounts.shape[1]
        groups = np.zeros(len(times), np.int64) if strata is None else np.asarray(strata)
        self.exposed_runs_ = (amounts > 0).sum(0)
        self.testable_ = (self.exposed_runs_ >= self.min_exposed) & (
            len(times) - self.exposed_runs_ >= self.min_exposed
        )
        regressors = centre_values(np.log1p(amounts), groups)
        outcome = centre_values(normal_scores(times) if self.response == "rank" else np.log(times), groups)
        freedom = len(times) - len(np.unique(groups))
        self._clusters = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
        candidates = self.testable_ & ((regressors**2).sum(0) > EXPLAINED)
        self.testable_ = candidates
        self.selected_ = self._select_users(regressors, outcome, candidates, freedom)
        self.score_ = self._conditional_scores(regressors, outcome, candidates, freedom)
        self.sign_ = np.sign(self.score_).astype(np.int64)
        self.p_value_ = np.where(candidates, norm.sf(self.score_), np.nan)
        self.q_value_ = benjamini_hochberg(self.p_value_)
        self.ranking_ = np.argsort(-np.where(candidates, self.score_, -np.inf), kind="stable")
        return self

    def _z_scores(self, regressors: Floats, outcome: Floats, freedom: int) -> Floats:
        """Return the score of each column: its covariance with the outcome divided by the standard error under no association."""
        products = regressors.T @ outcome
        if self._clusters is None:
            variance = (outcome @ outcome) * (regressors**2).sum(0) / max(freedom, 1)
        else:
            sums = np.zeros((self._clusters.max() + 1, regressors.shape[1]))
            np.add.at(sums, self._clusters, regressors * outcome[:, None])
            independent = (outcome @ outcome) * (regressors**2).sum(0) / max(freedom, 1)
            variance = np.maximum((sums**2).sum(0), independent)  # days can only reduce certainty
        return np.divide(products, np.sqrt(variance), out=np.zeros_like(products), where=variance > 0)

    def _select_users(
        self, regressors: Floats, outcome: Floats, candidates: NDArray[np.bool_], freedom: int
    ) -> NDArray[np.int64]:
        residuals, rest, alive = regressors.copy(), outcome.copy(), candidates.copy()
        own = (regressors**2).sum(0)
        tests = int(candidates.sum())
        selected: list[int] = []
        while len(selected) < self.max_selected and alive.any():
            alive &= (residuals**2).sum(0) > EXPLAINED * np.maximum(own, EXPLAINED)
            z = np.where(alive, self._z_scores(residuals, rest, freedom - len(selected)), -np.inf)
            best = int(np.argmax(z))
            if not alive[best] or norm.sf(z[best]) * tests > self.alpha:
                break
            selected.append(best)
            alive[best] = False
            axis = residuals[:, best] / np.linalg.norm(residuals[:, best])
            residuals -= np.outer(axis, axis @ residuals)
            rest -= axis * (axis @ rest)
        return np.array(selected, np.int64)

    def _conditional_scores(
        self, regressors: Floats, outcome: Floats, candidates: NDArray[np.bool_], freedom: int
    ) -> Floats:
        def given(columns: NDArray[np.int64], targets: NDArray[np.int64]) -> Floats:
            axes = np.linalg.qr(regressors[:, columns])[0] if len(columns) else np.zeros((len(outcome), 0))
            part = regressors[:, targets]
            return self._z_scores(
                part - axes @ (axes.T @ part), outcome - axes @ (axes.T @ outcome), freedom - len(columns)
            )

        scores = np.zeros(regressors.shape[1])
        others = np.setdiff1d(np.flatnonzero(candidates), self.selected_)
        scores[others] = given(self.selected_, others)
        for user in self.selected_:
            scores[user] = given(np.setdiff1d(self.selected_, [user]), np.array([user]))[0]
        return scores
