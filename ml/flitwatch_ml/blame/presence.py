"""The paper's blame: mutual information of presence and optimality (Bhatele 2020, section IV-A), with exact p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.blame import benjamini_hochberg
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.neighbourhood import is_present as present_by
from flitwatch_ml.blame.checks import BlameEstimator, check_runs
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits


class PresenceBlame(BlameEstimator):
    """Ranking of users by the mutual information of their presence and a run's optimality.

    Parameters
    ----------
    tau : float
        A run is optimal if its time is below `tau` times the mean time of all runs.
    rule : {"throughout", "any"}
        A user is present in a run if a job covers the entire run (the paper), or any part of it.
    min_exposed : int
        A user with fewer present or fewer absent runs is not testable.

    Attributes
    ----------
    mi_bits_, p_value_, q_value_ : float64, shape (users,)   p and q are NaN for users that are not testable
    sign_ : int64, shape (users,)   +1: present in slow runs
    exposed_runs_ : int64, shape (users,);  testable_ : bool, shape (users,)
    ranking_ : int64, shape (users,)   user indices, most informative first, positive association before negative
    """

    def __init__(self, tau: float = 1.0, rule: str = "throughout", min_exposed: int = 5) -> None:
        self.tau = tau
        self.rule = rule
        self.min_exposed = min_exposed

    def fit(self, overlap: ArrayLike, run_time_s: ArrayLike, strata: ArrayLike | None = None) -> PresenceBlame:
        """Fit `overlap` (runs, users), the share of each run during which the user had a large job, and run times (runs,)."""
        if self.rule not in ("throughout", "any"):
            raise ValueError(f"rule is 'throughout' or 'any', not {self.rule!r}")
        shares, times = check_runs(overlap, run_time_s)
        self.n_features_in_ = shares.shape[1]
        present = present_by(shares, self.rule)
        slow = times >= self.tau * times.mean()
        if slow.all() or not slow.any():
            raise NotEnoughData(
                f"all {len(times)} runs count as {'slow' if slow.all() else 'optimal'}",
                advice="Choose another tau or add runs that differ",
            )
        self.exposed_runs_: NDArray[np.int64] = present.sum(0, dtype=np.int64)
        self.testable_ = (self.exposed_runs_ >= self.min_exposed) & (
            len(times) - self.exposed_runs_ >= self.min_exposed
        )
        self.mi_bits_ = mutual_information_bits(present, slow)
        self.sign_ = association_sign(present, slow)
        groups = None if strata is None else np.asarray(strata)
        self.p_value_ = np.full(present.shape[1], np.nan)
        self.p_value_[self.testable_] = exact_p_values(present[:, self.testable_], slow, groups)
        self.q_value_ = benjamini_hochberg(self.p_value_)
        self.score_ = self.mi_bits_ * self.sign_
        self.ranking_ = np.argsort(-self.score_, kind="stable")
        return self
