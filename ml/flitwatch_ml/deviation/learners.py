"""The regressors of the deviation model, with an importance for each feature."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TREES = 60


class Learner(Protocol):
    """What recursive feature elimination asks of a regressor."""

    feature_importances_: Floats

    def fit(self, x: Floats, y: Floats) -> Learner: ...

    def predict(self, x: Floats) -> Floats: ...


def make_learner(name: str, seed: int) -> Learner:
    """A gradient-boosted regressor: "lightgbm" (one thread, lean: the default) or "gbr" (scikit-learn's, the paper's)."""
    if name == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(
            n_estimators=TREES,
            num_leaves=31,
            learning_rate=0.15,
            subsample=0.7,
            subsample_freq=1,
            max_bin=63,
            min_child_samples=20,
            importance_type="gain",
            n_jobs=1,
            random_state=seed,
            deterministic=True,
            force_col_wise=True,
            verbose=-1,
        )
    if name == "gbr":
        from sklearn.ensemble import GradientBoostingRegressor

        return GradientBoostingRegressor(
            n_estimators=100, max_depth=3, learning_rate=0.1, subsample=0.7, random_state=seed
        )
    raise ValueError(f"learner is 'lightgbm' or 'gbr', not {name!r}")
